"""Room that evictions free goes to the job they were for, though schedulers come and go meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import Cluster, wait_until
from harness.manifests import node, pod, pod_group, queue
from harness.scheduler import running

pytestmark = pytest.mark.usefixtures("rights")

CONF = """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: conformance}]
- plugins:
  - name: overcommit
  - {name: drf, enablePreemptable: false}
  - name: predicates
  - {name: capacity, enableHierarchy: true}
  - name: nodeorder
"""


def submit(cluster: Cluster) -> None:
    """A job that was lent its room, of which a second pod waits; then one that is owed it."""
    cluster.api.create(
        node("n0", cpu=6, memory="64Gi"),
        queue("lent", weight=3, deserved={"cpu": "3", "memory": "20Gi"}),
        queue("owed", weight=2, deserved={"cpu": "4", "memory": "20Gi"}),
        pod_group("first", 1, queue="lent"),
        *(pod(f"first-{at}", group="first", cpu=4, grace_seconds=8) for at in range(2)),
    )


def condition(cluster: Cluster, name: str) -> str:
    """The reason of the PodGroup's condition about evictions for it."""
    conditions = cluster.api.get("PodGroup", name).get("status", {}).get("conditions", [])
    return next((one["reason"] for one in conditions if one["type"] == "Beneficiary"), "")


def nodes_of(cluster: Cluster, name: str) -> list[str]:
    return sorted(
        one["spec"].get("nodeName", "")
        for one in cluster.api.list("Pod")
        if one["metadata"]["name"].startswith(name)
    )


def test_another_scheduler_gives_the_room_to_the_same_job(cluster: Cluster, tmp_path: Path) -> None:
    conf = tmp_path / "scheduler.conf"
    conf.write_text(CONF)
    submit(cluster)
    with running(cluster.plane, f"--scheduler-conf={conf}", name="before", ends_at_once=True):
        wait_until(lambda: "n0" in nodes_of(cluster, "first"), what="the job that was lent its room")
        cluster.api.create(
            pod_group("second", 2, queue="owed"),
            *(pod(f"second-{at}", group="second", cpu=2) for at in range(2)),
        )
        wait_until(lambda: condition(cluster, "second") == "RoomReserved", what="an eviction")
    assert nodes_of(cluster, "second") == ["", ""]
    with running(cluster.plane, f"--scheduler-conf={conf}", name="after"):
        wait_until(lambda: nodes_of(cluster, "second") == ["n0", "n0"], 60, what="the job that is owed it")
        wait_until(lambda: condition(cluster, "second") == "Started", what="the condition")
    assert nodes_of(cluster, "first") == [""]
    cluster.referee.assert_clean(cluster.api)
