"""Allocation scores of one node for many requests: the same whole numbers as in `allocation_scores`.

A score is made once for requests that stand side by side, and then asked about node after node. It works in
arrays of its own, because making new ones would cost as much as the sums: what it gives back holds until
it is asked again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hekla.ledger.arrays import Amounts, Counts, Floats
from hekla.plugins.allocation_scores import MAX_NODE_SCORE, Capacity, unevenness_of_one

# asked: (P, tasks)   held: (N, R)   ->   (tasks,) for a row


class LeastAllocatedForMany:
    """The part of each resource that would stay free, in percent, on average."""

    def __init__(self, asked: Amounts, held: Amounts, capacity: Capacity, weight: int) -> None:
        self._held = held
        self._capacity = capacity
        self._weight = weight
        self._asked = [(MAX_NODE_SCORE * amounts, MAX_NODE_SCORE * int(amounts.max())) for amounts in asked]
        self._part: Counts = np.empty(asked.shape[1], dtype=np.int64)
        self._mean: Counts = np.empty(asked.shape[1], dtype=np.int64)

    def __call__(self, row: int) -> Counts:
        held, has = self._held[row].tolist(), self._capacity.per_node[row]
        kinds, part, mean = 0, self._part, self._mean
        mean.fill(0)
        for (asked, most), held_here, c in zip(self._asked, held, has, strict=True):
            if c:
                kinds += 1
                free = MAX_NODE_SCORE * (c - held_here)
                np.subtract(free, asked, out=part)
                if free < most:
                    np.maximum(part, 0, out=part)
                np.floor_divide(part, c, out=part)
                np.add(mean, part, out=mean)
        np.floor_divide(mean, max(kinds, 1), out=mean)
        return mean if self._weight == 1 else np.multiply(mean, self._weight, out=mean)


class BalancedAllocationForMany:
    """Whether the task makes the use of resources more even (up to 100) or less (down to 50)."""

    def __init__(self, asked: Amounts, held: Amounts, capacity: Capacity, weight: int) -> None:
        self._held = held
        self._capacity = capacity
        self._weight = weight
        self._asked = [(amounts, int(amounts.max())) for amounts in asked]
        self._after: Counts = np.empty(asked.shape[1], dtype=np.int64)
        self._halves: list[Floats] = [np.empty(asked.shape[1]) for _ in asked]

    def __call__(self, row: int) -> Floats:
        held_here, has = self._held[row].tolist(), self._capacity.per_node[row]
        held = [held_here[place] for place in self._capacity.places]
        present = [at for at, c in enumerate(has) if c]
        without = unevenness_of_one([min(held[at] / has[at], 1.0) for at in present])
        even = self._unevenness([self._half_used(at, held[at], has[at]) for at in present])
        np.subtract(1.0, even, out=even)
        np.multiply(even, MAX_NODE_SCORE, out=even)
        np.floor(even, out=even)
        np.add(even, 150 - int((1.0 - without) * MAX_NODE_SCORE), out=even)
        np.multiply(even, 0.5, out=even)
        np.floor(even, out=even)
        return even if self._weight == 1 else np.multiply(even, self._weight, out=even)

    def _half_used(self, at: int, held: int, has: int) -> Floats:
        """Half the part of a resource that would be in use."""
        (asked, most), half = self._asked[at], self._halves[at]
        np.add(asked, held, out=self._after)
        np.divide(self._after, 2.0 * has, out=half)
        if held + most > has:
            np.minimum(half, 0.5, out=half)
        return half

    def _unevenness(self, halves: Sequence[Floats]) -> Floats:
        """The standard deviation of the shares, by the steps of `unevenness_of_one`; overwrites halves."""
        if len(halves) < 2:
            return np.zeros(len(self._after))
        first, second, *others = halves
        if not others:
            np.subtract(first, second, out=first)
            return np.absolute(first, out=first)
        (third,) = others
        mean = np.add(first, second)
        np.add(mean, third, out=mean)
        np.divide(mean, 3, out=mean)
        for half in halves:
            np.subtract(half, mean, out=half)
            np.multiply(half, half, out=half)
        np.add(first, second, out=first)
        np.add(first, third, out=first)
        np.divide(first, 3, out=first)
        np.sqrt(first, out=first)
        return np.multiply(first, 2.0, out=first)
