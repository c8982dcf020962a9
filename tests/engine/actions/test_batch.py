"""A batch takes the nodes that its tasks would take one after another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hekla.engine.actions.batch import Batch, best_rows, plan

SCORES = st.sampled_from((0.0, 1.0, 1.0, 2.0, 3.5))
LADDERS = st.lists(st.lists(SCORES, max_size=9), min_size=1, max_size=8)
"""Per node its score with none, one, two more tasks on it; it is full where the list ends."""


@dataclass
class Outlook:
    fits_now: np.ndarray
    fits_later: np.ndarray
    is_open: np.ndarray


class Steps:
    """A class of tasks whose scores are written down; a full node is closed to them, or lacks room."""

    def __init__(self, ladders: list[list[float]]) -> None:
        self.ladders = ladders
        self.steady_scores = np.array([ladder[0] if ladder else -1.0 for ladder in ladders])

    def supposed(self, rows: np.ndarray, added: np.ndarray) -> tuple[Outlook, np.ndarray]:
        steps = list(zip(rows.tolist(), added.tolist(), strict=True))
        is_step = np.array([at < len(self.ladders[row]) for row, at in steps], dtype=np.bool_)
        closes = np.array([row % 3 == 0 for row, _ in steps], dtype=np.bool_)
        scores = [self.ladders[row][at] if at < len(self.ladders[row]) else 9.0 for row, at in steps]
        return Outlook(is_step | closes, is_step | closes, is_step | ~closes), np.array(scores)


def one_by_one(ladders: list[list[float]], count: int) -> Batch:
    taken, closes, height = [], [], [0] * len(ladders)
    for _ in range(count):
        open_rows = [row for row, ladder in enumerate(ladders) if height[row] < len(ladder)]
        if not open_rows:
            break
        best = max(open_rows, key=lambda row: (ladders[row][height[row]], -row))
        height[best] += 1
        taken.append(best)
        closes.append(height[best] == len(ladders[best]))
    return Batch(taken, closes)


@given(LADDERS, st.integers(1, 50))
def test_a_batch_is_what_one_by_one_would_take(ladders: list[list[float]], count: int) -> None:
    among = np.array([bool(ladder) for ladder in ladders])
    expected = one_by_one(ladders, count)
    assert plan(Steps(ladders), among, count) == expected  # type: ignore[arg-type]


def test_of_equal_rows_the_first_are_the_best() -> None:
    scores = np.array([1.0, 3.0, 2.0, 2.0, 9.0, 2.0])
    among = np.array([True, True, True, True, False, True])
    assert best_rows(scores, among, 3).tolist() == [1, 2, 3]
    assert best_rows(scores, among, 9).tolist() == [0, 1, 2, 3, 5]
