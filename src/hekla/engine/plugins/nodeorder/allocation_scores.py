"""Allocation scores: how free, how full and how evenly used a node would be with the task on it.

Whole numbers as Kubernetes computes them, worked out column by column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from hekla.engine.ledger.arrays import Amounts, Floats, Mask, Rows, picked

MAX_NODE_SCORE = 100
# As arrays: NumPy makes one of a plain number whenever it meets it, which takes as long as adding up does.
NONE, PERCENT = np.array(0), np.array(MAX_NODE_SCORE)
HALF, ONE, HUNDRED = np.array(0.5), np.array(1.0), np.array(float(MAX_NODE_SCORE))
UNCHANGED = np.array(150.0)
"""What half is added of, so that use which stays as even as it was gets 75."""
EXACT_IN_FLOATS = 2**46
"""Below this, a hundredfold amount divided by another rounds to no other whole number than it should."""


@dataclass(frozen=True, eq=False)
class NodeCapacity:
    """What nodes have of a few resources, and in which columns of a ledger those stand."""

    places: tuple[int, ...]
    columns: slice | list[int]
    """The same for picking rows of an array: a slice where they stand side by side."""
    amounts: Amounts
    """(P, N)"""
    divisors: Floats
    """The same with 1 where there is nothing, to divide by; (P, N)"""
    doubled: Floats
    """Twice what to divide by; (P, N)"""
    pairs: Sequence[tuple[int, int, Mask]]
    """Two of three resources, and which nodes have just these, where there are such."""
    loners: Mask | None
    """Which nodes have less than two of the resources; None where all have more."""
    kinds: Floats | float
    """How many of the resources each node has, and 1 where it has none; a number where all have all."""
    is_small: bool


def capacity_of(allocatable: Amounts, places: Sequence[int]) -> NodeCapacity:
    """allocatable: (N, R)"""
    amounts = np.ascontiguousarray(allocatable[:, list(places)].T)
    counted = np.count_nonzero(amounts, axis=0)
    is_everywhere = (counted == len(places)).all()
    is_loner = counted < 2
    divisors = np.maximum(amounts, 1).astype(np.float64)
    is_one_run = list(places) == list(range(places[0], places[0] + len(places)))
    return NodeCapacity(
        tuple(places),
        slice(places[0], places[-1] + 1) if is_one_run else list(places),
        amounts,
        divisors,
        2.0 * divisors,
        [(left, right, mask) for left, right, mask in _pairs(amounts > 0) if mask.any()],
        is_loner if is_loner.any() else None,
        float(len(places)) if is_everywhere else np.maximum(counted, 1).astype(np.float64),
        bool(amounts.max(initial=0) < EXACT_IN_FLOATS),
    )


def _pairs(present: Mask) -> Iterator[tuple[int, int, Mask]]:
    """Of three resources every two, and which nodes have just these.   present: (P, N)"""
    for lacking, left, right in ((0, 1, 2), (1, 0, 2), (2, 0, 1)) if len(present) == 3 else ():
        yield left, right, present[left] & present[right] & ~present[lacking]


# Of the nodes in these rows: held: (P, rows)   asked: (P, 1)   ->   (rows,)


def least_allocated(held: Amounts, asked: Amounts, has: NodeCapacity, rows: Rows) -> Floats:
    """The part of each resource that would stay free, in percent, on average."""
    free = picked(has.amounts, rows) - held
    free -= asked
    return _mean_percent(np.maximum(free, NONE, out=free), has, rows)


def most_allocated(held: Amounts, asked: Amounts, has: NodeCapacity, rows: Rows) -> Floats:
    """The part of each resource that would be in use, in percent, on average."""
    return _mean_percent(np.minimum(held + asked, picked(has.amounts, rows)), has, rows)


def _mean_percent(amounts: Amounts, has: NodeCapacity, rows: Rows) -> Floats:
    """Which part of the capacity that is, in whole percent, rounded down, and the mean of these as well.

    What a node does not have is not counted, and adds nothing. The amounts are changed.
    """
    amounts *= PERCENT
    if has.is_small:
        parts = amounts / picked(has.divisors, rows)
        np.floor(parts, out=parts)
    else:
        parts = (amounts // np.maximum(picked(has.amounts, rows), 1)).astype(np.float64)
    mean: Floats = reduce(np.add, parts)
    mean /= has.kinds if isinstance(has.kinds, float) else picked(has.kinds, rows)
    return np.floor(mean, out=mean)


def balanced_allocation(held: Amounts, asked: Amounts, has: NodeCapacity, rows: Rows) -> Floats:
    """Whether the task makes the use of resources more even (up to 100) or less (down to 50)."""
    halves = np.empty((len(held), 2, held.shape[1]))
    halves[:, 0] = held
    np.add(held, asked, out=halves[:, 1])
    np.divide(halves, picked(has.doubled, rows)[:, None], out=halves)
    np.minimum(halves, HALF, out=halves)
    even = unevenness(halves, has, rows)
    np.subtract(ONE, even, out=even)
    even *= HUNDRED
    np.floor(even, out=even)
    score: Floats = even[1] - even[0]
    score += UNCHANGED
    score *= HALF
    return np.floor(score, out=score)


def unevenness(halves: Floats, has: NodeCapacity, rows: Rows) -> Floats:
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
