"""Made-up clusters of a given size: the same numbers give the same cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from random import Random  # noqa: TID251 - seeded: the same cluster every time
from typing import Any

import msgspec

from hekla.objects import Manifest, Node, Queue
from hekla.objects.keys import TASK_SPEC
from hekla.testing.builders import job, node, priority_class, queue
from hekla.testing.network import hypernode
from hekla.testing.pods import BEGINNING

QUEUES = 4
RACK = 16
RACKS_PER_SPINE = 8
PODS_PER_FULL_NODE = 8
LATER = 10_000
"""Important gangs are so many seconds younger than the work that they find."""

USUAL_NODE = (64, "256Gi", 8)
KINDS_OF_NODES = [(32, "128Gi", 0), USUAL_NODE, (96, "512Gi", 8), (128, "1024Gi", 16)]
"""Cores, memory, devices."""
SMALL = {"cpu": "2", "memory": "4Gi"}
LARGE = {"cpu": "8", "memory": "32Gi"}
TRAINING = {"cpu": "16", "memory": "32Gi", "gpu": "4"}
WAITING_SHAPES = [{"cpu": f"{9_000 + 10 * at}m", "memory": f"{8_192 + 16 * at}Mi"} for at in range(500)]
"""More cores than a pod of a full node gives back."""
LOW, HIGH = 1, 1000

Shape = Callable[[int, int, int], list[Manifest]]
"""A cluster of so many nodes and jobs, and tasks per job."""


def gang(nodes: int, jobs: int, tasks: int) -> list[Manifest]:
    """Equal nodes; gangs of equal pods."""
    return [*usual_nodes(nodes), *queues(), *waiting_gangs(jobs, tasks)]


def mixed(nodes: int, jobs: int, tasks: int) -> list[Manifest]:
    """Four kinds of nodes; every job has a size and a shape of its own, some of them selectors."""
    dice = Random(1)
    machines = [machine(number, *dice.choice(KINDS_OF_NODES)) for number in range(nodes)]
    work = [manifest for number in range(jobs) for manifest in _mixed_job(number, tasks, dice)]
    return [*machines, *queues(), *work]


def preempt(nodes: int, jobs: int, tasks: int) -> list[Manifest]:
    """A cluster full of unimportant work in one queue, and important gangs in the same queue."""
    return _full(nodes, jobs, tasks, newcomers=["q0"])


def reclaim(nodes: int, jobs: int, tasks: int) -> list[Manifest]:
    """A cluster full of one queue's work, and gangs of another queue that has nothing."""
    return _full(nodes, jobs, tasks, newcomers=["q3"])


def reclaim_storm(nodes: int, jobs: int, tasks: int) -> list[Manifest]:
    """A cluster full of one queue's work, and as many other queues as gangs, each with one of them."""
    names = [f"r{number}" for number in range(jobs)]
    return [*(queue(name, reclaimable=True) for name in names), *_full(nodes, jobs, tasks, newcomers=names)]


def shapes(nodes: int, jobs: int, tasks: int) -> list[Manifest]:
    """Equal nodes; every job asks for something that no other job asks for."""
    dice = Random(1)
    work = [manifest for number in range(jobs) for manifest in _job_of_its_own(number, tasks, dice)]
    return [*usual_nodes(nodes), *queues(), *work]


def waiting(nodes: int, jobs: int, tasks: int) -> list[Manifest]:
    """A full cluster, and gangs in four queues that wait; none of their pods fits where one pod has ended."""
    work: list[Manifest] = []
    for number in range(jobs):
        shape = WAITING_SHAPES[number % len(WAITING_SHAPES)]
        work += _gang(f"job{number}", LATER + number, tasks, phase="Pending", **shape)
    return [*_full(nodes, 0, 0, newcomers=[]), *work]


def topology(nodes: int, jobs: int, tasks: int) -> list[Manifest]:
    """Racks of 16 nodes below spines of about 8 racks; gangs that must lie in one rack."""
    names = [name_of_node(number) for number in range(nodes)]
    racks = [hypernode(f"rack{at}", tier=1, nodes=names[at * RACK :][:RACK]) for at in range(nodes // RACK)]
    count = max(1, len(racks) // RACKS_PER_SPINE)
    spines = [
        hypernode(f"spine{at}", tier=2, hypernodes=[rack.metadata.name for rack in racks[at::count]])
        for at in range(count)
    ]
    root = hypernode("root", tier=3, hypernodes=[spine.metadata.name for spine in spines])
    work = waiting_gangs(jobs, tasks, shape={"topology": ("hard", 1), **TRAINING})
    return [*usual_nodes(nodes), *queues(), *racks, *spines, root, *work]


def running(nodes: int, jobs: int, tasks: int) -> list[Manifest]:
    """Gangs that all run, one pod after another on one node after another."""
    work = [
        manifest
        for number in range(jobs)
        for manifest in _gang(
            f"old{number}", number, tasks, running=_places(number * tasks, tasks, nodes), **SMALL
        )
    ]
    return [*usual_nodes(nodes), *queues(), *work]


def waiting_gangs(
    jobs: int, tasks: int, *, first: int = 0, shape: Mapping[str, Any] = SMALL
) -> Iterator[Manifest]:
    """Gangs that nobody has looked at yet, numbered on from the first."""
    for number in range(first, first + jobs):
        yield from _gang(f"job{number}", number, tasks, phase="Pending", **shape)


def usual_nodes(count: int) -> list[Node]:
    return [machine(number, *USUAL_NODE) for number in range(count)]


def machine(number: int, cpu: int, memory: str, gpu: int) -> Node:
    name = name_of_node(number)
    labels = {"kubernetes.io/hostname": name, "zone": f"z{number % 8}", "type": "gpu" if gpu else "cpu"}
    return node(name, cpu=cpu, memory=memory, gpu=gpu, pods=256, labels=labels)


def name_of_node(number: int) -> str:
    return f"node-{number:05d}"


def queues() -> list[Queue]:
    return [queue(f"q{number}", weight=number + 1, reclaimable=True) for number in range(QUEUES)]


def _gang(name: str, second: int, tasks: int, **rest: Any) -> Iterator[Manifest]:
    """A PodGroup and its pods, all created in that second, in one queue after another."""
    rest.setdefault("queue", f"q{second % QUEUES}")
    made = job(name, tasks=tasks, annotations={TASK_SPEC: "worker"}, **rest)
    moment = BEGINNING + timedelta(seconds=second)
    for manifest in (made.pod_group, *made.pods):
        meta = msgspec.structs.replace(manifest.metadata, creation_timestamp=moment)
        yield msgspec.structs.replace(manifest, metadata=meta)


def _mixed_job(number: int, most_tasks: int, dice: Random) -> Iterator[Manifest]:
    tasks = dice.randint(1, most_tasks)
    asked: dict[str, str] = {
        "cpu": f"{dice.choice([500, 1000, 1500, 2000, 4000])}m",
        "memory": f"{dice.randint(1, 16)}Gi",
    }
    in_a_zone, with_devices = {"zone": f"z{dice.randint(0, 7)}"}, {"type": "gpu"}
    selector: Mapping[str, str] = dice.choice([{}, {}, with_devices, in_a_zone])
    if selector is with_devices and dice.random() < 0.7:
        asked["gpu"] = str(dice.choice([1, 2, 4]))
    yield from _gang(
        f"job{number}",
        number,
        tasks,
        min_available=max(1, tasks // 2),
        node_selector=selector,
        phase="Pending",
        **asked,
    )


def _job_of_its_own(number: int, tasks: int, dice: Random) -> Iterator[Manifest]:
    asked = {"cpu": f"{dice.randint(500, 8000)}m", "memory": f"{dice.randint(512, 32 * 1024)}Mi"}
    if dice.random() < 0.5:
        asked["gpu"] = str(dice.choice([1, 2, 4, 8]))
    return _gang(f"job{number}", number, tasks, phase="Pending", **asked)


def _full(nodes: int, jobs: int, tasks: int, *, newcomers: Sequence[str]) -> list[Manifest]:
    """Every node is full of low work of the first queue; high gangs are in these queues in turn."""
    objects: list[Manifest] = [*usual_nodes(nodes), *queues()]
    objects += [priority_class(f"priority-{value}", value) for value in (HIGH, LOW)]
    for number in range(nodes):
        low = {"priority": LOW, "pod_priority": LOW, "queue": "q0", "min_available": 1, **LARGE}
        here = {name_of_node(number): PODS_PER_FULL_NODE}
        objects += _gang(f"low{number}", number, PODS_PER_FULL_NODE, running=here, **low)
    for number in range(jobs):
        asking = newcomers[number % len(newcomers)]
        high = {"priority": HIGH, "pod_priority": HIGH, "queue": asking, **LARGE}
        objects += _gang(f"high{number}", LATER + number, tasks, **high)
    return objects


def _places(first: int, count: int, nodes: int) -> dict[str, int]:
    """How many of these pods run on which node, where all nodes get them in turn."""
    places: dict[str, int] = {}
    for number in range(first, first + count):
        name = name_of_node(number % nodes)
        places[name] = places.get(name, 0) + 1
    return places


SHAPES: dict[str, Shape] = {
    "gang": gang,
    "mixed": mixed,
    "preempt": preempt,
    "reclaim": reclaim,
    "reclaim storm": reclaim_storm,
    "running": running,
    "shapes": shapes,
    "topology": topology,
    "waiting": waiting,
}
