"""Allocation scores of one node for many requests: the same whole numbers as in `allocation_scores`.

A score is made once for requests that stand side by side, and then asked about one node after another. It
works in arrays of its own, because making new ones would cost as much as the sums: what it gives back
holds until it is asked again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

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
        self._parts: list[Counts] = [np.empty_like(amounts) for amounts in asked]

    def __call__(self, row: int) -> Counts:
        held, has = self._held[row].tolist(), self._capacity.per_node[row]
        parts = [self._part(at, has[at] - held[at], has[at]) for at in range(len(has)) if has[at]]
        if not parts:
            return np.zeros(len(self._parts[0]), dtype=np.int64)
        mean: Counts = reduce(np.add, parts)
        np.floor_divide(mean, len(parts), out=mean)
        return mean if self._weight == 1 else np.multiply(mean, self._weight, out=mean)

    def _part(self, at: int, free: int, has: int) -> Counts:
        (asked, most), part = self._asked[at], self._parts[at]
        np.subtract(MAX_NODE_SCORE * free, asked, out=part)
        if MAX_NODE_SCORE * free < most:
            np.maximum(part, 0, out=part)
        return np.floor_divide(part, has, out=part)


class BalancedAllocationForMany:
    """Whether the task makes the use of resources more even (up to 100) or less (down to 50)."""

    def __init__(self, asked: Amounts, held: Amounts, capacity: Capacity, weight: int) -> None:
        self._held = held
        self._capacity = capacity
        self._weight = weight
        self._asked = [(amounts, int(amounts.max())) for amounts in asked]
        self._after: Counts = np.empty(asked.shape[1], dtype=np.int64)
        self._halves: list[Floats] = [np.empty(len(amounts)) for amounts in asked]

    def __call__(self, row: int) -> Counts:
        held_here, has = self._held[row].tolist(), self._capacity.per_node[row]
        held = [held_here[place] for place in self._capacity.places]
        present = [at for at, amount in enumerate(has) if amount]
        without = unevenness_of_one([min(held[at] / has[at], 1.0) for at in present])
        even = self._unevenness([self._half_used(at, held[at], has[at]) for at in present])
        np.subtract(1.0, even, out=even)
        np.multiply(even, MAX_NODE_SCORE, out=even)
        score: Counts = even.astype(np.int64)
        np.add(score, 150 - int((1.0 - without) * MAX_NODE_SCORE), out=score)
        np.right_shift(score, 1, out=score)
        return score if self._weight == 1 else np.multiply(score, self._weight, out=score)

    def _half_used(self, at: int, held: int, has: int) -> Floats:
        """Half the part of a resource that would be in use."""
        (asked, most), half = self._asked[at], self._halves[at]
        np.add(asked, held, out=self._after)
        np.divide(self._after, 2.0 * has, out=half)
        return half if held + most <= has else np.minimum(half, 0.5, out=half)

    def _unevenness(self, halves: Sequence[Floats]) -> Floats:
        """The standard deviation of the shares, by the steps of `unevenness_of_one`; overwrites halves."""
        if len(halves) < 2:
            return np.zeros(len(self._after))
        if len(halves) == 2:
            apart = np.subtract(halves[0], halves[1], out=halves[0])
            return np.absolute(apart, out=apart)
        mean: Floats = reduce(np.add, halves) / len(halves)
        for half in halves:
            np.subtract(half, mean, out=half)
            np.multiply(half, half, out=half)
        deviation: Floats = reduce(np.add, halves)
        np.divide(deviation, len(halves), out=deviation)
        np.sqrt(deviation, out=deviation)
        return np.multiply(deviation, 2.0, out=deviation)
