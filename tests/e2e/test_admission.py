"""`hekla serve` on a real API server: what a PodGroup is told before it is scheduled."""

from __future__ import annotations

from functools import partial

import pytest

from harness import Cluster, Object, wait_until
from harness.manifests import node, pod, pod_group, queue
from harness.scheduler import running

pytestmark = pytest.mark.usefixtures("rights")


def gang(name: str, pods: int, queue: str = "default") -> list[Object]:
    group = pod_group(name, pods, queue=queue, minResources={"cpu": str(pods)})
    return [group, *(pod(f"{name}-{number}", group=name) for number in range(pods))]


def conditions(cluster: Cluster, group: str) -> dict[str, str]:
    """The messages of a PodGroup's conditions by type."""
    status = cluster.api.get("PodGroup", group).get("status", {})
    return {one["type"]: one.get("message", "") for one in status.get("conditions", [])}


def conditions_of_pod(cluster: Cluster, name: str) -> list[Object]:
    found: list[Object] = cluster.pods()[name]["status"].get("conditions", [])
    return found


def events_of_groups(cluster: Cluster) -> set[tuple[str, str, str]]:
    """Name, reason and message of whatever was told of PodGroups."""
    events = [one for one in cluster.api.list("Event") if one["involvedObject"]["kind"] == "PodGroup"]
    return {(one["involvedObject"]["name"], one["reason"], one["message"]) for one in events}


def phase_of(cluster: Cluster, group: str) -> str:
    return str(cluster.api.get("PodGroup", group).get("status", {}).get("phase", ""))


def test_a_group_that_is_not_admitted_learns_why_once_until_it_is(cluster: Cluster) -> None:
    cluster.api.create(node("n1", cpu=8), queue("small", capability={"cpu": 4}))
    cluster.api.create(pod_group("big", 5, queue="small", minResources={"cpu": "5"}))
    words = (
        'waits to be admitted to queue "small": proportion: queue "small" would go beyond its limit: '
        "cpu (asked 5, left 4 of 4)"
    )
    told = ("big", "Unschedulable", words)
    with running(cluster.plane):
        wait_until(lambda: conditions(cluster, "big"), what="a condition")
        assert conditions(cluster, "big") == {"Unschedulable": words}
        wait_until(lambda: told in events_of_groups(cluster), what="an event in the same words")
        version = cluster.api.get("PodGroup", "big")["metadata"]["resourceVersion"]
        cluster.api.create(*gang("other", 2, queue="small"))
        wait_until(
            lambda: phase_of(cluster, "other") == "Running", what="a job that leaves less of the limit"
        )
        assert cluster.api.get("PodGroup", "big")["metadata"]["resourceVersion"] == version
        cluster.api.patch(queue("small"), {"spec": {"capability": {"cpu": "8"}}})
        wait_until(lambda: phase_of(cluster, "big") == "Inqueue", what="admission")
        assert conditions(cluster, "big") == {}
        assert {each for each in events_of_groups(cluster) if each[0] == "big"} == {told}


def test_nothing_is_said_of_a_gang_while_its_pods_are_made(cluster: Cluster) -> None:
    cluster.api.create(node("n1", cpu=8), pod_group("train", 4))
    with running(cluster.plane):
        for number in range(4):
            assert "Unschedulable" not in conditions(cluster, "train")
            cluster.api.create(pod(f"train-{number}", group="train"))
            wait_until(partial(conditions_of_pod, cluster, f"train-{number}"), what="a look at it")
        wait_until(lambda: phase_of(cluster, "train") == "Running", what="the gang once it is complete")
    assert not [each for each in events_of_groups(cluster) if each[1] == "Unschedulable"]
    assert set(conditions(cluster, "train")) == {"Scheduled"}


def test_nothing_is_said_of_a_group_that_is_being_deleted(cluster: Cluster) -> None:
    leaving = pod_group("leaving", 2, minResources={"cpu": "99"})
    leaving["metadata"]["finalizers"] = ["example.com/wait"]
    cluster.api.create(node("n1", cpu=8), leaving)
    cluster.api.delete(leaving)
    with running(cluster.plane):
        cluster.api.create(*gang("other", 2), pod_group("refused", 2, minResources={"cpu": "99"}))
        wait_until(lambda: phase_of(cluster, "other") == "Running", what="another job")
        wait_until(lambda: conditions(cluster, "refused"), what="a condition of one that stays")
        assert conditions(cluster, "leaving") == {}
    assert "leaving" not in {name for name, _, _ in events_of_groups(cluster)}
