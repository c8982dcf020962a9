"""Standings: every request's scores of the nodes that have room for it, kept by what nodes look like.

A score that goes by the request and by what the ledgers say of a node is the same for all nodes that look
alike, in this cycle and in later ones. So it is worked out once for each look; what is left is to find
the node whose look has the highest score. Where many requests come in turn, a look that is new is held
against all of them at once, by a formula over arrays that are as long as there are requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, isnan
from typing import TYPE_CHECKING

import numpy as np

from hekla.engine.framework.opinions import total
from hekla.engine.framework.sheets import needs_of, only
from hekla.engine.ledger.arrays import Floats, Indices
from hekla.engine.ledger.formulas import Sum
from hekla.engine.ledger.looks import Board, Looks
from hekla.engine.ledger.requests import Requests
from hekla.engine.ledger.states import NodeStates
from hekla.engine.model.task import Task

if TYPE_CHECKING:
    from hekla.engine.framework.fitting import Fitting
    from hekla.engine.framework.task_class import TaskClass

FEW_LOOKS = 4
"""Up to so many looks are worked out one by one: an array of one costs ten plain numbers."""
LOOKS_PER_REQUEST = 8
"""So many looks are worked out for all requests in the time in which all looks are for one."""
FEW_LATECOMERS = 8
"""One in so many; what looks are worth to these is worked out for one request at a time."""
MANY_QUESTIONS = 16
"""A session that has met so many new looks, or is going to, asks what they are worth to all requests."""


class Standings:
    """Finds the best node; -inf stands for nodes that refuse a request or have no room for it now."""

    def __init__(self, fitting: Fitting) -> None:
        self._fitting = fitting
        self._nodes, self._pods = fitting.session.nodes, fitting.session.pods
        self._looks = fitting.session.snapshot.state.looks
        self._questions = 0
        self._crowds: dict[Board, Crowd] = {}
        self._asking: dict[Board, set[int]] = {}
        self.scores: Floats = np.empty(len(self._nodes))
        """Those of all nodes for the line that was asked last."""

    def expect(self, requests: Iterable[Task], count: int) -> None:
        """So many tasks with such requests are going to come."""
        self._questions += count
        self._looks.of_rows()
        for task in requests:
            self.place_of(task)

    def place_of(self, task: Task) -> tuple[Board, int]:
        """The board that speaks of a request, and its line there: somebody is going to ask."""
        board = self._looks.board(self._fitting.board_key(task))
        line = board.line_of(self._fitting.request_key(task), task.weight)
        self._asking.setdefault(board, set()).add(line)
        return board, line

    def line_of(self, task: Task, known: TaskClass) -> Line:
        """What they tell tasks of this class; `refresh` brings it up to date, and comes first."""
        if known.line is None:
            if self._looks.take_too_much():
                self._looks.start_anew()
            known.line = Line(self, self._looks, task, known)
        return known.line

    def learn(self, board: Board) -> None:
        """Work out what new looks are worth to all requests, where it is likely that many ask for them."""
        board.make_room_for(self._looks.count)
        fresh, board.met = self._looks.since(board.met), self._looks.count
        self._questions += len(fresh)
        if self._is_worth_asking_all(board, len(fresh)):
            self._ask_all(board, fresh)

    def fill_in(self, task: Task, board: Board, line: int, rows: Indices) -> None:
        """Work out what the looks of these rows are worth, which nobody did before."""
        looks, rows = self._looks.rows_by_look(rows)
        self._questions += len(looks)
        asks_all = self._is_worth_asking_all(board, len(looks)) and board.knows_little_of(looks)
        if asks_all and line < self._crowd_of(board).size:
            self._ask_all(board, list(zip(looks.tolist(), rows.tolist(), strict=True)))
        elif len(looks) <= FEW_LOOKS:
            for look, row in zip(looks.tolist(), rows.tolist(), strict=True):
                board.said[line, look] = self._worth_of_one(task, row)
        else:
            board.said[line, looks] = self._worth_of_many(task, rows)

    def _is_worth_asking_all(self, board: Board, looks: int) -> bool:
        return self._questions > MANY_QUESTIONS and looks <= LOOKS_PER_REQUEST * len(self._asking[board])

    def _ask_all(self, board: Board, looks: Sequence[tuple[int, int]]) -> None:
        """What looks, each known by a row that has it, are worth to all requests of the board."""
        crowd = self._crowd_of(board)
        if len(looks) > FEW_LOOKS:
            numbers, rows = zip(*looks, strict=True)
            board.said[: crowd.size, numbers] = crowd.scores_of_many(rows).T
            return
        for look, row in looks:
            board.said[: crowd.size, look] = crowd.scores(row)

    def _crowd_of(self, board: Board) -> Crowd:
        """All its requests, but for a few latecomers: it takes a while to stand side by side."""
        crowd = self._crowds.get(board)
        if crowd is None or len(board) > crowd.size + crowd.size // FEW_LATECOMERS:
            board.make_room_for(self._looks.count)
            crowd = self._crowds[board] = Crowd(self._fitting, board.requests())
        return crowd

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

    def __init__(self, standings: Standings, looks: Looks, task: Task, known: TaskClass) -> None:
        self._standings = standings
        self._all_looks = looks
        self._task = task
        self._handicaps = known.handicaps
        self._scores = standings.scores
        self._beginning = -1

    def refresh(self) -> None:
        """Take over what nodes look like now; holds until another line is asked."""
        self._look()
        # Nothing is out of range: numpy is told to clip because it need not prepare for errors then.
        self._board.said[self._number].take(self._looks, out=self._scores, mode="clip")
        if self._handicaps is not None:
            np.add(self._scores, self._handicaps, out=self._scores)

    def best(self) -> int | None:
        """The node with room now that they like best, the first among equals."""
        scores = self._scores
        row = int(scores.argmax())
        best = scores.item(row)
        if isnan(best):
            unknown = np.flatnonzero(np.isnan(scores))
            self._standings.fill_in(self._task, self._board, self._number, unknown)
            self.refresh()
            row = int(scores.argmax())
            best = scores.item(row)
        return None if best == -inf else row

    def taken(self, row: int) -> None:
        """One of them was put there: nothing else has changed since the last look."""
        self._look()
        score = self._board.said.item(self._number, self._looks.item(row))
        self._scores[row] = score if self._handicaps is None else score + self._handicaps.item(row)

    def _look(self) -> None:
        looks = self._all_looks
        self._looks = looks.of_rows()
        if self._beginning != looks.beginning:
            self._find_board()
        if self._board.met != looks.count:
            self._standings.learn(self._board)

    def _find_board(self) -> None:
        self._beginning = self._all_looks.beginning
        self._board, self._number = self._standings.place_of(self._task)
        self._board.make_room_for(self._all_looks.count)


class Crowd:
    """All requests of a board, asked about a node at once."""

    def __init__(self, fitting: Fitting, requests: Requests) -> None:
        self.size = len(requests)
        self._nodes = fitting.session.nodes
        self._refuse = [form(requests) for judge in fitting.judges for form in judge.for_many]
        self._needs = {column: requests.vectors[column] for column in requests.compared}
        self._least = [(column, int(needs.min())) for column, needs in self._needs.items()]
        self._most = [(column, int(needs.max())) for column, needs in self._needs.items()]
        self._sum = Sum([form(requests) for form in (*fitting.order.for_many, *fitting.batch.for_many)])

    def scores(self, row: int) -> Floats | float:
        """What each of them gives the node; -inf where it is refused or lacks room.   ->   (requests,)"""
        free = self._room_on(row)
        if self._is_closed(row, free):
            return -inf
        scores = self._sum.at(row)
        for column, most in self._most:
            if free[column] < most:
                scores = np.where(self._needs[column] > free[column], -inf, scores)
        return scores

    def scores_of_many(self, rows: Sequence[int]) -> Floats:
        """The same.   ->   (rows, requests)"""
        room = {row: free for row in rows if not self._is_closed(row, free := self._room_on(row))}
        open_rows, scores = list(room), np.full((len(rows), self.size), -inf)
        places = np.array([place for place, row in enumerate(rows) if row in room], dtype=np.intp)
        for group, given in self._sum.of_many(open_rows):
            scores[places[group]] = given
        for column, needs in self._needs.items():
            free_on_each = np.array([free[column] for free in room.values()], dtype=np.int64)
            scores[places] = np.where(needs > free_on_each[:, None], -inf, scores[places])
        return scores

    def _is_closed(self, row: int, free: Sequence[int]) -> bool:
        """Whether it has room for none of them, or refuses them all."""
        for refuses in self._refuse:
            if refuses(row):
                return True
        for column, least in self._least:  # noqa: SIM110 - asked for every new look, and faster
            if free[column] < least:
                return True
        return False

    def _room_on(self, row: int) -> list[int]:
        """Of every resource: now, and once releases are done and promises kept where there are any."""
        now: list[int] = self._nodes.idle[row].tolist()
        return list(map(min, now, self._nodes.future[row].tolist())) if self._nodes.has_promises else now
