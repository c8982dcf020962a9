"""Queues: the tree they stand in, how much each may hold, and what is asked held against that."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from operator import truediv
from typing import TYPE_CHECKING

import numpy as np

from hekla.engine.framework.messages import shortage
from hekla.engine.ledger.arrays import Amounts, Floats, Indices, Mask
from hekla.engine.ledger.axis import CPU_COLUMN, MEMORY_COLUMN
from hekla.engine.model.job import Job
from hekla.engine.model.queue import ROOT, QueueInfo
from hekla.engine.model.resources import PODS, spelled

if TYPE_CHECKING:
    from hekla.engine.framework.session import Session

UNLIMITED = np.finfo(np.float64).max


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
        """The nearest ancestors, at most `level` of them, parent first; the root is no relative."""
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


def tree_of(queues: Mapping[str, QueueInfo]) -> QueueTree:
    """The tree that queues without a fault make up."""
    return _tree(_parents(queues))


def _parents(queues: Mapping[str, QueueInfo]) -> dict[str, str]:
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


def fault_of(queues: Mapping[str, QueueInfo], jobs: Iterable[Job]) -> str:
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


def capability_of(amounts: Amounts, named: Mask) -> Floats:
    """The configured upper limit; what it does not name is unlimited."""
    return np.where(says(amounts, named), amounts, UNLIMITED).astype(np.float64)


def says(amounts: Amounts, named: Mask) -> Mask:
    """What a capability speaks of: the resources it names, but cpu and memory only with an amount.

    amounts, named: (..., R)
    """
    said = named.copy()
    for column in (CPU_COLUMN, MEMORY_COLUMN):
        said[..., column] = amounts[..., column] > 0
    return said


def beside_guarantees(room: Amounts | Floats, guaranteed: Amounts, own: Amounts) -> Floats:
    """What is left of the room when every queue has its guarantee, and the queue's own guarantee."""
    return np.asarray(np.maximum(room - guaranteed, 0) + own, dtype=np.float64)


def within(amounts: Amounts, limit: Amounts | Floats, asked: Amounts, pods: int) -> bool:
    """No resource that is asked for goes beyond its limit; pods and everything else do not matter.

    amounts, limit, asked: (R,)
    """
    # Plain numbers: this is asked for every task, of a handful of resources.
    rows = enumerate(zip(asked.tolist(), amounts.tolist(), limit.tolist(), strict=True))
    for column, (wanted, amount, most) in rows:
        if wanted > 0 and amount > most and column != pods:
            return False
    return True


def how_many(
    held: Sequence[int], limit: Sequence[float], wanted: Iterable[tuple[int, int]], count: int
) -> int:
    """How many times, up to `count`, as much can be taken while `within` still holds.

    held, limit: a number for each resource; wanted: amounts by column
    """
    for column, amount in wanted:
        fitting = (math.floor(limit[column]) - held[column]) // amount
        if fitting < count:  # noqa: PLR1730 - asked at every turn, and faster than min
            count = fitting
    return max(count, 0)


def largest_part(held: Sequence[float], most: Sequence[float]) -> float:
    """The largest part of anything that is held; there is infinitely much of what does not count."""
    return max(map(truediv, held, most), default=0.0)


def short_of(session: Session, amounts: Amounts | Floats, limit: Amounts | Floats, asked: Amounts) -> str:
    """The resources that would go beyond their limit, in words; nothing where the trace is not kept."""
    if session.is_quiet:
        return ""
    return _shortages(session.axis.names, *[tuple(each.tolist()) for each in (amounts, limit, asked)])


@lru_cache(maxsize=256)
def _shortages(
    names: Sequence[str], amounts: Sequence[float], limits: Sequence[float], asked: Sequence[int]
) -> str:
    """Kept, because all tasks of a gang are mostly refused for the same."""
    return ", ".join(
        shortage(
            name, *[spelled(name, number) for number in (wanted, max(0, limit - amount + wanted), limit)]
        )
        for name, amount, limit, wanted in zip(names, amounts, limits, asked, strict=True)
        if wanted > 0 and amount > limit and name != PODS
    )
