"""Buckets: the tasks of one job sorted into groups that should each share a node, by the affinity of roles.

    volcano.sh/task-topology-affinity: "ps,worker;evaluator"   groups by `;`, roles by `,`
    volcano.sh/task-topology-anti-affinity: "ps"
    volcano.sh/task-topology-task-order: "ps,worker"

A group of one role speaks of tasks of that role among each other, a larger group of every pair in it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import permutations

import numpy as np

from hekla.engine.ledger.arrays import Counts
from hekla.engine.ledger.axis import CPU_COLUMN, MEMORY_COLUMN, Axis
from hekla.engine.model.resources import PODS, is_whole
from hekla.engine.model.task import NOWHERE, Task
from hekla.errors import InputError
from hekla.objects.keys import ROLE_AFFINITY, ROLE_ANTI_AFFINITY, ROLE_ORDER, TASK_SPEC

MEBIBYTE = 1024 * 1024
ANNOTATIONS = (ROLE_AFFINITY, ROLE_ANTI_AFFINITY, ROLE_ORDER)
SELF_ANTI, INTER_AFFINITY, SELF_AFFINITY, INTER_ANTI = 4, 3, 2, 1
"""The roles that are hardest to please are put into buckets first."""
Groups = tuple[tuple[str, ...], ...]
Pairs = Mapping[str, Collection[str]]


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


@dataclass(frozen=True)
class RoleAffinity:
    """For each role the roles it likes and dislikes; ranks are 0 where nothing is said of a role."""

    likes: Pairs = field(default_factory=dict)
    dislikes: Pairs = field(default_factory=dict)
    order: Mapping[str, int] = field(default_factory=dict)
    rank: Mapping[str, int] = field(default_factory=dict)

    def has_opinion_on(self, role: str) -> bool:
        return role in self.rank

    def priority(self, role: str) -> tuple[int, int]:
        """The place in the job's own order, then how hard the role is to please; larger goes first."""
        return self.order.get(role, 0), self.rank.get(role, 0)


def read_affinity(annotations: Mapping[str, str], roles: Collection[str]) -> RoleAffinity | None:
    """What a PodGroup says of its roles; None where it says nothing.

    Raises InputError where it names a role that no task has, or one twice in a group.
    """
    if not any(key in annotations for key in ANNOTATIONS):
        return None
    together = _groups(annotations, ROLE_AFFINITY, roles)
    apart = _groups(annotations, ROLE_ANTI_AFFINITY, roles)
    listed = _groups(annotations, ROLE_ORDER, roles, separator=None)
    order = {role: len(listed[0]) - at for at, role in enumerate(listed[0])} if listed else {}
    return RoleAffinity(_pairs(together), _pairs(apart), order, _ranks(together, apart))


def _groups(
    annotations: Mapping[str, str], key: str, roles: Collection[str], separator: str | None = ";"
) -> Groups:
    if key not in annotations:
        return ()
    text = annotations[key]
    groups = text.split(separator) if separator else [text]
    return tuple(_group(key, group, roles) for group in groups)


def _group(key: str, text: str, roles: Collection[str]) -> tuple[str, ...]:
    named = tuple(role.strip() for role in text.split(","))
    for role in named:
        if role not in roles:
            known = ", ".join(sorted(roles)) or "none"
            raise InputError(f'{key}: no task has the role "{role}"; roles: {known}')
        if named.count(role) > 1:
            raise InputError(f'{key}: role "{role}" stands twice in "{text}"')
    return named


def _pairs(groups: Groups) -> Pairs:
    pairs: defaultdict[str, set[str]] = defaultdict(set)
    for group in groups:
        # A role alone is paired with itself.
        for left, right in permutations(group, 2) if len(group) > 1 else ((group[0], group[0]),):
            pairs[left].add(right)
    return dict(pairs)


def _ranks(together: Groups, apart: Groups) -> dict[str, int]:
    ranks: dict[str, int] = {}
    for groups, alone, among_others in (
        (together, SELF_AFFINITY, INTER_AFFINITY),
        (apart, SELF_ANTI, INTER_ANTI),
    ):
        for group in groups:
            for role in group:
                ranks[role] = max(ranks.get(role, 0), alone if len(group) == 1 else among_others)
    return ranks
