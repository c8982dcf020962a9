"""Standings: every request's scores of the nodes that have room for it, kept by what nodes look like.

A score that goes by the request and by what the ledgers say of a node is the same for all nodes that look
alike, in this cycle and in later ones. So it is worked out once for each look; what is left is to find
the node whose look has the highest score. Where many requests come in turn, a look that is new is held
against all of them at once, in a few operations on arrays that are as long as there are requests.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from math import isnan
from typing import TYPE_CHECKING

import numpy as np

from hekla.framework.opinions import total
from hekla.framework.sheets import needs_of, only
from hekla.ledger.arrays import Counts, Floats, Indices
from hekla.ledger.looks import Board
from hekla.ledger.requests import Requests
from hekla.ledger.states import NodeStates
from hekla.model.task import Task

if TYPE_CHECKING:
    from hekla.framework.fitting import Fitting
    from hekla.framework.task_class import TaskClass

FEW_LOOKS = 4
"""Up to so many looks are worked out one by one: an array of one costs ten plain numbers."""
MANY_QUESTIONS = 16
"""A session that has met so many new looks, or is going to, asks what they are worth to all requests."""


class Standings:
    """Finds the best node; -inf stands for nodes that refuse a request or have no room for it now."""

    def __init__(self, fitting: Fitting) -> None:
        self._fitting = fitting
        self._nodes, self._pods = fitting.session.nodes, fitting.session.pods
        self._looks = fitting.session.snapshot.state.looks
        self._questions = 0
        self._beginning = self._looks.beginning
        self._places: dict[TaskClass, tuple[Board, int]] = {}
        self._crowds: dict[Board, Crowd] = {}

    def expect(self, requests: Iterable[Task], count: int) -> None:
        """So many tasks with such requests are going to come."""
        self._questions += count
        self._looks.of_rows()
        for task in requests:
            board = self._looks.board(self._fitting.board_key(task))
            board.line_of(self._fitting.request_key(task), task)

    def line_of(self, task: Task, known: TaskClass) -> Line:
        """What they tell tasks of this class."""
        board, number = self._place_of(task, known)
        return Line(self, task, board, number, known.handicaps)

    def _place_of(self, task: Task, known: TaskClass) -> tuple[Board, int]:
        """The board that speaks of the request, and its line there."""
        place = self._places.get(known)
        if place is None or self._beginning != self._looks.beginning:
            if self._looks.take_too_much():
                self._looks.start_anew()
            self._looks.of_rows()
            if self._beginning != self._looks.beginning:
                self._beginning = self._looks.beginning
                self._places.clear()
            board = self._looks.board(known.board_key)
            place = self._places[known] = board, board.line_of(known.request_key, task)
        return place

    def looks(self, board: Board) -> Indices:
        """The look of every node now; the board has room for all of them."""
        looks = self._looks.of_rows()
        board.make_room_for(len(self._looks))
        return looks

    def fill_in(self, task: Task, board: Board, line: int, rows: Indices) -> None:
        """Work out what the looks of these rows are worth."""
        looks, rows = self._looks.rows_by_look(rows)
        if self._questions > MANY_QUESTIONS and len(looks) <= len(board):
            for look, row in zip(looks.tolist(), rows.tolist(), strict=True):
                self.work_out(task, board, line, look, row)
        else:
            board.said[line, looks] = self._worth_of_many(task, rows)

    def work_out(self, task: Task, board: Board, line: int, look: int, row: int) -> None:
        """What the look of this row is worth to all requests, or to this one where few are asked about."""
        self._questions += 1
        if self._questions <= MANY_QUESTIONS:
            board.said[line, look] = self._worth_of_one(task, row)
            return
        crowd = self._crowds.get(board)
        if crowd is None or crowd.size != len(board):
            crowd = self._crowds[board] = Crowd(self._fitting, board.requests)
        board.said[: crowd.size, look] = crowd.scores(row)

    def _worth_of_many(self, task: Task, rows: Indices) -> Floats:
        fitting = self._fitting
        states, needs = NodeStates(self._nodes, self._pods, rows), needs_of(task)
        fits = np.logical_and.reduce(states.idle >= needs)
        if self._nodes.has_promises:
            fits &= np.logical_and.reduce(states.future >= needs)
        for judge in fitting.judges:
            for ask in judge.by_row:
                for refusal in ask(task, states) or ():
                    fits &= ~refusal.nodes
        scores = total([ask(task, states) for ask in (*fitting.order.by_row, *fitting.batch.by_row)])
        return np.where(fits, scores, -np.inf)

    def _worth_of_one(self, task: Task, row: int) -> float:
        """The same for one row, in plain numbers."""
        fitting, nodes = self._fitting, self._nodes
        if not (nodes.fits_now(task, row) and nodes.fits_later(task, row)):
            return -np.inf
        states = NodeStates(nodes, self._pods, slice(row, row + 1), only=row)
        for judge in fitting.judges:
            for ask in judge.by_row:
                if any(refusal.nodes[0] for refusal in ask(task, states) or ()):
                    return -np.inf
        return sum([only(ask(task, states)) for ask in (*fitting.order.by_row, *fitting.batch.by_row)])


class Line:
    """The standings as tasks of one class see them, who are placed one after another."""

    def __init__(
        self, standings: Standings, task: Task, board: Board, number: int, handicaps: Floats | None
    ) -> None:
        self._standings = standings
        self._task = task
        self._board = board
        self._number = number
        self._handicaps = handicaps
        self._looks = standings.looks(board)
        self._scores = self._read()

    def best(self) -> int | None:
        """The node with room now that they like best, the first among equals."""
        scores = self._scores
        row = int(scores.argmax())
        # Where something is not a number, argmax finds that first: mostly just the node that was taken last.
        for _ in range(FEW_LOOKS):
            if not isnan(scores[row]):
                break
            self._work_out(row)
            row = int(scores.argmax())
        if isnan(scores[row]):
            self._standings.fill_in(self._task, self._board, self._number, np.flatnonzero(np.isnan(scores)))
            scores = self._scores = self._read()
            row = int(scores.argmax())
        return None if scores[row] == -np.inf else row

    def taken(self, row: int) -> None:
        """One of them was put there: nothing else has changed since the last look."""
        self._looks = self._standings.looks(self._board)
        self._scores[row] = self._worth_of(row)

    def _read(self) -> Floats:
        scores: Floats = self._board.said[self._number].take(self._looks)
        return scores if self._handicaps is None else np.add(scores, self._handicaps, out=scores)

    def _work_out(self, row: int) -> None:
        board, number, look = self._board, self._number, int(self._looks[row])
        if isnan(board.said[number, look]):
            self._standings.work_out(self._task, board, number, look, row)
        self._scores[row] = self._worth_of(row)

    def _worth_of(self, row: int) -> float:
        worth = float(self._board.said[self._number, self._looks[row]])
        return worth if self._handicaps is None else worth + float(self._handicaps[row])


class Crowd:
    """All requests of a board, asked about a node at once."""

    def __init__(self, fitting: Fitting, requests: Requests) -> None:
        self.size = len(requests)
        self._nodes = fitting.session.nodes
        self._refuse = [form(requests) for judge in fitting.judges for form in judge.for_many]
        self._score = [form(requests) for form in (*fitting.order.for_many, *fitting.batch.for_many)]
        self._needs = [(column, requests.vectors[column]) for column in requests.compared]
        self._most = [(column, int(amounts.max())) for column, amounts in self._needs]
        self._zero: Counts = np.zeros(len(requests), dtype=np.int64)

    def scores(self, row: int) -> Counts | Floats | float:
        """What each of them gives the node; -inf where it is refused or lacks room.   ->   (requests,)"""
        if any([refuses(row) for refuses in self._refuse]):
            return -np.inf
        scores: Counts | Floats = reduce(np.add, [score(row) for score in self._score], self._zero)
        for free in self._room_on(row):
            if any([free[column] < most for column, most in self._most]):
                for column, needs in self._needs:
                    scores = np.where(needs > free[column], -np.inf, scores)
        return scores

    def _room_on(self, row: int) -> list[list[int]]:
        """Now, and once releases are done and promises kept where there are any."""
        now = self._nodes.idle[row].tolist()
        return [now, self._nodes.future[row].tolist()] if self._nodes.has_promises else [now]
