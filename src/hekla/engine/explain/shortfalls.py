"""Shortfalls: what nodes lack for tasks that start together, in numbers and in words."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import msgspec
import numpy as np

from hekla.engine.ledger.arrays import Amounts, Counts, Mask, any_of
from hekla.engine.ledger.axis import Axis
from hekla.engine.model.resources import PODS, spelled
from hekla.engine.model.task import Task
from hekla.lazy import lazy

BOUNDLESS = np.iinfo(np.int32).max


class TaskDemand(msgspec.Struct, frozen=True, eq=False):
    """Tasks that every plugin answers alike for; one of them speaks for all."""

    task: Task
    count: int
    key: Hashable
    """Equal for tasks that are alike, of whatever job."""

    def capacity(self, amounts: Amounts) -> Counts:
        """How many such tasks each node holds.   (N, R) -> (N,)"""
        most = np.full(len(amounts), BOUNDLESS, dtype=np.int64)
        for column in self.task.asked:
            if asked := int(self.task.vector[column]):
                most = np.minimum(most, amounts[:, column] // asked)
            else:
                # As when tasks are placed, what is asked for with 0 must not be overdrawn.
                most[amounts[:, column] < 0] = 0
        return np.clip(most, 0, None)


class GangDemand(msgspec.Struct, frozen=True, eq=False, dict=True):
    """What is left to place of a job, by kind, and how many of these tasks start together."""

    kinds: tuple[TaskDemand, ...]
    count: int
    least: Amounts
    """The least that so many of them ask for. (R,)"""

    @lazy
    def size(self) -> int:
        return sum(kind.count for kind in self.kinds)

    def needs(self, kind: TaskDemand) -> bool:
        """Whether it cannot start without tasks of this kind."""
        return self.count > self.size - kind.count

    def placeable(self, capacities: Counts) -> Counts:
        """How many of the tasks find a place in each group of nodes, at most.   (G, K) -> (G,)"""
        if not self.kinds:
            return np.full(len(capacities), self.count, dtype=np.int64)
        counts = np.array([kind.count for kind in self.kinds], dtype=np.int64)
        return np.asarray(np.minimum(capacities, counts).sum(axis=1))

    def fits(self, amounts: Amounts, capacities: Counts) -> Mask:
        """The groups of nodes that may hold so many.   (G, R), (G, K) -> (G,)"""
        has_enough = (amounts >= self.least)[:, self.least > 0].all(axis=1)
        return np.asarray(has_enough & (self.placeable(capacities) >= self.count))

    @property
    def starting(self) -> str:
        return f"{self.count} tasks start together" if self.count > 1 else "it has to lie"

    @property
    def needing(self) -> str:
        return f"{self.count} tasks that start together need" if self.count > 1 else "needs"


def gang_of_kinds(kinds: Sequence[TaskDemand], count: int, width: int) -> GangDemand:
    """So many of these tasks start together; `width` is the number of resources."""
    least = np.zeros(width, dtype=np.int64)
    for column in range(width):
        left = count
        for kind in sorted(kinds, key=lambda kind: int(kind.task.vector[column])):
            taken = min(left, kind.count)
            least[column] += taken * int(kind.task.vector[column])
            left -= taken
    return GangDemand(tuple(kinds), count, least)


class Supply(msgspec.Struct, frozen=True, eq=False, dict=True):
    """What nodes have, and where each kind of task may go."""

    amounts: Amounts
    """(N, R)"""
    masks: Sequence[Mask]
    """By kind of task. (N,) each"""

    @lazy
    def usable(self) -> Amounts:
        """The same, with nothing on nodes that no kind may use."""
        return np.where(any_of(self.masks)[:, None], self.amounts, 0) if self.masks else self.amounts

    def capacities(self, gang: GangDemand) -> Counts:
        """How many tasks of each kind each node holds. -> (N, K)"""
        found = np.zeros((len(self.amounts), len(gang.kinds)), dtype=np.int64)
        for at, (kind, mask) in enumerate(zip(gang.kinds, self.masks, strict=True)):
            found[:, at] = np.where(mask, kind.capacity(self.amounts), 0)
        return found

    def fits(self, gang: GangDemand) -> bool:
        """Whether the gang may fit on all these nodes together."""
        return bool(gang.fits(self.usable.sum(axis=0)[None], self.capacities(gang).sum(axis=0)[None])[0])

    def placeable(self, gang: GangDemand) -> int:
        return int(gang.placeable(self.capacities(gang).sum(axis=0)[None])[0])

    def first_short(self, gang: GangDemand) -> int | None:
        """The column of the first resource of which there is too little in sum."""
        short = np.flatnonzero(self.usable.sum(axis=0) < gang.least)
        return int(short[0]) if len(short) else None

    def homeless(self, gang: GangDemand) -> TaskDemand | None:
        """A kind without which the gang cannot start, and of which no node holds one task."""
        capacities = self.capacities(gang).sum(axis=0).tolist()
        return next(
            (
                kind
                for kind, most in zip(gang.kinds, capacities, strict=True)
                if not most and gang.needs(kind)
            ),
            None,
        )


def amount(axis: Axis, column: int, value: float) -> str:
    """`40 cpu`, `16Gi memory`, `110 pods`."""
    return f"{spelled(axis.names[column], value)} {axis.names[column]}"


def too_large(axis: Axis, gang: GangDemand, kind: TaskDemand, supply: Supply, which: str) -> str:
    """How one task of the kind is larger than any of these nodes, `which` they are."""
    role = f'role "{kind.task.role}" ' if len(gang.kinds) > 1 and kind.task.role else ""
    asked, most = kind.task.vector, supply.usable.max(axis=0, initial=0)
    short = np.flatnonzero(most < asked)
    if len(short):
        at = int(short[0])
        largest = spelled(axis.names[at], most[at])
        return f"{role}needs {amount(axis, at, asked[at])}, the largest node{which} has {largest}"
    parts = [amount(axis, at, asked[at]) for at in np.flatnonzero(asked).tolist() if axis.names[at] != PODS]
    return f"{role}needs {' and '.join(parts)} on one node; no node{which} has as much of each"


def lacking(axis: Axis, gang: GangDemand, supply: Supply, which: str) -> str:
    """What these nodes, when empty, lack for the gang; `which` they are."""
    if (kind := supply.homeless(gang)) is not None:
        return too_large(axis, gang, kind, supply, which)
    have = f"the nodes{which} have" if which else "all nodes together have"
    if (column := supply.first_short(gang)) is not None:
        has = spelled(axis.names[column], supply.usable[:, column].sum())
        return f"{gang.needing} {amount(axis, column, gang.least[column])}, {have} {has}"
    return f"{gang.count} tasks start together, {have} room for {supply.placeable(gang)} when empty"
