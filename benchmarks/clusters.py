"""Made-up clusters of a given size: the same seed gives the same cluster."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hekla.objects import Manifest
from hekla.testing.builders import job, node, priority_class, queue

QUEUES = 4


def gangs(nodes: int, jobs: int, tasks: int) -> list[Manifest]:
    """Equal nodes; gangs of equal pods."""
    objects: list[Manifest] = [*_equal_nodes(nodes), *_queues()]
    for number in range(jobs):
        objects += job(
            f"gang{number}",
            tasks=tasks,
            cpu=2,
            memory="4Gi",
            min_available=tasks,
            queue=f"q{number % QUEUES}",
            phase="Pending",
        )
    return objects


def mixed(nodes: int, jobs: int, tasks: int) -> list[Manifest]:
    """Four kinds of nodes; every job has a shape of its own, some with selectors."""
    dice = np.random.default_rng(1)
    kinds = [(32, "128Gi", 0), (64, "256Gi", 8), (96, "512Gi", 8), (128, "1Ti", 16)]
    objects: list[Manifest] = list(_queues())
    for number in range(nodes):
        cpu, memory, gpu = kinds[dice.integers(len(kinds))]
        labels = {"zone": f"z{number % 8}", "type": "gpu" if gpu else "cpu"}
        objects.append(node(f"node-{number:05d}", cpu=cpu, memory=memory, gpu=gpu, pods=256, labels=labels))
    selectors = [{}, {}, {"type": "gpu"}, {"zone": "z3"}]
    for number in range(jobs):
        size = int(dice.integers(1, tasks + 1))
        objects += job(
            f"mixed{number}",
            tasks=size,
            cpu=float(dice.choice([0.5, 1, 1.5, 2, 4])),
            memory=f"{dice.integers(1, 17)}Gi",
            min_available=max(1, size // 2),
            queue=f"q{number % QUEUES}",
            node_selector=selectors[dice.integers(len(selectors))],
            phase="Pending",
        )
    return objects


def preemption(nodes: int, jobs: int, tasks: int) -> list[Manifest]:
    """A cluster full of unimportant work in one queue, and important gangs in the same queue."""
    return _full_cluster(nodes, jobs, tasks, "q0")


def reclaim(nodes: int, jobs: int, tasks: int) -> list[Manifest]:
    """A cluster full of one queue's work, and gangs of another queue that has nothing."""
    return _full_cluster(nodes, jobs, tasks, "q3")


def _full_cluster(nodes: int, jobs: int, tasks: int, queue_of_newcomers: str) -> list[Manifest]:
    objects: list[Manifest] = [*_equal_nodes(nodes), *_queues()]
    objects += [priority_class("high", 1000), priority_class("low", 1)]
    for number in range(nodes):
        objects += job(
            f"low{number}",
            tasks=8,
            cpu=8,
            memory="32Gi",
            min_available=1,
            queue="q0",
            priority="low",
            running={f"node-{number:05d}": 8},
        )
    for number in range(jobs):
        objects += job(
            f"high{number}",
            tasks=tasks,
            cpu=8,
            memory="32Gi",
            min_available=tasks,
            queue=queue_of_newcomers,
            priority="high",
        )
    return objects


def _equal_nodes(count: int) -> list[Manifest]:
    return [node(f"node-{n:05d}", cpu=64, memory="256Gi", gpu=8, pods=256) for n in range(count)]


def _queues() -> list[Manifest]:
    return [queue(f"q{number}", weight=number + 1) for number in range(QUEUES)]


SHAPES: dict[str, Callable[[int, int, int], list[Manifest]]] = {
    "gangs": gangs,
    "mixed": mixed,
    "preemption": preemption,
    "reclaim": reclaim,
}
