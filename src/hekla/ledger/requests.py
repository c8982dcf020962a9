"""Requests: what tasks of several kinds ask for, side by side, so that a node can be held against all."""

from __future__ import annotations

import numpy as np

from hekla.ledger.arrays import Amounts
from hekla.model.task import Task


class Requests:
    """One column per task; every resource is asked for by all of them or by none, as their kinds tell."""

    def __init__(self, task: Task) -> None:
        self.compared = task.asked
        """The resources of which a node must have enough."""
        self.vectors: Amounts = task.vector[:, None]
        """(R, tasks)"""
        self.nonzero: Amounts = np.array(task.nonzero, dtype=np.int64)[:, None]
        """(2, tasks)"""

    def add(self, task: Task) -> None:
        one = Requests(task)
        self.vectors = np.concatenate([self.vectors, one.vectors], axis=1)
        self.nonzero = np.concatenate([self.nonzero, one.nonzero], axis=1)

    def __len__(self) -> int:
        return len(self.vectors[0])

    def ask_for(self, column: int) -> bool:
        return bool(self.vectors[column, 0] > 0)
