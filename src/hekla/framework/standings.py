"""Standings: every request's scores of the nodes that have room for it, put right for all requests at once.

Where every job asks for something else, a sheet is looked at once in a hundred placements, and then
a hundred of its rows have to be put right. Here it is done the other way round: after a placement the
one node that it changed is held against all requests together. If another node looks just the same or
has done so, as is often the case, what is known of that one is taken over; else it is worked out in a few
operations on arrays that are as long as there are requests. What is left is to find the highest score.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from hekla.framework.sheets import Outlook, Sheet
from hekla.ledger.arrays import Counts, Floats
from hekla.ledger.requests import Requests, kind_of

if TYPE_CHECKING:
    from hekla.framework.fitting import Fitting
    from hekla.framework.session import Session
    from hekla.framework.task_class import TaskClass

ROWS_PER_SHEET = 4
"""With more rows changed than that, putting each sheet right by itself once it is looked at is no dearer."""
FEW_SHEETS = 2
"""For no more sheets than that, putting each right for a row by itself is cheaper than asking all at once."""
MEMORY_FOR_STANDINGS = 2**26
MOST_LOOKS = 2**12
"""What is said of so many looks is kept."""

Look = tuple[bytes, ...]
"""All that the ledgers say of a node."""


class Standings:
    """Boards of sheets, by the resources that they ask for."""

    def __init__(self, fitting: Fitting) -> None:
        self._fitting = fitting
        self._boards: dict[Hashable, Board] = {}
        self._board_of: dict[Sheet, Board] = {}
        self._most = MEMORY_FOR_STANDINGS // (8 * max(len(fitting.session.nodes), 1))

    def best(self, known: TaskClass) -> int | None:
        """The node with room now that tasks of this class like best, the first among equals."""
        board = self._board_of.get(known.sheet) or self._place(known.sheet)
        return board.best(known.sheet, known.handicaps)

    def _place(self, sheet: Sheet) -> Board:
        if len(self._board_of) >= self._most:
            self._boards.clear()
            self._board_of.clear()
        kind = kind_of(sheet.task)
        board = self._boards.get(kind)
        if board is None:
            board = self._boards[kind] = Board(self._fitting)
        self._board_of[sheet] = board
        return board


class Board:
    """One line of scores for each sheet that asks for the same resources; -inf where a node has no room."""

    def __init__(self, fitting: Fitting) -> None:
        self._fitting = fitting
        self._nodes = fitting.session.nodes
        self._changed = self._nodes.changed
        self._seen = len(self._changed)
        self._looks = Looks(fitting.session)
        self._lines: dict[Sheet, int] = {}
        self._scores: Floats = np.empty((8, len(self._nodes)))
        self._sums: Floats = np.empty(len(self._nodes))
        self._requests: Requests | None = None
        self._crowd: Crowd | None = None

    def best(self, sheet: Sheet, handicaps: Floats | None) -> int | None:
        self._catch_up()
        line = self._lines.get(sheet)
        if line is None:
            line = self._add(sheet)
        scores = self._scores[line]
        if handicaps is not None:
            scores = np.add(scores, handicaps, out=self._sums)
        row = int(scores.argmax())
        return None if scores[row] == -np.inf else row

    def _add(self, sheet: Sheet) -> int:
        line = self._lines[sheet] = len(self._lines)
        if line == len(self._scores):
            self._scores = np.concatenate([self._scores, np.empty_like(self._scores)])
        sheet.refresh()
        self._scores[line] = with_room(sheet.known)
        if self._requests is None:
            self._requests = Requests(sheet.task)
        else:
            self._requests.add(sheet.task)
        self._crowd = None
        return line

    def _catch_up(self) -> None:
        """Put right what has changed since somebody last looked."""
        if self._seen == len(self._changed):
            return
        rows = set(self._changed[self._seen :])
        self._seen = len(self._changed)
        if len(rows) > ROWS_PER_SHEET * len(self._lines):
            self._lines.clear()
            self._requests = None
        if self._requests is None:
            self._looks.forget()
            return
        count = len(self._lines)
        if count <= FEW_SHEETS:
            self._looks.forget()
            for sheet, line in self._lines.items():
                sheet.refresh()
                for row in rows:
                    self._scores[line, row] = score_with_room(sheet.known, row)
            return
        new_ones, twins = self._looks.sorted_out(rows)
        if new_ones:
            if self._crowd is None:
                self._crowd = Crowd(self._fitting, self._requests)
            for row in new_ones:
                self._scores[:count, row] = self._crowd.scores(row, self._looks.of(row))
        for row, twin in twins:
            self._scores[:count, row] = self._scores[:count, twin]


class Looks:
    """What nodes look like to plugins that go by the ledgers alone: those that look the same are twins."""

    def __init__(self, session: Session) -> None:
        self._nodes, self._pods = session.nodes, session.pods
        self._build_of_row: dict[int, bytes] = {}
        self._look_of_row: dict[int, Look] = {}
        self._row_of_look: dict[Look, int] = {}

    def forget(self) -> None:
        self._look_of_row.clear()
        self._row_of_look.clear()

    def sorted_out(self, rows: set[int]) -> tuple[list[int], list[tuple[int, int]]]:
        """Of rows that have changed: those that look new, and those that look like another, with that one."""
        new_ones: list[int] = []
        twins: list[tuple[int, int]] = []
        for row in rows:
            look = self._look_of(row)
            if self._look_of_row.get(row) == look:
                continue
            self._look_of_row[row] = look
            twin = self._row_of_look.get(look)
            if twin is None or twin in rows or self._look_of_row[twin] != look:
                self._row_of_look[look] = row
                new_ones.append(row)
            else:
                twins.append((row, twin))
        return new_ones, twins

    def of(self, row: int) -> Look:
        """What a row that was sorted out looks like."""
        return self._look_of_row[row]

    def _look_of(self, row: int) -> Look:
        nodes, pods = self._nodes, self._pods
        return (
            self._build_of(row),
            nodes.idle[row].tobytes(),
            nodes.future[row].tobytes() if nodes.has_promises else b"",
            pods.requested[row].tobytes(),
            pods.nonzero[row].tobytes(),
            pods.count[row].tobytes(),
        )

    def _build_of(self, row: int) -> bytes:
        """What does not change: all that the node has."""
        build = self._build_of_row.get(row)
        if build is None:
            tables = (self._nodes.allocatable, self._nodes.pod_limit, self._pods.allocatable)
            build = self._build_of_row[row] = b"".join([table[row].tobytes() for table in tables])
        return build


class Crowd:
    """All sheets of a board, asked about a node at once; what they said of nodes that look alike is kept."""

    def __init__(self, fitting: Fitting, requests: Requests) -> None:
        self._nodes = fitting.session.nodes
        self._refuse = [form(requests) for judge in fitting.judges for form in judge.for_many]
        self._score = [form(requests) for form in (*fitting.order.for_many, *fitting.batch.for_many)]
        self._needs = [(column, requests.vectors[column]) for column in requests.compared]
        self._most = [(column, int(amounts.max())) for column, amounts in self._needs]
        self._zero: Counts = np.zeros(len(requests), dtype=np.int64)
        self._nobody: Floats = np.full(len(requests), -np.inf)
        self._said_of: dict[Look, Counts | Floats] = {}

    def scores(self, row: int, look: Look) -> Counts | Floats:
        """What each of them gives the node; -inf where it is refused or lacks room.   ->   (sheets,)"""
        said = self._said_of.get(look)
        if said is None:
            if len(self._said_of) >= MOST_LOOKS:
                self._said_of.clear()
            said = self._said_of[look] = self._scores_of(row)
        return said

    def _scores_of(self, row: int) -> Counts | Floats:
        if any([refuses(row) for refuses in self._refuse]):
            return self._nobody
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


def with_room(known: Outlook) -> Floats:
    """Scores, -inf where a node is refused or has no room now."""
    scores = known.order + known.batch
    return np.where(known.is_open & known.fits_now & known.fits_later, scores, -np.inf)


def score_with_room(known: Outlook, row: int) -> float:
    """The same for one row."""
    if not (known.is_open[row] and known.fits_now[row] and known.fits_later[row]):
        return -np.inf
    order, batch = known.order, known.batch
    return (order if isinstance(order, float) else order[row]) + (
        batch if isinstance(batch, float) else batch[row]
    )
