"""Allocation scores: how free, how full and how evenly used a node would be with the task on it.

Whole numbers as Kubernetes computes them. Every score comes in two forms that always agree: for
one node, in plain numbers, and for many, column by column. Where only one row has changed, an
array costs ten times as much as a few plain numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Literal

import numpy as np

from hekla.ledger.arrays import Amounts, Floats, Mask, Rows, picked
from hekla.ledger.states import NodeStates

MAX_NODE_SCORE = 100
Ledger = Literal["nonzero", "requested"]
"""What the pod ledger counts: with pods that ask for nothing, or without."""
EXACT_IN_FLOATS = 2**46
"""Below this, a hundredfold amount divided by another rounds to no other whole number than it should."""


@dataclass(frozen=True, eq=False)
class Capacity:
    """What nodes have of a few resources, and in which columns of a ledger those stand."""

    places: tuple[int, ...]
    amounts: Amounts
    """(P, N)"""
    divisors: Floats
    """The same, and 1 where there is nothing."""
    kinds: Floats | float
    """How many of the resources each node has, and 1 where it has none; a number where all have all."""
    is_small: bool
    per_node: Sequence[Sequence[int]]

    @property
    def is_everywhere(self) -> bool:
        return isinstance(self.kinds, float)


def capacity_of(allocatable: Amounts, places: Sequence[int]) -> Capacity:
    """allocatable: (N, R)"""
    amounts = np.ascontiguousarray(allocatable[:, list(places)].T)
    counted = np.count_nonzero(amounts, axis=0)
    is_everywhere = (counted == len(places)).all()
    return Capacity(
        tuple(places),
        amounts,
        np.maximum(amounts, 1).astype(np.float64),
        float(len(places)) if is_everywhere else np.maximum(counted, 1).astype(np.float64),
        bool(amounts.max(initial=0) < EXACT_IN_FLOATS),
        allocatable[:, list(places)].tolist(),
    )


@dataclass(frozen=True)
class AllocationScore:
    """One score in its two forms; both take what is held, what is asked, what there is."""

    of_one: Callable[[Sequence[int], Sequence[int], Sequence[int]], int]
    of_many: Callable[[Amounts, Amounts, Capacity, Rows], Floats]

    def at(
        self, states: NodeStates, ledger: Ledger, asked: Sequence[int], capacity: Capacity
    ) -> Floats | int:
        """For one row a plain number   ->   (states,)"""
        if states.only is not None:
            held_here = getattr(states.pods, ledger)[states.only].tolist()
            held_of_each = [held_here[place] for place in capacity.places]
            return self.of_one(held_of_each, asked, capacity.per_node[states.only])
        held: Amounts = getattr(states, ledger)
        if len(capacity.places) < len(held):
            held = held.take(capacity.places, axis=0)
        return self.of_many(held, np.array(asked, dtype=np.int64)[:, None], capacity, states.rows)


# For one node: held, asked, has: one number per resource


def least_allocated_of_one(held: Sequence[int], asked: Sequence[int], has: Sequence[int]) -> int:
    """The part of each resource that would stay free, in percent, on average."""
    free = [max(c - h - a, 0) * MAX_NODE_SCORE // c for h, a, c in zip(held, asked, has, strict=True) if c]
    return sum(free) // len(free) if free else 0


def most_allocated_of_one(held: Sequence[int], asked: Sequence[int], has: Sequence[int]) -> int:
    """The part of each resource that would be in use, in percent, on average."""
    used = [min(h + a, c) * MAX_NODE_SCORE // c for h, a, c in zip(held, asked, has, strict=True) if c]
    return sum(used) // len(used) if used else 0


def balanced_allocation_of_one(held: Sequence[int], asked: Sequence[int], has: Sequence[int]) -> int:
    """Whether the task makes the use of resources more even (up to 100) or less (down to 50)."""
    without = [min(h / c, 1.0) for h, c in zip(held, has, strict=True) if c]
    with_task = [min((h + a) / c, 1.0) for h, a, c in zip(held, asked, has, strict=True) if c]
    gain = int((1.0 - unevenness_of_one(with_task)) * MAX_NODE_SCORE) - int(
        (1.0 - unevenness_of_one(without)) * MAX_NODE_SCORE
    )
    return 50 + (50 + gain) // 2


def unevenness_of_one(shares: Sequence[float]) -> float:
    """The standard deviation, by the steps that Kubernetes takes, so that rounding agrees."""
    if len(shares) < 2:
        return 0.0
    if len(shares) == 2:
        return abs((shares[0] - shares[1]) / 2)
    mean = reduce(add, shares) / len(shares)  # newer Pythons' sum() rounds differently
    return math.sqrt(reduce(add, [(share - mean) * (share - mean) for share in shares]) / len(shares))


# For many nodes, those in these rows: held: (P, rows)   asked: (P, 1)   ->   (rows,)


def least_allocated(held: Amounts, asked: Amounts, has: Capacity, rows: Rows) -> Floats:
    free = picked(has.amounts, rows) - held
    free -= asked
    return _mean_percent(np.maximum(free, 0, out=free), has, rows)


def most_allocated(held: Amounts, asked: Amounts, has: Capacity, rows: Rows) -> Floats:
    return _mean_percent(np.minimum(held + asked, picked(has.amounts, rows)), has, rows)


def _mean_percent(amounts: Amounts, has: Capacity, rows: Rows) -> Floats:
    """Which part of the capacity that is, in whole percent, rounded down, and the mean of these as well.

    What a node does not have is not counted, and adds nothing.
    """
    amounts *= MAX_NODE_SCORE
    if has.is_small:
        parts: Floats = amounts / picked(has.divisors, rows)
        np.floor(parts, out=parts)
    else:
        parts = (amounts // np.maximum(picked(has.amounts, rows), 1)).astype(np.float64)
    mean: Floats = np.add.reduce(parts)
    mean /= has.kinds if isinstance(has.kinds, float) else picked(has.kinds, rows)
    return np.floor(mean, out=mean)


def balanced_allocation(held: Amounts, asked: Amounts, has: Capacity, rows: Rows) -> Floats:
    divisors = picked(has.divisors, rows)
    shares = np.empty((len(held), 2, held.shape[1]))
    np.divide(held, divisors, out=shares[:, 0])
    np.divide(held + asked, divisors, out=shares[:, 1])
    np.minimum(shares, 1.0, out=shares)
    even = unevenness(shares, None if has.is_everywhere else picked(has.amounts, rows) > 0)
    np.subtract(1.0, even, out=even)
    even *= MAX_NODE_SCORE
    np.floor(even, out=even)
    score: Floats = even[1] - even[0]
    score += 50
    score *= 0.5
    np.floor(score, out=score)
    score += 50
    return score


def unevenness(shares: Floats, present: Mask | None) -> Floats:
    """The standard deviation of two or three shares, over the resources that a node has.

    shares: (P, 2, N)   present: (P, N), None where every node has all   ->   (2, N)
    """
    if len(shares) == 2:
        of_two = _half_apart(shares[0], shares[1])
        return of_two if present is None else np.where(present[0] & present[1], of_two, 0.0)
    mean = np.add.reduce(shares) / 3
    squares = shares - mean
    squares *= squares
    of_all: Floats = np.sqrt(np.add.reduce(squares) / 3)
    if present is None:
        return of_all
    # A node that lacks one of the three has exactly one pair, and the other pairs come to 0.
    left, right = [0, 0, 1], [1, 2, 2]
    pairs = _half_apart(shares[left], shares[right])
    pairs *= (present[left] & present[right])[:, None]
    return np.where(np.logical_and.reduce(present), of_all, np.add.reduce(pairs))


def _half_apart(left: Floats, right: Floats) -> Floats:
    """The standard deviation of two."""
    apart: Floats = left - right
    apart /= 2
    return np.abs(apart, out=apart)


LEAST_ALLOCATED = AllocationScore(least_allocated_of_one, least_allocated)
MOST_ALLOCATED = AllocationScore(most_allocated_of_one, most_allocated)
BALANCED_ALLOCATION = AllocationScore(balanced_allocation_of_one, balanced_allocation)
