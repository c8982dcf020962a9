"""Buckets: the tasks of one job sorted into groups that should each share a node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from hekla.engine.ledger.arrays import Counts
from hekla.engine.ledger.axis import CPU_COLUMN, MEMORY_COLUMN, Axis
from hekla.engine.model.resources import PODS, is_whole
from hekla.engine.model.task import NOWHERE, Task
from hekla.engine.plugins.role_affinity import RoleAffinity
from hekla.objects.keys import TASK_SPEC

MEBIBYTE = 1024 * 1024


@dataclass(eq=False)
class Bucket:
    """Tasks that want to be together: how many of each role, who waits, and how many sit on each node."""

    index: int
    placed: Counts
    roles: Counter[str] = field(default_factory=Counter)
    unplaced: dict[str, Task] = field(default_factory=dict)
    load: float = 0.0
    """What its waiting tasks asked for when they were sorted in."""

    def attraction(self, role: str, affinity: RoleAffinity) -> int:
        """How much a task of the role wants to be here; negative where it would rather not."""
        liked = sum(self.roles[other] for other in affinity.likes.get(role, ()))
        return liked - sum(self.roles[other] for other in affinity.dislikes.get(role, ()))


class JobBuckets:
    """One job's buckets, and which of its roles this session has put on which node."""

    def __init__(self, affinity: RoleAffinity, tasks: Iterable[Task], axis: Axis, nodes: int) -> None:
        self.affinity = affinity
        self.buckets: list[Bucket] = []
        self._axis = axis
        self._nodes = nodes
        self._bucket_of_task: dict[str, Bucket] = {}
        self._bucket_of_node: dict[str, Bucket] = {}
        self._put_here: dict[str, Counts] = {}
        sorted_in = [task for task in tasks if affinity.has_opinion_on(role_of(task))]
        for task in sorted(sorted_in, key=self._turn):
            self._sort_in(task)
        sizes = [sum(bucket.roles.values()) for bucket in self.buckets]
        self.largest = max(sizes, default=0)

    def bucket_of(self, task: Task) -> Bucket | None:
        return self._bucket_of_task.get(task.uid)

    def _turn(self, task: Task) -> tuple[bool, str, int, int, str]:
        """Tasks on nodes first, then by the job's own order, then the hardest to please."""
        order, rank = self.affinity.priority(role_of(task))
        return not task.node_name, task.node_name, -order, -rank, task.name

    def _sort_in(self, task: Task) -> None:
        if task.node_name:
            bucket = self._bucket_of_node.get(task.node_name) or self._new_bucket()
            self._bucket_of_node[task.node_name] = bucket
            if task.node != NOWHERE:
                bucket.placed[task.node] += 1
        else:
            bucket = self._choose(role_of(task))
            bucket.unplaced[task.uid] = task
            bucket.load += load_of(task, self._axis)
        bucket.roles[role_of(task)] += 1
        self._bucket_of_task[task.uid] = bucket

    def _choose(self, role: str) -> Bucket:
        """The most attractive bucket, the lightest among equals; a new one where none attracts."""
        attraction = {bucket: bucket.attraction(role, self.affinity) for bucket in self.buckets}
        best = max(self.buckets, key=lambda bucket: (attraction[bucket], -bucket.load), default=None)
        return self._new_bucket() if best is None or attraction[best] < 0 else best

    def _new_bucket(self) -> Bucket:
        bucket = Bucket(len(self.buckets), self._zeros())
        self.buckets.append(bucket)
        return bucket

    # What the session does

    def put(self, task: Task, row: int) -> None:
        """A task of the job was placed."""
        bucket = self.bucket_of(task)
        if bucket is not None:
            bucket.placed[row] += 1
            bucket.unplaced.pop(task.uid, None)
            self.put_here(role_of(task))[row] += 1

    def take_back(self, task: Task, row: int) -> None:
        """Its placement was undone."""
        bucket = self.bucket_of(task)
        if bucket is not None:
            bucket.placed[row] -= 1
            bucket.unplaced[task.uid] = task
            self.put_here(role_of(task))[row] -= 1

    def put_here(self, role: str) -> Counts:
        """How many tasks of a role this session has put on each node, live; -> (N,)"""
        if role not in self._put_here:
            self._put_here[role] = self._zeros()
        return self._put_here[role]

    def disliked(self, role: str) -> Counts:
        """How many tasks that a role dislikes this session has put on each node; -> (N,)"""
        return sum((self.put_here(other) for other in self.affinity.dislikes.get(role, ())), self._zeros())

    def _zeros(self) -> Counts:
        return np.zeros(self._nodes, dtype=np.int64)


def role_of(task: Task) -> str:
    """The role by the pod's annotation; its label does not count here, as in Volcano."""
    return task.pod.metadata.annotations.get(TASK_SPEC, "")


def load_of(task: Task, axis: Axis) -> float:
    """A rough size: a millicore, a MiB and a thousandth of any other thing weigh the same."""
    load = float(task.vector[CPU_COLUMN]) + float(task.vector[MEMORY_COLUMN]) / MEBIBYTE
    for column, name in enumerate(axis.names):
        if column not in (CPU_COLUMN, MEMORY_COLUMN):
            # Volcano counts storage in thousandths, too, but pods one by one.
            load += float(task.vector[column]) * (1000 if is_whole(name) and name != PODS else 1)
    return load
