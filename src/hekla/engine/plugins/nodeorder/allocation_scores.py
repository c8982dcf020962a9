"""Allocation scores: how free, how full and how evenly used a node would be with the task on it.

Whole numbers as Kubernetes computes them. Every score comes in two forms that always agree: for
one node, in plain numbers, and for many, column by column. Where only one row has changed, an
array costs ten times as much as a few plain numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Literal

import numpy as np

from hekla.engine.ledger.arrays import Amounts, Floats, Mask, Rows, picked
from hekla.engine.ledger.states import NodeStates

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
    doubled: Floats
    """Twice the divisors."""
    pairs: Sequence[tuple[int, int, Mask]]
    """Two of three resources, and which nodes have just these, where there are such."""
    loners: Mask | None
    """Which nodes have less than two of the resources; None where all have more."""
    kinds: Floats | float
    """How many of the resources each node has, and 1 where it has none; a number where all have all."""
    is_small: bool
    per_node: Sequence[Sequence[int]]
    present: Sequence[tuple[int, ...]]
    """By node which of the resources it has."""


def capacity_of(allocatable: Amounts, places: Sequence[int]) -> Capacity:
    """allocatable: (N, R)"""
    amounts = np.ascontiguousarray(allocatable[:, list(places)].T)
    counted = np.count_nonzero(amounts, axis=0)
    is_everywhere = (counted == len(places)).all()
    is_loner = counted < 2
    divisors = np.maximum(amounts, 1).astype(np.float64)
    per_node: list[list[int]] = amounts.T.tolist()
    return Capacity(
        tuple(places),
        amounts,
        divisors,
        2.0 * divisors,
        [(left, right, mask) for left, right, mask in _pairs(amounts > 0) if mask.any()],
        is_loner if is_loner.any() else None,
        float(len(places)) if is_everywhere else np.maximum(counted, 1).astype(np.float64),
        bool(amounts.max(initial=0) < EXACT_IN_FLOATS),
        per_node,
        [tuple([kind for kind, amount in enumerate(has) if amount]) for has in per_node],
    )


def _pairs(present: Mask) -> Iterator[tuple[int, int, Mask]]:
    """Of three resources every two, and which nodes have just these.   present: (P, N)"""
    for lacking, left, right in ((0, 1, 2), (1, 0, 2), (2, 0, 1)) if len(present) == 3 else ():
        yield left, right, present[left] & present[right] & ~present[lacking]


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
    free: Amounts = picked(has.amounts, rows) - held
    np.subtract(free, asked, out=free)
    return _mean_percent(np.maximum(free, 0, out=free), has, rows)


def most_allocated(held: Amounts, asked: Amounts, has: Capacity, rows: Rows) -> Floats:
    return _mean_percent(np.minimum(held + asked, picked(has.amounts, rows)), has, rows)


def _mean_percent(amounts: Amounts, has: Capacity, rows: Rows) -> Floats:
    """Which part of the capacity that is, in whole percent, rounded down, and the mean of these as well.

    What a node does not have is not counted, and adds nothing.
    """
    np.multiply(amounts, MAX_NODE_SCORE, out=amounts)
    if has.is_small:
        parts: Floats = amounts / picked(has.divisors, rows)
        np.floor(parts, out=parts)
    else:
        parts = (amounts // np.maximum(picked(has.amounts, rows), 1)).astype(np.float64)
    mean: Floats = reduce(np.add, parts)
    np.divide(mean, has.kinds if isinstance(has.kinds, float) else picked(has.kinds, rows), out=mean)
    return np.floor(mean, out=mean)


def balanced_allocation(held: Amounts, asked: Amounts, has: Capacity, rows: Rows) -> Floats:
    halves = np.empty((len(held), 2, held.shape[1]))
    doubled = picked(has.doubled, rows)
    np.divide(held, doubled, out=halves[:, 0])
    np.divide(held + asked, doubled, out=halves[:, 1])
    np.minimum(halves, 0.5, out=halves)
    even = unevenness(halves, has, rows)
    np.subtract(1.0, even, out=even)
    np.multiply(even, MAX_NODE_SCORE, out=even)
    np.floor(even, out=even)
    score: Floats = even[1] - even[0]
    np.add(score, 150.0, out=score)
    np.multiply(score, 0.5, out=score)
    return np.floor(score, out=score)


def unevenness(halves: Floats, has: Capacity, rows: Rows) -> Floats:
    """The standard deviation of two or three shares, over the resources that a node has.

    Shares are given by halves: halving is exact, and of two shares half their distance is what is wanted.

    halves: (P, 2, rows)   ->   (2, rows)
    """
    even = _apart(halves[0], halves[1]) if len(halves) == 2 else _deviation_of_three(halves)
    for left, right, has_just_these in has.pairs:
        np.copyto(even, _apart(halves[left], halves[right]), where=has_just_these[rows])
    if has.loners is not None:
        np.copyto(even, 0.0, where=has.loners[rows])
    return even


def _deviation_of_three(halves: Floats) -> Floats:
    squares: Floats = halves - (halves[0] + halves[1] + halves[2]) / 3
    np.multiply(squares, squares, out=squares)
    deviation: Floats = (squares[0] + squares[1] + squares[2]) / 3
    np.sqrt(deviation, out=deviation)
    return np.multiply(deviation, 2.0, out=deviation)


def _apart(left: Floats, right: Floats) -> Floats:
    apart: Floats = left - right
    return np.absolute(apart, out=apart)


LEAST_ALLOCATED = AllocationScore(least_allocated_of_one, least_allocated)
MOST_ALLOCATED = AllocationScore(most_allocated_of_one, most_allocated)
BALANCED_ALLOCATION = AllocationScore(balanced_allocation_of_one, balanced_allocation)
