"""Tally: live counts per node of what pods carry, where it is not known beforehand what that may be."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

import numpy as np

from hekla.engine.ledger.arrays import Counts
from hekla.engine.model.task import Task

Thing = TypeVar("Thing", bound=Hashable)


class Tally(Generic[Thing]):
    """How many of each thing the pods of each node carry.

    A move costs what the pod carries, however many things there are. Counts become an array
    only for things that are asked about: most never are.
    """

    def __init__(self, things_of: Callable[[Task], Iterable[Thing]], nodes: int) -> None:
        self.things: list[Thing] = []
        self._things_of = things_of
        self._nodes = nodes
        self._by_row: dict[Thing, dict[int, int]] = {}
        self._arrays: dict[Thing, Counts] = {}

    def move(self, task: Task, row: int, sign: int) -> None:
        for thing in self._things_of(task):
            rows = self._by_row.get(thing)
            if rows is None:
                rows = self._by_row[thing] = {}
                self.things.append(thing)
            rows[row] = rows.get(row, 0) + sign
            if thing in self._arrays:
                self._arrays[thing][row] += sign

    def counts(self, thing: Thing) -> Counts:
        """A live count per node; do not change the array that comes back."""
        if thing not in self._arrays:
            counts = np.zeros(self._nodes, dtype=np.int64)
            for row, count in self._by_row.get(thing, {}).items():
                counts[row] = count
            self._arrays[thing] = counts
        return self._arrays[thing]
