"""Shortcuts decide what looking at everything would: each story once caught one that did not."""

from __future__ import annotations

import msgspec
import pytest

from hekla.objects.pod import Affinity
from hekla.testing.builders import JobObjects, job, node, queue
from hekla.testing.network import hypernode, racks, sub_group
from hekla.testing.pods import pod
from hekla.testing.story import Story, plugin

KUBERNETES = ("priority, gang", "predicates, nodeorder")


def gang(*pods_of_j: object) -> JobObjects:
    """A job named j of just these pods, all of them needed."""
    base = job("j", tasks=1, min_available=len(pods_of_j))
    return JobObjects(base.pod_group, pods_of_j, None)  # type: ignore[arg-type]


def places(story: Story) -> dict[str, str]:
    return {task.name: task.node_name for task in story.cycle().session.tasks if task.node_name}


def test_closeness_is_measured_anew_for_every_task_of_a_row() -> None:
    story = Story(
        "nine tasks in two racks",
        nodes=[node(f"n{at}", cpu=8, memory="32Gi") for at in range(1, 5)],
        jobs=[job("j", tasks=9, min_available=4, cpu=2, memory="4Gi", topology=("hard", 2))],
        actions="allocate",
        tiers=("priority, gang", "predicates, nodeorder, network-topology-aware"),
        objects=[*racks(s0=["n1", "n2"], s1=["n3", "n4"]), hypernode("s2", tier=2, hypernodes=["s0", "s1"])],
    )
    placed = places(story)
    assert [placed[f"j-{at}"] for at in range(4)] == ["n1", "n2", "n1", "n2"]


def test_tasks_after_one_with_a_promised_node_are_looked_for_everywhere() -> None:
    pods = (
        pod("j-x-0", job="j", cpu=1, nominated="n2"),
        *(pod(f"j-x-{at}", job="j", cpu=1) for at in (1, 2)),
    )
    story = Story(
        "a promise for one",
        nodes=[node("n1", cpu=8), node("n2", cpu=8)],
        jobs=[gang(*pods)],
        actions="allocate",
        tiers=KUBERNETES,
    )
    assert places(story) == {"j-x-0": "n2", "j-x-1": "n1", "j-x-2": "n1"}


def test_what_refused_one_role_may_take_another() -> None:
    sizes = (("a", 4), ("a", 1), ("b", 1), ("b", 1))
    pods = [pod(f"j-x-{at}", job="j", role=role, cpu=cpu) for at, (role, cpu) in enumerate(sizes)]
    story = Story(
        "two roles of one shape",
        nodes=[node("n1", cpu=2), node("n2", cpu=8)],
        jobs=[gang(*pods)],
        actions="allocate",
        tiers=KUBERNETES,
    )
    placed = places(story)
    assert (placed["j-x-1"], placed["j-x-2"]) == ("n2", "n1")


def test_what_refused_a_role_refuses_its_smaller_tasks_too() -> None:
    sizes = (("a", 4), ("b", 4), ("b", 1))
    pods = [pod(f"j-x-{at}", job="j", role=role, cpu=cpu) for at, (role, cpu) in enumerate(sizes)]
    story = Story(
        "the second role is refused as the first was",
        nodes=[node("n1", cpu=2), node("n2", cpu=12)],
        jobs=[gang(*pods)],
        actions="allocate",
        tiers=KUBERNETES,
    )
    assert set(places(story).values()) == {"n2"}


def preferring(**weight_of_host: int) -> Affinity:
    terms = [
        {
            "weight": weight,
            "preference": {"matchExpressions": [{"key": "h", "operator": "In", "values": [host]}]},
        }
        for host, weight in weight_of_host.items()
    ]
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": terms}
    return msgspec.convert({"nodeAffinity": preferred}, Affinity)


def test_nodes_that_cannot_help_still_take_part_in_the_ranking_of_preempt() -> None:
    story = Story(
        "the most preferred node is full of protected pods",
        nodes=[node(name, cpu=cpu, labels={"h": name}) for name, cpu in (("a", 4), ("b", 8), ("c", 8))],
        jobs=[
            job("safe", tasks=1, cpu=4, running={"a": 1}, priority=1, preemptable=False),
            job("lowb", tasks=4, min_available=0, cpu=2, memory="3Gi", running={"b": 4}, priority=1),
            job("lowc", tasks=3, min_available=0, cpu=2, running={"c": 3}, priority=1),
            job("hi", tasks=1, cpu=4, memory="1Gi", priority=9, affinity=preferring(a=100, b=5)),
        ],
        actions="preempt",
        tiers=KUBERNETES,
    )
    assert places(story)["hi-0"] == "c"


def test_supposing_evictions_does_not_change_who_would_go_next() -> None:
    story = Story(
        "two equal jobs on one node",
        nodes=[node("n", cpu=8)],
        jobs=[
            job("x", tasks=4, min_available=0, cpu=1, running={"n": 4}, priority=1),
            job("y", tasks=4, min_available=0, cpu=1, running={"n": 4}, priority=1),
            job("hi", tasks=1, cpu=3, priority=9),
        ],
        actions="preempt",
        tiers=("priority", [plugin("drf", enablePreemptable=False), "predicates"]),
        configurations={"preempt": {"enableTopologyAwarePreemption": True}},
    )
    evicted = {task.name for task in story.cycle().session.tasks if task.status.name == "RELEASING"}
    assert evicted == {"y-1", "y-2", "y-3"}


def test_without_gang_a_domain_too_small_for_all_takes_what_it_can() -> None:
    story = Story(
        "no plugin insists on the minimum",
        nodes=[node("n1", cpu=4)],
        jobs=[job("j", tasks=3, cpu=2, min_available=3, topology=("hard", 2))],
        actions="allocate",
        tiers=("priority", "predicates, nodeorder"),
        objects=racks(s0=["n1"]),
    )
    assert places(story) == {"j-0": "n1", "j-1": "n1"}


def test_an_overcommitted_node_takes_no_room_from_its_neighbours() -> None:
    story = Story(
        "one node owes, the other has room for all",
        nodes=[node("n1", cpu=2), node("n2", cpu=4)],
        jobs=[
            job("r", tasks=1, cpu=6, running={"n1": 1}),
            job("j", tasks=2, cpu=2, labels={"group": "0"}, sub_groups=[sub_group("g", size=2, minimum=1)]),
        ],
        actions="allocate",
        tiers=KUBERNETES,
    )
    placed = places(story)
    assert (placed["j-0"], placed["j-1"]) == ("n2", "n2")


def test_a_device_that_others_are_guaranteed_whole_may_still_be_deserved() -> None:
    story = Story(
        "all GPUs are guaranteed to one queue",
        nodes=[node("n1", cpu=8, gpu=4)],
        queues=[queue("a", guarantee={"nvidia.com/gpu": 4}), queue("b")],
        jobs=[job("ja", tasks=1, cpu=1, gpu=1, queue="a"), job("jb", tasks=1, cpu=1, gpu=1, queue="b")],
        actions="allocate",
        tiers=("priority, gang", "proportion"),
    )
    assert places(story) == {"ja-0": "n1", "jb-0": "n1"}


@pytest.mark.parametrize("gpus", [{"nvidia.com/gpu": 0}, {}], ids=["a named nought", "not named"])
def test_a_device_deserved_with_nought_is_no_measure_of_excess(gpus: dict[str, int]) -> None:
    story = Story(
        "a queue that deserves no GPU runs on one",
        nodes=[node("n1", cpu=4, gpu=1)],
        queues=[
            queue("a", deserved={"cpu": 4, **gpus}),
            queue("b", deserved={"cpu": 1, "nvidia.com/gpu": 1}),
        ],
        jobs=[
            job("ja", tasks=1, cpu=4, gpu=1, queue="a", running={"n1": 1}, min_available=0),
            job("jb", tasks=1, cpu=1, gpu=1, queue="b"),
        ],
        actions="reclaim",
        tiers=("priority, gang, conformance, capacity",),
    )
    assert [task.status.name for task in story.cycle().session.tasks if task.name == "ja-0"] == ["RUNNING"]


def test_room_that_is_promised_to_another_job_is_not_taken_by_the_next_task_of_a_row() -> None:
    """Four cores of n1 are idle, but preempt has promised two of them to another job."""
    story = Story(
        "pipelined room",
        nodes=[node("n1", cpu=4), node("n2", cpu=1)],
        jobs=[
            job("waits", tasks=1, cpu=2, priority=5),
            job("row", tasks=3, cpu=1, priority=1, preemption_policy="Never"),
        ],
        actions="preempt, allocate",
        tiers=KUBERNETES,
    )
    assert places(story) == {"waits-0": "n1", "row-0": "n1", "row-1": "n1", "row-2": "n2"}
