"""Requests: what tasks of several kinds ask for, side by side, so that a node can be held against all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hekla.engine.ledger.arrays import Amounts
from hekla.engine.model.task import Weight


class Requests:
    """One column per request; every resource is asked for by all of them or by none, as their kind tells."""

    def __init__(self, weights: Sequence[Weight]) -> None:
        self.compared = weights[0].asked
        """The resources of which a node must have enough."""
        self.vectors: Amounts = np.column_stack([weight.amounts for weight in weights])
        """(R, requests)"""
        self.nonzero: Amounts = np.column_stack([weight.nonzero for weight in weights])
        """(2, requests)"""

    def __len__(self) -> int:
        return len(self.vectors[0])

    def ask_for(self, column: int) -> bool:
        return bool(self.vectors[column, 0] > 0)
