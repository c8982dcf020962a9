"""What "The pipeline of actions (Volcano)" says of shuffle: which pods move, and what that is good for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import pytest
from document_stage import FOREVER, VirtualRun, evictions_of, plugin_of
from statements import holds

from hekla.engine.framework.decisions import Evict
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import VICTIM_TASKS, answers
from hekla.engine.model.task import Task
from hekla.objects import Node, Numatopology, ObjectMeta
from hekla.objects.node import ContainerAllocation, CpuInfo, NumaResource, NumatopologySpec, PodAllocation
from hekla.objects.pod import ResourceRequirements
from hekla.testing import JobObjects, Story, job, node, plugin

# Which pods move


class OnNode(Plugin):
    """Names the tasks on one node, and notes which it was offered."""

    name = "on-n1"
    node = "n1"

    @answers(VICTIM_TASKS)
    def all_on_it(self, running: Sequence[Task]) -> list[Task]:
        self.offered = [task.name for task in running]
        return [task for task in running if task.node_name == self.node]


class OnOther(OnNode):
    name = "on-n2"
    node = "n2"


def shuffled(*tiers: str) -> Story:
    return Story(
        "pods that run, are bound, leave and wait",
        [node("n1"), node("n2"), node("n3")],
        [
            job("a", tasks=3, cpu=1, running={"n1": 1, "n2": 1, "n3": 1}),
            job("b", tasks=3, cpu=1, running={"n1": 1}, bound={"n1": 1}, queue="q2"),
            job("c", tasks=2, cpu=1, running={"n2": 1}, releasing={"n1": 1}),
        ],
        actions="shuffle",
        tiers=tiers,
        plugins=[OnNode, OnOther],
    )


@holds("pipeline-60")
def test_shuffle_offers_the_running_tasks_of_all_jobs_and_no_others() -> None:
    mover = plugin_of(shuffled("on-n1").cycle().session, "on-n1")
    assert mover.offered == ["a-0", "a-1", "a-2", "b-0", "c-0"]


@holds("pipeline-61")
@pytest.mark.parametrize(
    ("tiers", "expected"),
    [
        (("on-n1, on-n2",), ["a-0", "a-1", "b-0", "c-0"]),
        (("on-n2", "on-n1"), ["a-1", "c-0"]),
        (("gang",), []),
    ],
    ids=["those of one tier together", "of several tiers the first", "none without such a plugin"],
)
def test_plugins_say_which_of_them_are_evicted(tiers: tuple[str, ...], expected: list[str]) -> None:
    assert evictions_of(shuffled(*tiers)) == expected


@holds("pipeline-62")
def test_each_of_them_is_evicted_in_the_name_of_shuffle() -> None:
    made = shuffled("on-n1").cycle().decisions
    assert [(one.pod, one.reason) for one in made if isinstance(one, Evict)] == [
        ("default/a-0", "shuffle: on-n1"),
        ("default/b-0", "shuffle: on-n1"),
    ]


# What it is good for


class EmptiesNodes(Plugin):
    """Names the tasks of the node with the fewest, where other nodes in use have room for them."""

    name = "empties-nodes"

    @answers(VICTIM_TASKS)
    def on_the_emptiest(self, running: Sequence[Task]) -> list[Task]:
        nodes = self.session.nodes
        in_use = [row for row, tasks in enumerate(nodes.tasks_on) if tasks]
        emptiest = min(in_use, key=lambda row: len(nodes.tasks_on[row]))
        others = [row for row in in_use if row != emptiest]
        on_it = [task for task in running if task.node == emptiest]
        return [task for task in on_it if any(nodes.fits_now(task, row) for row in others)]


class GathersCpus(Plugin):
    """Names the tasks whose CPUs lie on more than one NUMA node, as the agents of the nodes report them."""

    name = "gathers-cpus"

    @answers(VICTIM_TASKS)
    def on_several_numa_nodes(self, running: Sequence[Task]) -> list[Task]:
        reports = self.session.snapshot.all_of(Numatopology)
        spread = {
            held.uid
            for report in reports
            for held in report.spec.pod_allocations
            if self.is_spread(held, report)
        }
        return [task for task in running if task.uid in spread]

    def is_spread(self, held: PodAllocation, report: Numatopology) -> bool:
        cpus = [cpu for part in held.container_allocations for cpu in part.allocations["cpu"].split(",")]
        return len({report.spec.cpu_detail[cpu].numa for cpu in cpus}) > 1


class ByLabel(Plugin):
    """Names the tasks whose pods ask to move."""

    name = "by-label"

    @answers(VICTIM_TASKS)
    def asked_to(self, running: Sequence[Task]) -> list[Task]:
        return [task for task in running if "move" in task.pod.metadata.labels]


LEVEL = plugin(
    "rescheduling",
    {
        "interval": "1s",
        "strategies": [
            {
                "name": "lowNodeUtilization",
                "params": {
                    "thresholds": {"cpu": 20, "memory": 20},
                    "targetThresholds": {"cpu": 50, "memory": 50},
                },
            }
        ],
    },
)


def loaded(name: str, percent: int) -> Node:
    return node(
        name,
        cpu=10,
        annotations={"hekla.dev/cpu-usage": str(percent), "hekla.dev/memory-usage": "10"},
    )


@holds("pipeline-63")
def test_pods_move_from_a_busy_node_to_a_quiet_one() -> None:
    run = VirtualRun(
        Story(
            "80 percent against 10",
            [loaded("busy", 80), loaded("quiet", 10)],
            [job("a", tasks=6, cpu=1, min_available=1, running={"busy": 6}, annotations=FOREVER)],
            actions="allocate, shuffle",
            tiers=(["gang", "usage", LEVEL],),
        )
    )
    *_, last, after = run.cycles(4)
    assert last == [f"evicts a-{at}" for at in range(4)]
    assert after == [f"binds a-{at} to quiet" for at in range(4)]


@holds("pipeline-64")
def test_a_plugin_gathers_pods_on_few_nodes_and_frees_the_others() -> None:
    run = VirtualRun(
        Story(
            "three pods on two nodes",
            [node("n1", cpu=3), node("n2", cpu=3)],
            [job("a", tasks=3, cpu=1, min_available=1, running={"n1": 1, "n2": 2}, annotations=FOREVER)],
            actions="allocate, shuffle",
            tiers=("gang, predicates, binpack, empties-nodes",),
            plugins=[EmptiesNodes],
        )
    )
    assert run.cycles(3) == [["evicts a-0"], ["binds a-0 to n2"], []]


def cpus(name: str, free: str, *held: PodAllocation) -> Numatopology:
    """A report on eight CPUs, the first four of which make up one NUMA node, the last four another."""
    return Numatopology(
        metadata=ObjectMeta(name=name),
        spec=NumatopologySpec(
            policies={"CPUManagerPolicy": "static", "TopologyManagerPolicy": "best-effort"},
            numares={"cpu": NumaResource(allocatable=free, capacity=8)},
            cpu_detail={str(cpu): CpuInfo(numa=cpu // 4, socket=cpu // 4, core=cpu) for cpu in range(8)},
            pod_allocations=held,
        ),
    )


def guaranteed(given: JobObjects) -> JobObjects:
    """The same job, whose pods are limited to what they ask for: they get CPUs of their own."""
    pods = []
    for each in given.pods:
        (container,) = each.spec.containers
        asked = container.resources.requests
        limited = msgspec.structs.replace(container, resources=ResourceRequirements(asked, asked))
        spec = msgspec.structs.replace(each.spec, containers=(limited,))
        pods.append(msgspec.structs.replace(each, spec=spec))
    return replace(given, pods=tuple(pods))


@holds("pipeline-65")
def test_a_plugin_moves_pods_whose_cpus_lie_apart_to_a_node_where_they_lie_together() -> None:
    notes = {**FOREVER, "volcano.sh/numa-topology-policy": "best-effort"}
    spread = guaranteed(job("a", cpu=2, memory="1Gi", running={"n1": 1}, annotations=notes))
    allocation = ContainerAllocation(name="main", allocations={"cpu": "0,4"})
    held = PodAllocation(uid=spread.pods[0].metadata.uid, container_allocations=(allocation,))
    run = VirtualRun(
        Story(
            "CPUs 0 and 4 of one node, and a whole node",
            [node("n1", cpu=8), node("n2", cpu=8)],
            [spread],
            objects=[cpus("n1", "1,5", held), cpus("n2", "0-7")],
            actions="allocate, shuffle",
            tiers=("gang, numa-aware, gathers-cpus",),
            plugins=[GathersCpus],
        )
    )
    assert run.cycles(3) == [["evicts a-0"], ["binds a-0 to n2"], []]


@holds("pipeline-66")
def test_a_plugin_evicts_by_any_rule_of_its_own() -> None:
    run = VirtualRun(
        Story(
            "a pod that asks to move, and one that does not",
            [node("n1"), node("n2")],
            [
                job("a", cpu=1, running={"n1": 1}, labels={"move": "yes"}, annotations=FOREVER),
                job("b", cpu=1, running={"n1": 1}, annotations=FOREVER),
            ],
            actions="allocate, shuffle",
            tiers=("gang, predicates, nodeorder, by-label",),
            plugins=[ByLabel],
        )
    )
    assert run.cycles(2) == [["evicts a-0"], ["binds a-0 to n2"]]
