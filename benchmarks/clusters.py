"""Made-up clusters of a given size: the same numbers give the same cluster."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hekla.objects import Manifest
from hekla.testing.builders import JobObjects, job, node, queue
from hekla.testing.network import hypernode
from hekla.testing.pods import stamped

QUEUES = 4
RACK = 16
Shape = Callable[[int, int, int], list[Manifest]]


def gangs(nodes: int, jobs: int, tasks: int) -> list[Manifest]:
    """Equal nodes; gangs of equal pods."""
    return _cluster(
        nodes,
        [
            job(f"gang{n}", tasks=tasks, cpu=2, memory="4Gi", queue=f"q{n % QUEUES}", phase="Pending")
            for n in range(jobs)
        ],
    )


def mixed(nodes: int, jobs: int, tasks: int) -> list[Manifest]:
    """Four kinds of nodes; every job has a shape of its own, some with selectors."""
    dice = np.random.default_rng(1)
    kinds = [(32, "128Gi", 0), (64, "256Gi", 8), (96, "512Gi", 8), (128, "1Ti", 16)]
    machines: list[Manifest] = []
    for number in range(nodes):
        cpu, memory, gpu = kinds[dice.integers(len(kinds))]
        labels = {"zone": f"z{number % 8}", "type": "gpu" if gpu else "cpu"}
        machines.append(node(f"node-{number:05d}", cpu=cpu, memory=memory, gpu=gpu, pods=256, labels=labels))
    selectors: list[dict[str, str]] = [{}, {}, {"type": "gpu"}, {"zone": "z3"}]
    work = []
    for number in range(jobs):
        size = int(dice.integers(1, tasks + 1))
        work.append(
            job(
                f"mixed{number}",
                tasks=size,
                cpu=float(dice.choice([0.5, 1, 1.5, 2, 4])),
                memory=f"{dice.integers(1, 17)}Gi",
                min_available=max(1, size // 2),
                queue=f"q{number % QUEUES}",
                node_selector=selectors[dice.integers(len(selectors))],
                phase="Pending",
            )
        )
    return _objects(machines, work)


def preemption(nodes: int, jobs: int, tasks: int) -> list[Manifest]:
    """A cluster full of unimportant work in one queue, and important gangs in the same queue."""
    return _full_cluster(nodes, jobs, tasks, "q0")


def reclaim(nodes: int, jobs: int, tasks: int) -> list[Manifest]:
    """A cluster full of one queue's work, and gangs of another queue that has nothing."""
    return _full_cluster(nodes, jobs, tasks, "q3")


def topology(nodes: int, jobs: int, tasks: int) -> list[Manifest]:
    """Racks of 16 nodes below one spine; gangs that must lie in one rack."""
    names = [f"node-{number:05d}" for number in range(nodes)]
    racks = [hypernode(f"rack{at}", tier=1, nodes=names[at * RACK :][:RACK]) for at in range(nodes // RACK)]
    spine = hypernode("spine", tier=2, hypernodes=[rack.metadata.name for rack in racks])
    work = [
        job(
            f"train{number}",
            tasks=tasks,
            cpu=16,
            memory="32Gi",
            gpu=4,
            queue=f"q{number % QUEUES}",
            topology=("hard", 1),
            phase="Pending",
        )
        for number in range(jobs)
    ]
    return [*_cluster(nodes, work), *racks, spine]


def _full_cluster(nodes: int, jobs: int, tasks: int, queue_of_newcomers: str) -> list[Manifest]:
    size = {"cpu": 8, "memory": "32Gi"}
    low = [
        job(f"low{n}", tasks=8, min_available=1, queue="q0", priority=1, running={f"node-{n:05d}": 8}, **size)
        for n in range(nodes)
    ]
    high = [
        job(f"high{n}", tasks=tasks, queue=queue_of_newcomers, priority=1000, **size) for n in range(jobs)
    ]
    return _cluster(nodes, [*low, *high])


def _cluster(nodes: int, work: list[JobObjects]) -> list[Manifest]:
    return _objects(
        [node(f"node-{n:05d}", cpu=64, memory="256Gi", gpu=8, pods=256) for n in range(nodes)], work
    )


def _objects(machines: list[Manifest], work: list[JobObjects]) -> list[Manifest]:
    queues = [queue(f"q{number}", weight=number + 1) for number in range(QUEUES)]
    return stamped([*machines, *queues, *(manifest for one in work for manifest in one.objects)])


SHAPES: dict[str, Shape] = {
    "gangs": gangs,
    "mixed": mixed,
    "preemption": preemption,
    "reclaim": reclaim,
    "topology": topology,
}
