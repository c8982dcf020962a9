"""`hekla serve` on a real API server, with the rights it is deployed with: what users see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import Cluster, Object, wait_until
from harness.manifests import node, pod, pod_group, queue
from harness.scheduler import NAMESPACE, USER, Scheduler, running

pytestmark = pytest.mark.usefixtures("rights")

EVICTING = """
actions: "enqueue, allocate, backfill, reclaim, preempt"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
"""
RACKS = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: network-topology-aware
"""
ALLOCATING = """
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: {order}
"""


def gang(name: str, pods: int, minimum: int | None = None, **more: object) -> list[Object]:
    """A PodGroup and its pods; what is said of the group begins with `group_`."""
    of_group = {key.removeprefix("group_"): more.pop(key) for key in list(more) if key.startswith("group_")}
    group = pod_group(name, pods if minimum is None else minimum, **of_group)  # type: ignore[arg-type]
    return [group, *(pod(f"{name}-{number}", group=name, **more) for number in range(pods))]  # type: ignore[arg-type]


def nodes_of(cluster: Cluster, name: str) -> Counter[str]:
    """How many pods of a gang sit on which node; under the empty name those that wait."""
    pods = cluster.pods().items()
    return Counter(each["spec"].get("nodeName", "") for key, each in pods if key.startswith(f"{name}-"))


def is_running(cluster: Cluster, name: str, count: int) -> Callable[[], bool]:
    def check() -> bool:
        phases = [phase for key, phase in cluster.phases().items() if key.startswith(f"{name}-")]
        return phases.count("Running") == count

    return check


def phase_of(cluster: Cluster, group: str) -> str:
    return str(cluster.api.get("PodGroup", group).get("status", {}).get("phase", ""))


def conf_file(folder: Path, text: str) -> Path:
    file = folder / "volcano-scheduler.conf"
    file.write_text(text)
    return file


def test_a_gang_is_bound_whole_or_not_at_all(cluster: Cluster) -> None:
    cluster.api.create(node("n1", cpu=4), node("n2", cpu=4))
    cluster.api.create(*gang("fits", 6), *gang("too-big", 9))
    with running(cluster.plane) as scheduler:
        wait_until(is_running(cluster, "fits", 6), what="the gang that fits")
        wait_until(lambda: _condition(cluster, "too-big"), what="a reason for the other")
        assert nodes_of(cluster, "too-big") == {"": 9}
        assert "7/9 tasks in gang unschedulable" in _condition(cluster, "too-big")["message"]
        reasons = Counter(_why_waiting(cluster, f"too-big-{number}") for number in range(9))
        assert reasons == {"Schedulable": 2, "Unschedulable": 7}
        wait_until(lambda: _events(cluster, "fits-0"), what="an event for a bound pod")
        assert _events(cluster, "fits-0")["Scheduled"].startswith("Successfully assigned default/fits-0 to n")
        cluster.api.create(node("n3", cpu=9))
        wait_until(is_running(cluster, "too-big", 9), what="the other, once there is room")
        wait_until(lambda: phase_of(cluster, "too-big") == "Running", what="its phase")
        assert "Traceback" not in scheduler.text
    cluster.referee.assert_clean(cluster.api)


def _why_waiting(cluster: Cluster, name: str) -> str:
    wait_until(lambda: cluster.pods()[name]["status"].get("conditions"), what=f"a condition of {name}")
    told = cluster.pods()[name]["status"]["conditions"][0]
    assert (told["type"], told["status"]) == ("PodScheduled", "False")
    return str(told["reason"])


def _condition(cluster: Cluster, group: str) -> Object:
    conditions = cluster.api.get("PodGroup", group).get("status", {}).get("conditions", [])
    return next((one for one in conditions if one["type"] == "Unschedulable"), {})


def _events(cluster: Cluster, name: str) -> dict[str, str]:
    events = cluster.api.list("Event")
    return {one["reason"]: one["message"] for one in events if one["involvedObject"]["name"] == name}


def test_a_queue_takes_back_what_another_has_too_much_of(cluster: Cluster, tmp_path: Path) -> None:
    cluster.api.create(node("n1", cpu=4), node("n2", cpu=4), queue("red"), queue("blue"))
    with running(cluster.plane, f"--scheduler-conf={conf_file(tmp_path, EVICTING)}"):
        cluster.api.create(*gang("greedy", 8, 1, group_queue="red"))
        wait_until(is_running(cluster, "greedy", 8), what="the first queue's work")
        cluster.api.create(*gang("late", 4, 4, group_queue="blue"))
        wait_until(is_running(cluster, "late", 4), what="the other queue's share", timeout=60)
        assert len([name for name in cluster.pods() if name.startswith("greedy-")]) == 4
        wait_until(lambda: _allocated(cluster, "blue").get("cpu") == "4", what="what the queue holds")
        assert is_running(cluster, "greedy", 4)()
    cluster.referee.assert_clean(cluster.api)


def _allocated(cluster: Cluster, name: str) -> Object:
    allocated: Object = cluster.api.get("Queue", name).get("status", {}).get("allocated", {})
    return allocated


def test_an_important_job_preempts_and_waits_for_the_grace_of_its_victims(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.api.create(node("n1", cpu=4))
    cluster.api.create(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "high"},
            "value": 1000,
        }
    )
    with running(cluster.plane, f"--scheduler-conf={conf_file(tmp_path, EVICTING)}"):
        cluster.api.create(*gang("cheap", 4, 1, grace_seconds=2))
        wait_until(is_running(cluster, "cheap", 4), what="the cheap job")
        cluster.api.create(*gang("dear", 2, priorityClassName="high", group_priorityClassName="high"))
        wait_until(is_running(cluster, "dear", 2), what="the important job", timeout=60)
        assert len([name for name in cluster.pods() if name.startswith("cheap-")]) == 2
        wait_until(
            lambda: any(one["reason"] == "Evict" for one in cluster.api.list("Event")), what="eviction events"
        )
    cluster.referee.assert_clean(cluster.api)


def test_a_pod_that_asks_for_nothing_is_backfilled(cluster: Cluster) -> None:
    cluster.api.create(node("n1", cpu=1), *gang("full", 1), pod_group("idle", 1))
    container = {"name": "main", "image": "none"}
    with running(cluster.plane):
        wait_until(is_running(cluster, "full", 1), what="the job that fills the node")
        cluster.api.create(pod("idle-0", group="idle", containers=[container]))
        wait_until(is_running(cluster, "idle", 1), what="the pod that asks for nothing")


def test_a_hard_topology_keeps_a_gang_in_one_rack(cluster: Cluster, tmp_path: Path) -> None:
    cluster.api.create(*(node(f"r{rack}-n{at}", cpu=2) for rack in (1, 2) for at in (1, 2)))
    cluster.api.create(*(_rack(f"r{rack}", [f"r{rack}-n1", f"r{rack}-n2"]) for rack in (1, 2)))
    topology = {"mode": "hard", "highestTierAllowed": 1}
    with running(cluster.plane, f"--scheduler-conf={conf_file(tmp_path, RACKS)}"):
        cluster.api.create(*gang("near", 4, group_networkTopology=topology))
        cluster.api.create(*gang("wide", 5, group_networkTopology=topology))
        wait_until(is_running(cluster, "near", 4), what="the gang that fits a rack")
        assert len({name.split("-")[0] for name in nodes_of(cluster, "near")}) == 1
        assert nodes_of(cluster, "wide") == {"": 5}


def _rack(name: str, nodes: list[str]) -> Object:
    members = [{"type": "Node", "selector": {"exactMatch": {"name": each}}} for each in nodes]
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": {"tier": 1, "members": members},
    }


def test_the_configuration_is_reloaded_and_a_bad_one_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    file = conf_file(tmp_path, ALLOCATING.format(order="nodeorder"))
    cluster.api.create(node("n1"), node("n2"))
    with running(cluster.plane, f"--scheduler-conf={file}") as scheduler:
        cluster.api.create(*gang("spread", 2))
        wait_until(is_running(cluster, "spread", 2), what="the first job")
        assert nodes_of(cluster, "spread") == {"n1": 1, "n2": 1}
        file.write_text("actions: nonsense")
        scheduler.wait_for("refused, the last good one stays")
        file.write_text(ALLOCATING.format(order="binpack"))
        scheduler.wait_for("taken:")
        cluster.api.create(*gang("packed", 2))
        wait_until(is_running(cluster, "packed", 2), what="the second job")
        assert len(nodes_of(cluster, "packed")) == 1


def test_what_other_tools_write_wrongly_does_no_harm(cluster: Cluster) -> None:
    cluster.api.create(node("n1", cpu=8))
    cluster.api.create(*gang("negative", 1, group_minResources={"cpu": "-4"}))
    cluster.api.create(*gang("lost", 1, group_queue="nowhere"))
    cluster.api.create(pod("orphan-0", group="never-made"), *gang("good", 2))
    with running(cluster.plane):
        wait_until(is_running(cluster, "good", 2), what="the sound job")
        assert nodes_of(cluster, "lost") == {"": 1}
        assert nodes_of(cluster, "orphan") == {"": 1}


def test_several_names_are_served_and_others_left_alone(cluster: Cluster) -> None:
    cluster.api.create(node("n1", cpu=8))
    with running(cluster.plane, "--scheduler-name=volcano", "--scheduler-name=hekla"):
        cluster.api.create(*gang("one", 1, scheduler="volcano"), *gang("two", 1, scheduler="hekla"))
        cluster.api.create(*gang("three", 1, scheduler="default-scheduler"))
        wait_until(is_running(cluster, "one", 1), what="the first name")
        wait_until(is_running(cluster, "two", 1), what="the second name")
        assert nodes_of(cluster, "three") == {"": 1}


def test_a_hard_shard_is_kept_to_and_told(cluster: Cluster) -> None:
    cluster.api.create(node("n1", cpu=2), node("n2", cpu=8))
    cluster.api.create(
        {
            "apiVersion": "shard.volcano.sh/v1alpha1",
            "kind": "NodeShard",
            "metadata": {"name": "volcano"},
            "spec": {"nodesDesired": ["n1"]},
        }
    )
    with running(cluster.plane, "--scheduler-sharding-mode=hard"):
        cluster.api.create(*gang("small", 2), *gang("large", 3))
        wait_until(is_running(cluster, "small", 2), what="the gang that fits the shard")
        assert nodes_of(cluster, "small") == {"n1": 2}
        assert nodes_of(cluster, "large") == {"": 3}
        wait_until(lambda: _in_use(cluster) == ["n1"], what="the nodes in use")


def _in_use(cluster: Cluster) -> list[str]:
    shard = cluster.api.get("NodeShard", "volcano", "")
    in_use: list[str] = shard.get("status", {}).get("nodesInUse", [])
    return in_use


def test_a_missing_permission_is_named_and_work_goes_on_once_it_is_there(cluster: Cluster) -> None:
    role = cluster.api.get("ClusterRole", "hekla-scheduler", "")
    without = [rule for rule in role["rules"] if "pods/binding" not in rule["resources"]]
    cluster.api.create(node("n1"), *gang("job", 2))
    try:
        cluster.api.patch(role, {"rules": without})
        with running(cluster.plane) as scheduler:
            scheduler.wait_for('cannot create resource "pods/binding"')
            cluster.api.patch(role, {"rules": role["rules"]})
            wait_until(is_running(cluster, "job", 2), what="the job, once it may be bound", timeout=60)
    finally:
        cluster.api.patch(role, {"rules": role["rules"]})


def test_it_ends_well_in_the_middle_of_a_burst(cluster: Cluster) -> None:
    cluster.api.create(*(node(f"n{at:03}", cpu=32) for at in range(20)))
    for name in ("a", "b", "c"):
        cluster.api.create(*gang(name, 100, cpu="100m", memory="10Mi"))
    first = Scheduler(cluster.plane, cluster.plane.kubeconfig(USER)).start()
    first.wait_for("300 bind")
    assert first.stop() == 0
    lease = cluster.api.get("Lease", "volcano", NAMESPACE)
    assert not lease["spec"].get("holderIdentity")
    with running(cluster.plane, name="two") as second:
        second.wait_for("in sync")
        for name in ("a", "b", "c"):
            wait_until(is_running(cluster, name, 100), what=f"all of gang {name}", timeout=60)
    cluster.referee.assert_clean(cluster.api)
