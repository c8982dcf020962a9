"""The queue tree: whose child a queue is, and where two queues part; without hierarchy, each stands alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np

from hekla.engine.ledger.arrays import Indices, Mask
from hekla.engine.model.job import Job
from hekla.engine.model.queue import ROOT, Queue


@dataclass(frozen=True, eq=False)
class QueueTree:
    """A row per queue, and from each row the way up."""

    names: tuple[str, ...]
    row_of: Mapping[str, int]
    paths: tuple[Indices, ...]
    """By row: the queue itself, its parent, and so on up to the root."""
    is_leaf: Mask

    def __len__(self) -> int:
        return len(self.names)

    @property
    def parents(self) -> Iterator[tuple[int, list[int]]]:
        """Every queue that has children, parents before their children, each with these."""
        children: dict[int, list[int]] = {}
        for row in sorted(range(len(self)), key=lambda row: len(self.paths[row])):
            if len(self.paths[row]) > 1:
                children.setdefault(int(self.paths[row][1]), []).append(row)
        for parent in sorted(children, key=lambda row: len(self.paths[row])):
            yield parent, children[parent]

    def near_ancestors(self, row: int, level: int) -> list[int]:
        """The nearest ancestors, at most `level` of them, parent first; the root is nobody's relative."""
        return [int(above) for above in islice(self.paths[row][1:-1], level)]

    def parting(self, left: int, right: int) -> tuple[int, int]:
        """The first two that differ on the ways from the root down to two queues."""
        for mine, theirs in zip(reversed(self.paths[left]), reversed(self.paths[right]), strict=False):
            if mine != theirs:
                return int(mine), int(theirs)
        return left, right

    def kinship(self, left: int, right: int) -> int:
        """How many ancestors two queues have in common."""
        ways = zip(reversed(self.paths[left][1:]), reversed(self.paths[right][1:]), strict=False)
        return sum(bool(mine == theirs) for mine, theirs in ways)


def every_queue_alone(queues: Iterable[str]) -> QueueTree:
    return _tree(dict.fromkeys(queues, ""))


def tree_of(queues: Mapping[str, Queue]) -> QueueTree:
    """The tree that queues without a fault make up."""
    return _tree(_parents(queues))


def _parents(queues: Mapping[str, Queue]) -> dict[str, str]:
    """A queue that names no parent is a child of the root."""
    return {name: "" if name == ROOT else queue.parent or ROOT for name, queue in queues.items()}


def _tree(parent_of: Mapping[str, str]) -> QueueTree:
    names = tuple(parent_of)
    row_of = {name: row for row, name in enumerate(names)}
    inner = set(parent_of.values())
    return QueueTree(
        names,
        row_of,
        tuple(np.array([row_of[step] for step in _way_up(name, parent_of)], dtype=np.intp) for name in names),
        np.array([name not in inner for name in names], dtype=np.bool_),
    )


def _way_up(name: str, parent_of: Mapping[str, str]) -> Iterator[str]:
    while name:
        yield name
        name = parent_of[name]


def fault_of(queues: Mapping[str, Queue], jobs: Iterable[Job]) -> str:
    """Why these queues are no tree that these jobs can wait in; empty where they are."""
    if ROOT not in queues:
        return f'there is no queue "{ROOT}"'
    parent_of = _parents(queues)
    for name, parent in parent_of.items():
        if parent and parent not in queues:
            return f'queue "{name}" names parent "{parent}", which does not exist'
    for name in parent_of:
        if len(list(islice(_way_up(name, parent_of), len(queues) + 1))) > len(queues):
            return f'queue "{name}" is below itself, by way of its parent "{parent_of[name]}"'
    inner = set(parent_of.values())
    for job in jobs:
        if job.queue in inner:
            return (
                f'job "{job.uid}" is in queue "{job.queue}", which has child queues; move it to one of them'
            )
    return ""
