"""Conformance: pods that keep the cluster itself alive are never evicted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hekla.testing import Story, job, node, session_of

TIERS = ("priority, conformance",)


def eviction_of(**victim: object) -> list[object]:
    return [
        job("low", cpu=1, running={"n1": 1}, priority=1, **victim),
        job("high", cpu=1, priority=9),
    ]


STORIES = [
    Story(
        "an ordinary pod may be evicted",
        nodes=[node("n1", cpu=1)],
        jobs=eviction_of(pod_priority_class="batch"),
        expect={"low": {"evicted": ["low-0"]}, "high": {"pipelined": {"n1": 1}}},
    ),
    Story(
        "a pod of a class that nodes depend on is safe",
        nodes=[node("n1", cpu=1)],
        jobs=eviction_of(pod_priority_class="system-node-critical"),
        expect={"low": "running", "high": "pending"},
    ),
    Story(
        "a pod of a class that the cluster depends on is safe",
        nodes=[node("n1", cpu=1)],
        jobs=eviction_of(pod_priority_class="system-cluster-critical"),
        expect={"low": "running", "high": "pending"},
    ),
    Story(
        "a pod in kube-system is safe",
        nodes=[node("n1", cpu=1)],
        jobs=eviction_of(namespace="kube-system"),
        expect={"kube-system/low": "running", "high": "pending"},
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_conformance(story: Story) -> None:
    assert replace(story, actions="preempt", tiers=TIERS).play() == story.expect


def test_of_three_candidates_only_the_ordinary_one_is_a_victim() -> None:
    session = session_of(
        node("n1", cpu=8),
        job("dns", cpu=1, namespace="kube-system", running={"n1": 1}),
        job("t1", cpu=1, namespace="ml", running={"n1": 1}, pod_priority_class="batch"),
        job("t2", cpu=1, namespace="ml", running={"n1": 1}, pod_priority_class="system-node-critical"),
        job("new", cpu=1),
        tiers=("conformance",),
    )
    *candidates, initiator = session.tasks
    assert [task.key for task in session.preemptable(initiator, candidates)] == ["ml/t1-0"]
    assert [task.key for task in session.reclaimable(initiator, candidates)] == ["ml/t1-0"]
