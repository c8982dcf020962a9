"""TaskClass: the filters and scores of all nodes for tasks that every plugin answers alike for.

What depends on the node objects alone is worked out once. What depends on a node's own state is kept beside
it, and worked out again for the rows that changed since. What a placement elsewhere can change is kept
nowhere: it is asked anew at every attempt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hekla.engine.framework.node_answers import NodeAnswers, RefusedNodes, refused_nodes, total
from hekla.engine.ledger.arrays import Counts, Floats, Indices, Mask, Rows, any_of, picked
from hekla.engine.ledger.nodes import covers
from hekla.engine.ledger.states import NodeStates, SupposedStates
from hekla.engine.model.diagnosis import Refusal
from hekla.engine.model.task import Task

if TYPE_CHECKING:
    from hekla.engine.framework.session import Session

MANY = 3
"""Once one node in so many has changed, all are worked out again: picking rows costs more by then."""


class Evaluation(NamedTuple):
    """What is known of some nodes for one class: room now, room later, what filters let through, scores."""

    fits_now: Mask
    fits_later: Mask
    is_open: Mask
    order: Floats | float
    batch: Floats | float
    """Scores are always added in the same order, as rounding depends on it."""


class TaskClass:
    """`refresh` brings it up to date, and comes first."""

    def __init__(self, session: Session, answers: NodeAnswers, task: Task) -> None:
        self._session = session
        self._task = task
        self._answers = answers
        self.is_steady = answers.is_steady
        """Whether a placement changes what is said of its own node alone, and that can be foreseen."""
        count = len(session.nodes)
        self.refused: list[RefusedNodes | None] = [
            refused_nodes([ask(task) for ask in plugin.once], count) for plugin in answers.filters
        ]
        """By plugin that has filters, which nodes it refuses whatever runs on them."""
        refused = [one[0] for one in self.refused if one is not None]
        self._allowed: Mask = ~any_of(refused) if refused else session.domains.top.nodes
        self._static = [total([ask(task) for ask in part.once]) for part in (answers.order, answers.batch)]
        self._seen = self._curable_seen = -1
        self._is_final = True
        """Nothing was released or pipelined so far, so that room now is all the room there will be."""

    def refresh(self) -> TaskClass:
        """Work out again what has changed since it was last looked at."""
        journal = self._session.nodes.journal
        if self._seen < 0 or self._is_final is self._session.nodes.has_promises:
            self._work_out_all()
        elif self._seen != journal.now:
            rows = journal.since(self._seen)
            if MANY * len(rows) > len(self.is_open):
                self._work_out_all()
            else:
                self._work_out(rows)
        self._seen = journal.now
        return self

    def _work_out_all(self) -> None:
        states = NodeStates(self._session.nodes, self._session.pods)
        self._is_final = not self._session.nodes.has_promises
        found = self.evaluate(states)
        self.fits_now, self.fits_later, self.is_open = found.fits_now, found.fits_later, found.is_open.copy()
        parts = self._parts_of(found)
        self._scores = np.empty((len(parts), len(found.fits_now)))
        for kept, part in zip(self._scores, parts, strict=True):
            kept[:] = part

    def _work_out(self, rows: Indices) -> None:
        found = self.evaluate(NodeStates(self._session.nodes, self._session.pods, rows))
        self.fits_now[rows] = found.fits_now
        if not self._is_final:
            self.fits_later[rows] = found.fits_later
        self.is_open[rows] = found.is_open
        for kept, part in zip(self._scores, self._parts_of(found), strict=True):
            kept[rows] = part

    def _parts_of(self, found: Evaluation) -> Sequence[Floats | float]:
        """What is kept: the sum of all scores, or, where scores are added at every attempt, its two parts."""
        return (found.order + found.batch,) if self.is_steady else (found.order, found.batch)

    def evaluate(self, states: NodeStates) -> Evaluation:
        """Room, filters and scores of nodes in these states."""
        task, answers, nodes = self._task, self._answers, self._session.nodes
        fits_now = covers(states.idle, task)
        fits_later = covers(states.future, task) if nodes.has_promises else fits_now
        is_open = self._open_in(states)
        order, batch = (_at(static, states.rows) for static in self._static)
        if answers.order.by_row:
            order = order + total([score(task, states) for score in answers.order.by_row])
        if answers.batch.by_row:
            batch = batch + total([score(task, states) for score in answers.batch.by_row])
        return Evaluation(fits_now, fits_later, is_open, order, batch)

    def _open_in(self, states: NodeStates) -> Mask:
        """Nodes in these states that no lasting filter refuses."""
        is_open = picked(self._allowed, states.rows)
        for ask in self._answers.row_filters:
            for refusal in ask(self._task, states) or ():
                is_open = is_open & ~refusal.nodes
        return is_open

    def is_open_to(self, task: Task, row: int) -> bool:
        """Whether no filter refuses that node just now; scores are not worked out for that."""
        states = NodeStates(self._session.nodes, self._session.pods, np.array([row]))
        refused = (refusal for ask in self._answers.filters_anew for refusal in ask(task) or ())
        return bool(self._open_in(states)[0]) and not any(refusal.nodes[row] for refusal in refused)

    def open_to(self, task: Task) -> Mask:
        """Nodes that no filter refuses just now, whatever their room; do not change the mask."""
        is_open = self.is_open
        for ask in self._answers.filters_anew:
            for refusal in ask(task) or ():
                is_open = is_open & ~refusal.nodes
        return is_open

    def scores_of(self, task: Task, among: Mask) -> Floats:
        """Every node's score when these are the candidates; do not change the array."""
        order: Floats = self._scores[0]
        if self.is_steady:
            return order
        batch: Floats = self._scores[1]
        if asked := [ask(task, among) for ask in self._answers.order.anew]:
            order = order + total(asked)
        if asked := [ask(task, among) for ask in self._answers.batch.anew]:
            batch = batch + total(asked)
        scores: Floats = order + batch
        return scores

    def curable(self, task: Task) -> Mask:
        """Nodes that an eviction might open; do not change the mask."""
        nodes, pods, seen = self._session.nodes, self._session.pods, self._curable_seen
        self._curable_seen = nodes.journal.now
        if seen < 0 or self._answers.filters_anew:
            self._curable = self._curable_in(NodeStates(nodes, pods), task)
        elif seen != nodes.journal.now and len(rows := nodes.journal.since(seen)):
            self._curable[rows] = self._curable_in(NodeStates(nodes, pods, rows), task)
        return self._curable

    def _curable_in(self, states: NodeStates, task: Task) -> Mask:
        """Where the first plugin to refuse a node does not do so for good."""
        undecided, curable = np.ones((2, len(states.pod_count)), dtype=np.bool_)
        for plugin, never in zip(self._answers.filters, self.refused, strict=True):
            said = [*(ask(task, states) for ask in plugin.by_row), *(ask(task) for ask in plugin.anew)]
            verdicts = [] if never is None else [(never[0][states.rows], never[1][states.rows])]
            if (now := refused_nodes(said, len(curable))) is not None:
                verdicts.append(now)
            for _, hard in verdicts:
                curable &= ~(undecided & hard)
            for bad, _ in verdicts:
                undecided &= ~bad
        return curable

    def refusals(self, task: Task) -> list[list[Refusal]]:
        """All refusals, plugin by plugin, in the order the plugins give them."""
        states = NodeStates(self._session.nodes, self._session.pods)
        said = [
            [
                *(ask(task, states) for ask in plugin.by_row),
                *(ask(task) for ask in (*plugin.once, *plugin.anew)),
            ]
            for plugin in self._answers.filters
        ]
        return [[refusal for answer in of_plugin for refusal in answer or ()] for of_plugin in said]

    # Equal tasks

    def best_run(self, count: int, among: Mask) -> list[int]:
        """The nodes for so many equal tasks, one after another; fewer where room ends.

        Each placement changes the score of its own node alone. So every node has a ladder: its score with
        none, one, two more of the tasks on it. A step that is better than the one before it is taken at once,
        so a step counts as much as the worst up to it, and all tasks together take the best steps of all.
        """
        rows = best_rows(np.where(among, self._scores[0], -np.inf), count)
        if not len(rows):
            return []
        most = self._most_on_any(rows, count)
        steps = min(2 + count // len(rows), most)
        while True:
            values = self._ladders(rows, steps).ravel()
            # Flattened, steps stand in the order of rows: the first row goes first among equals.
            taken = (-values).argsort(kind="stable")[: min(count, np.count_nonzero(values > -np.inf))]
            if steps == most or not (taken % steps == steps - 1).any():
                found: list[int] = rows[taken // steps].tolist()
                return found
            steps = min(2 * steps, most)

    def _most_on_any(self, rows: Indices, count: int) -> int:
        """Of so many tasks, at most this many find room on any one of these nodes."""
        idle, amounts = self._session.nodes.idle.T, self._task.shape.amounts
        scarce = [column for column in self._task.asked if amounts[column] > 0]
        return min([count, *[int(idle[one].take(rows).max()) // amounts[one] for one in scarce]])

    def _ladders(self, rows: Indices, steps: int) -> Floats:
        """What each of so many tasks would find on these nodes; -inf without room.   -> (rows, steps)"""
        values = np.empty((len(rows), steps))
        values[:, 0] = self._scores[0][rows]
        if steps > 1:
            values[:, 1:] = self._with_more(rows, steps - 1)
            np.minimum.accumulate(values, axis=1, out=values)
        return values

    def _with_more(self, rows: Indices, most: int) -> Floats:
        """The scores of these nodes with one, two and so on up to so many of the tasks on them."""
        session = self._session
        added: Counts = np.arange(len(rows) * most) % most + 1
        states = SupposedStates(session.nodes, session.pods, rows.repeat(most), self._task, added)
        found = self.evaluate(states)
        fits = found.fits_now & found.fits_later & found.is_open
        return np.where(fits, found.order + found.batch, -np.inf).reshape(len(rows), most)


def best_rows(scores: Floats, count: int) -> Indices:
    """The best rows that have a score, first among equals, in row order: so many tasks take no others."""
    rows: Indices = (scores > -np.inf).nonzero()[0]
    if len(rows) <= count:
        return rows
    values = scores[rows]
    ordered = values.copy()
    ordered.partition(len(rows) - count)
    worst = ordered[len(rows) - count]
    better = values > worst
    better[(values == worst).nonzero()[0][: count - np.count_nonzero(better)]] = True
    found: Indices = rows[better]
    return found


def _at(scores: Floats | float, rows: Rows) -> Floats | float:
    return scores[rows] if isinstance(scores, np.ndarray) else scores
