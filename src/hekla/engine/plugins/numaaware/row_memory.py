"""Row memory: a number per node that a plugin worked out for a class of tasks, kept up to date row by row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Counts
from hekla.engine.model.task import Task
from hekla.engine.plugins.class_memory import ClassMemory


@dataclass
class KeptNumbers:
    """The numbers, and how much of the journal they know of."""

    numbers: Counts
    seen: int


class RowMemory:
    """For scores that are measured against other candidates, but depend on each node's own state."""

    def __init__(self, session: Session, work_out: Callable[[Task, int], int]) -> None:
        self._nodes = session.nodes
        self._work_out = work_out
        self._classes = ClassMemory(session, self._all_rows)

    def of(self, task: Task) -> Counts:
        """One number per node; do not change the array."""
        kept, journal = self._classes.of(task), self._nodes.journal
        for row in journal.since(kept.seen).tolist():
            kept.numbers[row] = self._work_out(task, row)
        kept.seen = journal.now
        return kept.numbers

    def _all_rows(self, task: Task) -> KeptNumbers:
        numbers = np.array([self._work_out(task, row) for row in range(len(self._nodes))], dtype=np.int64)
        return KeptNumbers(numbers, self._nodes.journal.now)
