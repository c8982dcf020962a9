"""TaskClass: what is known of placing tasks that look alike, and how long each part of it stays true."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hekla.framework.points import Scope
from hekla.ledger.arrays import ALL_ROWS, Floats, Mask, Rows
from hekla.model.diagnosis import Code, Refusal
from hekla.model.task import Task

if TYPE_CHECKING:
    from hekla.framework.fitting import Fitting

Refusals = Sequence[Refusal] | None
Score = Floats | float | None

FEW_ROWS = 16
"""Up to so many changed rows are worked out one by one."""


@dataclass
class Judge:
    """One plugin's predicates, by how long they stay true."""

    plugin: str
    once: list[Callable[[Task], Refusals]] = field(default_factory=list)
    by_row: list[Callable[[Task, Rows], Refusals]] = field(default_factory=list)
    always: list[Callable[[Task], Refusals]] = field(default_factory=list)


@dataclass
class Scorers:
    """All answers to one scoring point, by how long they stay true."""

    once: list[Callable[[Task], Score]] = field(default_factory=list)
    by_row: list[Callable[[Task, Rows], Score]] = field(default_factory=list)
    always: list[Callable[[Task, Mask], Score]] = field(default_factory=list)


def file_answer(shelf: Judge | Scorers, scope: Scope, method: Callable[..., object]) -> None:
    drawer = {Scope.CLASS: "once", Scope.ROW: "by_row", Scope.ATTEMPT: "always"}[scope]
    getattr(shelf, drawer).append(method)


class TaskClass:
    """What is known of placing tasks of one kind; `refresh` brings it up to date."""

    def __init__(self, fitting: Fitting, task: Task) -> None:
        self._fitting = fitting
        self._task = task
        self._nodes = fitting.session.nodes
        self._needs = [(column, int(task.vector[column])) for column in task.asked]
        count = len(self._nodes)
        self._never = [verdict([fn(task) for fn in judge.once], count) for judge in fitting.judges]
        self._order_once = _sum(fitting.order.once, count, task)
        self._batch_once = _sum(fitting.batch.once, count, task)
        self._constant = (0.0, 0.0)
        self._work_out()

    def _work_out(self) -> None:
        """Everything, for all rows at once."""
        task, fitting = self._task, self._fitting
        count = len(self._nodes)
        self._seen = len(self._nodes.changed)
        self.fits_now = self._nodes.can_hold(task)
        self.fits_later = self._nodes.will_hold(task)
        self.judged = [
            _united(never, verdict([fn(task, ALL_ROWS) for fn in judge.by_row], count))
            for judge, never in zip(fitting.judges, self._never, strict=True)
        ]
        self._benches = list(zip(fitting.judges, self._never, self.judged, strict=True))
        self.is_open = np.ones(count, dtype=np.bool_)
        for bad, _ in self.judged:
            self.is_open &= ~bad
        self._order = self._order_once + _sum(fitting.order.by_row, count, task, ALL_ROWS)
        self._batch = self._batch_once + _sum(fitting.batch.by_row, count, task, ALL_ROWS)
        self._total = (self._order + self._constant[0]) + (self._batch + self._constant[1])

    def refresh(self) -> TaskClass:
        """Work out again what has changed since: a few rows one by one, many all at once."""
        changed = self._nodes.changed
        if len(changed) > self._seen:
            rows = set(changed[self._seen :])
            if len(rows) > FEW_ROWS:
                self._work_out()
            else:
                self._seen = len(changed)
                for row in rows:
                    self._work_out_row(row)
        return self

    def _work_out_row(self, row: int) -> None:
        """The same for one row, in plain numbers: arrays of one are slow. This runs after every placement."""
        task, fitting, nodes = self._task, self._fitting, self._nodes
        idle, future = nodes.idle[row].tolist(), nodes.future[row].tolist()
        self.fits_now[row] = all([idle[column] >= amount for column, amount in self._needs])
        self.fits_later[row] = all([future[column] >= amount for column, amount in self._needs])
        only = slice(row, row + 1)
        is_open = True
        for judge, never, judged in self._benches:
            bad, hard = never[0].item(row), never[1].item(row)
            for ask in judge.by_row:
                for refusal in ask(task, only) or ():
                    if refusal.nodes[0]:
                        bad, hard = True, hard or refusal.code is not Code.UNSCHEDULABLE
            judged[0][row], judged[1][row] = bad, hard
            is_open = is_open and not bad
        self.is_open[row] = is_open
        order, batch = self._order_once.item(row), self._batch_once.item(row)
        for score in fitting.order.by_row:
            order += _only(score(task, only))
        for score in fitting.batch.by_row:
            batch += _only(score(task, only))
        self._order[row], self._batch[row] = order, batch
        self._total[row] = (order + self._constant[0]) + (batch + self._constant[1])

    def has_steady_scores(self, task: Task, among: Mask) -> bool:
        """Whether scores depend on each node alone, so that a placement changes one of them."""
        return self.scores(task, among) is self.steady_scores

    @property
    def steady_scores(self) -> Floats:
        return self._total

    def scores(self, task: Task, among: Mask) -> Floats:
        """Every node's score when these are the candidates; do not change the array."""
        order, order_constant = _at_attempt(self._fitting.order.always, task, among)
        batch, batch_constant = _at_attempt(self._fitting.batch.always, task, among)
        if order is not None or batch is not None:
            order_part = self._order + order_constant + (0.0 if order is None else order)
            batch_part = self._batch + batch_constant + (0.0 if batch is None else batch)
            return np.asarray(order_part + batch_part, dtype=np.float64)
        if self._constant != (order_constant, batch_constant):
            self._constant = (order_constant, batch_constant)
            self._total = (self._order + order_constant) + (self._batch + batch_constant)
        return self._total


def _united(left: tuple[Mask, Mask], right: tuple[Mask, Mask]) -> tuple[Mask, Mask]:
    return left[0] | right[0], left[1] | right[1]


def _only(score: Score) -> float:
    """The score of one row, which a plugin may give as an array of one or as a plain number."""
    if score is None:
        return 0.0
    return float(score[0]) if isinstance(score, np.ndarray) else score


def verdict(answers: Sequence[Refusals], count: int) -> tuple[Mask, Mask]:
    """Which nodes are refused at all, and which for good."""
    bad, hard = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
    for answer in answers:
        for refusal in answer or ():
            bad |= refusal.nodes
            if refusal.code is not Code.UNSCHEDULABLE:
                hard |= refusal.nodes
    return bad, hard


def _sum(scorers: Sequence[Callable[..., Score]], count: int, *question: object) -> Floats:
    total = np.zeros(count)
    for ask in scorers:
        score = ask(*question)
        if score is not None:
            total += score
    return total


def _at_attempt(
    scorers: Sequence[Callable[[Task, Mask], Score]], task: Task, among: Mask
) -> tuple[Floats | None, float]:
    """Scores that differ between nodes, and the sum of those that do not."""
    varying: Floats | None = None
    constant = 0.0
    for ask in scorers:
        score = ask(task, among)
        if isinstance(score, np.ndarray):
            varying = score if varying is None else varying + score
        elif score is not None:
            constant += score
    return varying, constant
