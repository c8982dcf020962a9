"""Batch: where tasks that look alike go, one after another, worked out at once.

One by one, each task takes the best node, the first among equals, and thereby changes the score of
that node alone. So every node has a ladder: its score with none, one, two more of the tasks on it, as
far as they fit. A step that is better than the one before it is taken at once, so a step counts as
much as the worst up to it, and all tasks together take the best steps of all ladders.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hekla.engine.framework.task_class import TaskClass
from hekla.engine.ledger.arrays import Floats, Indices, Mask


@dataclass(frozen=True)
class Batch:
    """The node of each task, in order, and whether that node lets in no more of them after it."""

    rows: list[int]
    closes: list[bool]


def plan(known: TaskClass, among: Mask, count: int) -> Batch:
    """The nodes for so many tasks; fewer where room that is free now ends before."""
    ladders = Ladders(known, best_rows(known.steady_scores, among, count), count)
    steps = ladders.best(count)
    while len(short := ladders.to_be_extended(steps)):
        ladders.extend(short)
        steps = ladders.best(count)
    return ladders.taken(steps)


def best_rows(scores: Floats, among: Mask, count: int) -> Indices:
    """The best of these rows, first among equals, in row order: so many tasks can take no others."""
    rows = np.flatnonzero(among)
    if len(rows) <= count:
        return rows
    values = scores[rows]
    worst = np.partition(values, len(rows) - count)[len(rows) - count]
    better = values > worst
    equal = np.flatnonzero(values == worst)[: count - np.count_nonzero(better)]
    better[equal] = True
    return np.compress(better, rows)


class Ladders:
    """One ladder per row; (rows, steps) each. What is not worked out yet counts as the worst."""

    def __init__(self, known: TaskClass, rows: Indices, count: int) -> None:
        self._known = known
        self._rows = rows
        self._value: Floats = np.zeros((len(rows), 0))
        self._passes: Mask = np.zeros((len(rows), 0), dtype=np.bool_)
        self._climb(np.arange(len(rows)), 1 - (-count // max(len(rows), 1)))

    def extend(self, ladders: Indices) -> None:
        """Twice as many steps for these ladders."""
        self._climb(ladders, self._value.shape[1])

    def _climb(self, ladders: Indices, more: int) -> None:
        steps, shape = self._value.shape[1], (len(ladders), more)
        added = np.arange(steps, steps + more)
        outlook, scores = self._known.supposed(
            np.repeat(self._rows[ladders], more), np.tile(added, len(ladders))
        )
        passes = (outlook.is_open & outlook.fits_later).reshape(shape)
        is_step = passes & outlook.fits_now.reshape(shape)
        value = np.where(is_step, scores.reshape(shape), -np.inf)
        if steps:
            value[:, 0] = np.minimum(value[:, 0], self._value[ladders, -1])
        np.minimum.accumulate(value, axis=1, out=value)
        self._value = self._widened(self._value, value, ladders, -np.inf)
        self._passes = self._widened(self._passes, passes, ladders, False)

    def _widened(self, table: np.ndarray, part: np.ndarray, ladders: Indices, blank: object) -> np.ndarray:
        wide = np.full((len(self._rows), part.shape[1]), blank, dtype=table.dtype)
        wide[ladders] = part
        return np.hstack([table, wide])

    def best(self, count: int) -> Indices:
        """The best steps, as places in the flattened table; the first row goes first among equals."""
        values = self._value.ravel()
        steps: Indices = np.flatnonzero(values > -np.inf)
        # Flattened, steps stand in the order of rows and, of each row, from the lowest up.
        return np.take(steps, np.argsort(-values[steps], kind="stable")[:count])

    def to_be_extended(self, steps: Indices) -> Indices:
        """The ladders that are taken up to their last step and may go on."""
        ladders, heights = np.divmod(steps, self._value.shape[1])
        at_their_end: Indices = ladders[heights == self._value.shape[1] - 1]
        return at_their_end

    def taken(self, steps: Indices) -> Batch:
        ladders, heights = np.divmod(steps, self._value.shape[1])
        return Batch(self._rows[ladders].tolist(), (~self._passes[ladders, heights + 1]).tolist())
