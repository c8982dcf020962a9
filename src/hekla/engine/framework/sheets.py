"""Sheets: room, refusals and scores of all nodes for one request, shared by all tasks that ask for the same.

A placement changes one node. A sheet that was looked at before the change is put right, when it is
looked at again, for the rows that changed since: one row in plain numbers, some in one go over
these rows, and most of them by starting afresh.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hekla.engine.framework.opinions import Score, Verdict, nobody, total, verdict
from hekla.engine.ledger.arrays import ALL_ROWS, Amounts, Counts, Floats, Indices, Mask
from hekla.engine.ledger.nodes import NodeLedger
from hekla.engine.ledger.states import NodeStates
from hekla.engine.model.diagnosis import Code
from hekla.engine.model.task import Task
from hekla.lazy import lazy

if TYPE_CHECKING:
    from hekla.engine.framework.fitting import Fitting

FEW_ROWS = 4
"""Up to so many changed rows are worked out one by one: an array of one costs ten plain numbers."""
MOST_ROWS = 0.5
"""From this part of all rows on, working out everything is no dearer than picking rows."""


class Changes:
    """Which rows have changed since a given moment; a moment is a length of the ledger's list of changes."""

    def __init__(self, nodes: NodeLedger) -> None:
        self._nodes = nodes
        self._changed = nodes.changed
        self._seen = 0

    @lazy
    def _latest(self) -> Counts:
        """By row the last time that it changed."""
        return np.full(len(self._nodes), -1, dtype=np.int64)

    @property
    def now(self) -> int:
        return len(self._changed)

    def since(self, moment: int) -> list[int] | Indices:
        """A few rows as a list, many as an array; each once."""
        if len(self._changed) - moment <= 2 * FEW_ROWS:
            return list(set(self._changed[moment:]))
        if len(self._changed) > self._seen:
            self._latest[self._changed[self._seen :]] = np.arange(self._seen, len(self._changed))
            self._seen = len(self._changed)
        return np.flatnonzero(self._latest >= moment)


@dataclass(slots=True)
class Outlook:
    """What is known of some nodes for one request: (rows,) each."""

    fits_now: Mask
    fits_later: Mask
    is_open: Mask
    verdicts: list[Verdict | None]
    """By plugin that has predicates; None where it refuses nobody by what it reads of node states."""
    order: Floats | float
    batch: Floats | float
    """Scores; plain numbers where nobody reads node states for them."""

    def put(self, rows: Indices, part: Outlook) -> None:
        self.fits_now[rows], self.fits_later[rows] = part.fits_now, part.fits_later
        self.is_open[rows] = part.is_open
        self.order = _put_scores(self.order, rows, part.order, len(self.is_open))
        self.batch = _put_scores(self.batch, rows, part.batch, len(self.is_open))
        for at, said in enumerate(part.verdicts):
            if said is not None:
                bad, hard = self.verdict_of(at)
                bad[rows], hard[rows] = said
            elif (known := self.verdicts[at]) is not None:
                known[0][rows] = known[1][rows] = False

    def verdict_of(self, judge: int) -> Verdict:
        """Whom a plugin refuses, to be changed."""
        known = self.verdicts[judge]
        if known is None:
            known = self.verdicts[judge] = nobody(len(self.is_open))
        return known


def _put_scores(
    scores: Floats | float, rows: Indices | int, part: Floats | float, count: int
) -> Floats | float:
    if isinstance(scores, float):
        if isinstance(part, float) and part == scores:
            return scores
        scores = np.full(count, scores)
    scores[rows] = part
    return scores


class Sheet:
    """The outlook on all nodes; `refresh` brings it up to date."""

    def __init__(self, fitting: Fitting, task: Task) -> None:
        session = fitting.session
        self._fitting = fitting
        self.task = task
        self._needs = needs_of(task)
        self._nodes, self._pods = session.nodes, session.pods
        self._totals: dict[tuple[float, float], Floats] = {}
        self._work_out()

    def outlook(self, states: NodeStates) -> Outlook:
        """Everything that depends on the request and on node states, worked out for these."""
        task, fitting, needs = self.task, self._fitting, self._needs
        now = np.logical_and.reduce(states.idle >= needs)
        later = np.logical_and.reduce(states.future >= needs) if self._nodes.has_promises else now.copy()
        verdicts = [
            verdict([ask(task, states) for ask in judge.by_row], len(now)) for judge in fitting.judges
        ]
        is_open = np.ones(len(now), dtype=np.bool_)
        for said in verdicts:
            if said is not None:
                is_open &= ~said[0]
        order = total([ask(task, states) for ask in fitting.order.by_row])
        batch = total([ask(task, states) for ask in fitting.batch.by_row])
        return Outlook(now, later, is_open, verdicts, order, batch)

    def _work_out(self) -> None:
        self._moment = self._fitting.changes.now
        self.known = self.outlook(NodeStates(self._nodes, self._pods, ALL_ROWS))
        self._totals.clear()

    def refresh(self) -> None:
        """Work out again what has changed since it was last looked at."""
        changes = self._fitting.changes
        if changes.now == self._moment:
            return
        rows = changes.since(self._moment)
        self._moment = changes.now
        if len(rows) <= FEW_ROWS:
            for row in rows:
                self._work_out_row(int(row))
        elif len(rows) < MOST_ROWS * len(self._nodes):
            self._work_out_rows(np.asarray(rows))
        else:
            self._work_out()

    def _work_out_rows(self, rows: Indices) -> None:
        part = self.outlook(NodeStates(self._nodes, self._pods, rows))
        self.known.put(rows, part)
        for (order, batch), summed in self._totals.items():
            summed[rows] = (part.order + order) + (part.batch + batch)

    def _work_out_row(self, row: int) -> None:
        """The same in plain numbers."""
        task, fitting, known = self.task, self._fitting, self.known
        states = NodeStates(self._nodes, self._pods, slice(row, row + 1), only=row)
        idle, future = self._nodes.idle[row].tolist(), self._nodes.future[row].tolist()
        request = task.vector.tolist()
        known.fits_now[row] = all([idle[column] >= request[column] for column in task.asked])
        known.fits_later[row] = all([future[column] >= request[column] for column in task.asked])
        is_open = True
        for at, judge in enumerate(fitting.judges):
            said = [one for ask in judge.by_row for one in ask(task, states) or () if one.nodes[0]]
            if said or known.verdicts[at] is not None:
                bad, hard = known.verdict_of(at)
                bad[row] = bool(said)
                hard[row] = any(refusal.code is not Code.UNSCHEDULABLE for refusal in said)
            is_open = is_open and not said
        known.is_open[row] = is_open
        order = batch = 0.0
        for score in fitting.order.by_row:
            order += only(score(task, states))
        for score in fitting.batch.by_row:
            batch += only(score(task, states))
        known.order = _put_scores(known.order, row, order, len(self._nodes))
        known.batch = _put_scores(known.batch, row, batch, len(self._nodes))
        for (order_constant, batch_constant), summed in self._totals.items():
            summed[row] = (order + order_constant) + (batch + batch_constant)

    def total(self, constants: tuple[float, float]) -> Floats:
        """Every node's score, with what plugins add for all nodes alike; do not change the array."""
        summed = self._totals.get(constants)
        if summed is None:
            known, (order, batch) = self.known, constants
            summed = np.empty(len(self._nodes))
            summed[:] = (known.order + order) + (known.batch + batch)
            self._totals[constants] = summed
        return summed


def only(score: Score) -> float:
    """The score of one row, which a plugin may give as an array of one or as a plain number."""
    if score is None:
        return 0.0
    return float(score[0]) if isinstance(score, np.ndarray) else score


def needs_of(task: Task) -> Amounts:
    """What a node must have of every resource; no node has too little of what is not asked for. (R, 1)"""
    needs = np.full((len(task.vector), 1), np.iinfo(np.int64).min)
    for column in task.asked:
        needs[column] = task.vector[column]
    return needs
