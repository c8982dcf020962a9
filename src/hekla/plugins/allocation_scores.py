"""Allocation scores: how free, how full and how evenly used a node would be with the task on it.

Whole numbers as Kubernetes computes them. Every score comes in two forms that always agree: for
one node, in plain numbers, and for many, column by column. After a placement only one row
changes, and for that an array costs ten times as much as a few plain numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from hekla.ledger.arrays import ALL_ROWS, Amounts, Counts, Floats, Mask, Rows

MAX_NODE_SCORE = 100
Columns = tuple[Counts, ...]
"""One array (N,) per resource."""


@dataclass(frozen=True, eq=False)
class Capacity:
    """What nodes have of a few resources, and in which columns of a ledger those stand."""

    places: tuple[int, ...]
    columns: Columns
    per_node: list[list[int]]


def capacity_of(allocatable: Amounts, places: Sequence[int]) -> Capacity:
    """allocatable: (N, R)"""
    columns = tuple(allocatable[:, place] for place in places)
    return Capacity(tuple(places), columns, allocatable[:, list(places)].tolist())


@dataclass(frozen=True)
class AllocationScore:
    """One score in its two forms; both take what is held, what is asked, what there is."""

    of_one: Callable[[Sequence[int], Sequence[int], Sequence[int]], int]
    of_many: Callable[[Columns, Sequence[int], Columns], Counts]

    def at(self, rows: Rows, ledger: Amounts, asked: Sequence[int], capacity: Capacity) -> Counts | int:
        """For one row a plain number; ledger: (N, R)   ->   (rows,)"""
        if isinstance(rows, slice) and rows != ALL_ROWS and rows.stop - rows.start == 1:
            held_here = ledger[rows.start].tolist()
            held_of_each = [held_here[place] for place in capacity.places]
            return self.of_one(held_of_each, asked, capacity.per_node[rows.start])
        held = tuple(ledger[rows, place] for place in capacity.places)
        return self.of_many(held, asked, tuple(column[rows] for column in capacity.columns))


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


# For many nodes: held, has: one (N,) per resource   asked: one number per resource   ->   (N,)


def least_allocated(held: Columns, asked: Sequence[int], has: Columns) -> Counts:
    total = np.zeros(len(has[0]), dtype=np.int64)
    for h, a, c in zip(held, asked, has, strict=True):
        free = c - h
        free -= a
        np.maximum(free, 0, out=free)
        free *= MAX_NODE_SCORE
        free //= np.maximum(c, 1)
        total += free
    return np.floor_divide(total, np.maximum(kinds(has), 1))


def most_allocated(held: Columns, asked: Sequence[int], has: Columns) -> Counts:
    total = np.zeros(len(has[0]), dtype=np.int64)
    for h, a, c in zip(held, asked, has, strict=True):
        used = h + a
        np.minimum(used, c, out=used)
        used *= MAX_NODE_SCORE
        used //= np.maximum(c, 1)
        total += used
    return np.floor_divide(total, np.maximum(kinds(has), 1))


def balanced_allocation(held: Columns, asked: Sequence[int], has: Columns) -> Counts:
    present = [column > 0 for column in has]
    without = [share(h, c) for h, c in zip(held, has, strict=True)]
    with_task = [share(h + a, c) for h, a, c in zip(held, asked, has, strict=True)]
    before: Counts = ((1.0 - unevenness(without, present)) * MAX_NODE_SCORE).astype(np.int64)
    after: Counts = ((1.0 - unevenness(with_task, present)) * MAX_NODE_SCORE).astype(np.int64)
    score: Counts = (50 + after - before) // 2 + 50
    return score


def kinds(has: Sequence[Counts]) -> Counts:
    """How many of the resources each node has; -> (N,)"""
    return np.asarray(np.count_nonzero([column > 0 for column in has], axis=0), dtype=np.int64)


def share(amount: Counts, capacity: Counts) -> Floats:
    """At most 1; meaningless where there is no capacity. (N,), (N,) -> (N,)"""
    part = amount / np.maximum(capacity, 1)
    np.minimum(part, 1.0, out=part)
    return part


def unevenness(shares: Sequence[Floats], present: Sequence[Mask]) -> Floats:
    """The standard deviation of two or three shares, over the resources that a node has.

    shares, present: one (N,) per resource   ->   (N,)
    """
    if len(shares) == 2:
        first, second = shares
        return np.where(present[0] & present[1], np.abs((first - second) / 2), 0.0)
    first, second, third = shares
    mean = (first + second + third) / 3
    squares = (first - mean) ** 2 + (second - mean) ** 2 + (third - mean) ** 2
    of_two = [
        unevenness([shares[i], shares[j]], [present[i], present[j]]) for i, j in ((0, 1), (0, 2), (1, 2))
    ]
    # A node that lacks one of the three has exactly one pair, and the other pairs come to 0.
    return np.where(present[0] & present[1] & present[2], np.sqrt(squares / 3), sum(of_two))


LEAST_ALLOCATED = AllocationScore(least_allocated_of_one, least_allocated)
MOST_ALLOCATED = AllocationScore(most_allocated_of_one, most_allocated)
BALANCED_ALLOCATION = AllocationScore(balanced_allocation_of_one, balanced_allocation)
