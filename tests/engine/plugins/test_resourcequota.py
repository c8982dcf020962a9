"""Resourcequota: a job that its namespace's quota would refuse is not admitted."""

from __future__ import annotations

import pytest

from hekla.engine.plugins.resourcequota import ResourceQuotas
from hekla.objects import ObjectMeta, ResourceQuota
from hekla.objects.meta import ResourceList
from hekla.objects.storage import ResourceQuotaSpec, ResourceQuotaStatus
from hekla.testing import JobObjects, Story, check_plugin, job, node


def quota(
    hard: ResourceList, used: ResourceList | None = None, *, name: str = "quota", namespace: str = "default"
) -> ResourceQuota:
    return ResourceQuota(
        metadata=ObjectMeta(name=name, namespace=namespace),
        spec=ResourceQuotaSpec(hard=hard),
        status=ResourceQuotaStatus(hard=hard, used=used or {}),
    )


def asks(name: str, minimum: ResourceList | None, *, namespace: str = "default") -> JobObjects:
    return job(name, cpu=1, min_resources=minimum, namespace=namespace, phase="Pending")


def story(title: str, quotas: list[ResourceQuota], jobs: list[JobObjects], expect: dict[str, str]) -> Story:
    return Story(
        title,
        nodes=[node("n1", cpu=100)],
        jobs=jobs,
        objects=quotas,
        actions="enqueue",
        tiers=("resourcequota",),
        plugins=[ResourceQuotas],
        expect=expect,
    )


STORIES = [
    story(
        "jobs are admitted while the quota has room for their minimum, and those admitted count",
        [quota({"cpu": 10}, {"cpu": 6})],
        [asks("a", {"cpu": 3}), asks("b", {"cpu": 2})],
        {"a": "Inqueue", "b": "Pending"},
    ),
    story(
        "a smaller job goes ahead of one that is too large, up to the last thousandth",
        [quota({"cpu": 10}, {"cpu": 6})],
        [asks("a", {"cpu": "4001m"}), asks("b", {"cpu": "4000m"})],
        {"a": "Pending", "b": "Inqueue"},
    ),
    story(
        "every quota of the namespace has a say",
        [quota({"cpu": 10}, name="wide"), quota({"memory": "1Gi"}, name="narrow")],
        [asks("a", {"cpu": 1, "memory": "2Gi"}), asks("b", {"cpu": 1, "memory": "1Gi"})],
        {"a": "Pending", "b": "Inqueue"},
    ),
    story(
        "names count literally: a quota of requests.cpu says nothing of cpu",
        [quota({"requests.cpu": 1})],
        [asks("a", {"cpu": 5}), asks("b", {"requests.cpu": 2})],
        {"a": "Inqueue", "b": "Pending"},
    ),
    story(
        "a job without a minimum is admitted",
        [quota({"cpu": 0})],
        [asks("a", None)],
        {"a": "Inqueue"},
    ),
    story(
        "a quota binds its own namespace",
        [quota({"cpu": 0}, namespace="other")],
        [asks("a", {"cpu": 1}), asks("b", {"cpu": 1}, namespace="other")],
        {"a": "Inqueue", "other/b": "Pending"},
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_resourcequota(story: Story) -> None:
    assert story.phases() == story.expect


def test_a_job_that_is_held_back_is_told_by_which_quota() -> None:
    limits = quota({"cpu": "2500m", "memory": "8Gi"}, {"cpu": 1, "memory": "6Gi"})
    session = story("told", [limits], [asks("a", {"cpu": 2, "memory": "4Gi"})], {}).session()
    assert not session.is_enqueueable(session.jobs["default/a"])
    assert session.trace.said_of("default/a") == [
        'resourcequota: quota "default/quota" would be exceeded: '
        "cpu (asked 2, left 1.5 of 2500m), memory (asked 4Gi, left 2Gi of 8Gi)"
    ]


def test_resourcequota_keeps_the_contract_of_plugins() -> None:
    check_plugin(ResourceQuotas)
