"""Names for the shapes of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Amounts = npt.NDArray[np.int64]
"""Exact amounts: (R,) for one thing, (N, R) for all nodes."""

Floats = npt.NDArray[np.float64]
"""Shares, scores, and amounts that were scaled."""

Indices = npt.NDArray[np.intp]
"""Column or row numbers."""

Counts = npt.NDArray[np.int64]
"""A whole number per node."""

Mask = npt.NDArray[np.bool_]
"""A yes or no per node."""

Rows = Indices | slice
"""Which nodes a row-wise answer is wanted for."""

ALL_ROWS = slice(None)


Numbers = TypeVar("Numbers", Amounts, Floats, Mask)
Ordered = TypeVar("Ordered", Indices, Floats)


def picked(numbers: Numbers, rows: Rows) -> Numbers:
    """These of the nodes, which stand along the last axis; a view where that can be."""
    return numbers[..., rows] if isinstance(rows, slice) else numbers.take(rows, axis=-1)


def all_of(masks: Sequence[Mask]) -> Mask:
    """What every one of the masks marks; an array of its own."""
    return np.asarray(np.logical_and.reduce(masks), dtype=np.bool_)


def any_of(masks: Sequence[Mask]) -> Mask:
    """What at least one of the masks marks; an array of its own."""
    return np.asarray(np.logical_or.reduce(masks), dtype=np.bool_)


def distinct(numbers: Ordered) -> Ordered:
    """Each number once, in order. (`np.unique` first of all imports masked arrays, for ten milliseconds.)"""
    ordered = np.sort(numbers)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def side_by_side(*tables: Amounts) -> tuple[Amounts, tuple[Amounts, ...]]:
    """Tables as one with all their columns, and each as a view of it: a row of all is changed at once."""
    whole = np.asfortranarray(np.concatenate(tables, axis=1))
    ends = np.cumsum([table.shape[1] for table in tables]).tolist()
    return whole, tuple(whole[:, end - table.shape[1] : end] for end, table in zip(ends, tables, strict=True))


def laid_anew(table: Amounts, rows: Indices) -> Amounts:
    """The table with its rows in another order, zeros in those that are new (below 0). (N, R) -> (rows, R)"""
    fresh = np.zeros((len(rows), table.shape[1]), dtype=np.int64, order="F")
    known = rows >= 0
    fresh[known] = table[rows[known]]
    return fresh


def widened(table: Amounts, before: Sequence[int], after: Sequence[int], width: int) -> Amounts:
    """The table with these of its columns moved to those places among others. (N, R) -> (N, width)"""
    fresh = np.zeros((len(table), width), dtype=np.int64, order="F")
    fresh[:, after] = table[:, before]
    return fresh
