"""TaskClass: what is known of placing tasks that look alike, and how long each part of it stays true.

What depends on the node objects alone is worked out once. What depends on the request and on node
states stands on a sheet, which classes that ask for the same share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hekla.engine.framework.opinions import Score, Verdict, total, united
from hekla.engine.framework.sheets import Outlook, Sheet
from hekla.engine.ledger.arrays import Counts, Floats, Indices, Mask
from hekla.engine.ledger.states import SupposedStates
from hekla.engine.model.resources import PODS
from hekla.engine.model.task import Task
from hekla.lazy import lazy

if TYPE_CHECKING:
    from hekla.engine.framework.fitting import Fitting
    from hekla.engine.framework.standings import Line


class TaskClass:
    """What is known of placing tasks of one kind; `refresh` brings it up to date, and comes first."""

    def __init__(self, fitting: Fitting, task: Task) -> None:
        self._fitting = fitting
        self._task = task
        self._never = fitting.exclusion_of(task)
        self._order_once = total([ask(task) for ask in fitting.order.once])
        self._batch_once = total([ask(task) for ask in fitting.batch.once])
        self._adds_scores = not (isinstance(self._order_once, float) and isinstance(self._batch_once, float))
        self._constant = self._with_constants(0.0, 0.0)
        self._moment = -1
        self.line: Line | None = None
        """What the standings tell such tasks, once somebody has asked."""

    @lazy
    def sheet(self) -> Sheet:
        """The whole cluster worked out for the request; made when somebody needs it."""
        return self._fitting.sheet_for(self._task)

    def refresh(self) -> TaskClass:
        """Take over what has changed on the sheet."""
        self.sheet.refresh()
        if self._moment < 0 or self._known is not self.sheet.known:
            self._take_over_all()
        elif self._moment != self._fitting.changes.now:
            self._take_over()
        return self

    def _take_over_all(self) -> None:
        self._known = self.sheet.known
        self._moment = self._fitting.changes.now
        self._find_open()
        self._sum_up()

    def _take_over(self) -> None:
        """What is shared with the sheet has followed already; what the class adds to it has not."""
        moment, self._moment = self._moment, self._fitting.changes.now
        self._find_open()
        if self._adds_scores:
            rows = np.asarray(self._fitting.changes.since(moment))
            order, batch = _at(self._known.order, rows), _at(self._known.batch, rows)
            self._total[rows] = self._summed(order, batch, rows)

    def _find_open(self) -> None:
        known = self._known
        self.fits_now, self.fits_later, self.is_open = known.fits_now, known.fits_later, known.is_open
        if self._never.usable is not None:
            self.is_open = self._never.usable & known.is_open

    def _sum_up(self) -> None:
        if not self._adds_scores:
            self._total = self.sheet.total(self._constant)
        else:
            self._total = np.empty(len(self.is_open))
            self._total[:] = self._summed(self._known.order, self._known.batch)

    def _summed(
        self, order: Floats | float, batch: Floats | float, rows: Indices | None = None
    ) -> Floats | float:
        """All scores together, always added in the same order: sums of fractions depend on it."""
        if self._adds_scores:
            order = _at(self._order_once, rows) + order
            batch = _at(self._batch_once, rows) + batch
        return (order + self._constant[0]) + (batch + self._constant[1])

    def _with_constants(self, order: float, batch: float) -> tuple[float, float]:
        """What is added to all nodes alike: now, and once and for all."""
        if isinstance(self._order_once, float) and isinstance(self._batch_once, float):
            return self._order_once + order, self._batch_once + batch
        return order, batch

    @property
    def judged(self) -> list[Verdict]:
        """By plugin that has predicates, whom it refuses."""
        both = zip(self._never.verdicts, self._known.verdicts, strict=True)
        return [united(never, by_row, len(self.is_open)) for never, by_row in both]

    @property
    def handicaps(self) -> Floats | None:
        """-inf for nodes that the class can never use, 0 for all others; None where it may use all."""
        return self._never.handicaps

    @property
    def is_in_standings(self) -> bool:
        """Whether it prefers among nodes just what all with its request prefer, and needs one place for pods.

        What nodes look like tells whether there is a place for one more pod, but not for how many.
        """
        return not self._adds_scores and self._task.request[PODS] == 1

    def has_steady_scores(self, task: Task, among: Mask) -> bool:
        """Whether scores depend on each node alone, so that a placement changes one of them."""
        return self.scores(task, among) is self.steady_scores

    @property
    def steady_scores(self) -> Floats:
        return self._total

    def scores(self, task: Task, among: Mask) -> Floats:
        """Every node's score when these are the candidates; do not change the array."""
        order, order_constant = _at_attempt(self._fitting.order_at_attempt, task, among)
        batch, batch_constant = _at_attempt(self._fitting.batch.always, task, among)
        if order is not None or batch is not None:
            order_part = self._order_once + self._known.order + order_constant
            batch_part = self._batch_once + self._known.batch + batch_constant
            order_part = order_part + (0.0 if order is None else order)
            batch_part = batch_part + (0.0 if batch is None else batch)
            return np.asarray(order_part + batch_part, dtype=np.float64)
        constant = self._with_constants(order_constant, batch_constant)
        if self._constant != constant:
            self._constant = constant
            self._sum_up()
        return self._total

    def supposed(self, rows: Indices, added: Counts) -> tuple[Outlook, Floats]:
        """What would be known of these rows, and their scores, with so many more tasks on each of them.

        Holds where scores are steady; which nodes the class is never let in is not looked at again.
        """
        session = self._fitting.session
        states = SupposedStates(session.nodes, session.pods, rows, self._task, added)
        known = self.sheet.outlook(states)
        return known, np.broadcast_to(self._summed(known.order, known.batch, rows), len(rows))


def _at(scores: Floats | float, rows: Indices | None) -> Floats | float:
    return scores if rows is None or isinstance(scores, float) else scores[rows]


def _at_attempt(
    scorers: Sequence[Callable[..., Score]], task: Task, among: Mask
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
