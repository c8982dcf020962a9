"""Looks: what the ledgers say of a node, as a number; nodes with the same number look the same.

Whoever goes by the ledgers alone says the same of nodes that look alike. So what is said is kept by look,
not by node: a node that changes takes over what was said of any other that looked like it, now or in an
earlier cycle, and a large cluster is worked out for the few looks that it has. They would not be few if it
showed how many pods a node runs, which hardly ever matters: it shows whether there is a place for one more.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np

from hekla.engine.ledger.arrays import Amounts, Floats, Indices, Mask
from hekla.engine.ledger.nodes import NodeLedger
from hekla.engine.ledger.pods import PodLedger
from hekla.engine.ledger.requests import Requests
from hekla.engine.model.task import Weight

MOST_LOOKS = 2**14
LOOKS_PER_NODE = 4
MEMORY_FOR_BOARDS = 2**26
"""Beyond these it is better to start anew."""
MOST_LIKELY = 2**12
"""A look for every node is likely, up to so many."""


class Board:
    """What is said of each look, a line for each request; NaN where nothing was said yet.

    All of the requests ask for the same resources, so that they can be held against a node together.
    """

    def __init__(self, likely: int) -> None:
        """So many looks there are likely to be, once there are tasks on nodes."""
        self.said: Floats = np.empty((0, likely))
        self.met = 0
        """How many looks it was told of."""
        self._ruled = 0
        """For how many there are lines to write on; what stands behind is not there yet."""
        self._line_of: dict[Hashable, int] = {}
        self._weights: list[Weight] = []

    def __len__(self) -> int:
        return len(self._line_of)

    def requests(self) -> Requests:
        """All that have a line, side by side."""
        return Requests(self._weights)

    def line_of(self, key: Hashable, weight: Weight) -> int:
        """The line of a request; the key tells requests apart."""
        line = self._line_of.get(key)
        if line is None:
            line = self._line_of[key] = len(self._line_of)
            self._weights.append(weight)
        return line

    def knows_little_of(self, looks: Indices) -> bool:
        """Whether most of its lines say nothing of these; else they were asked for, and few lines are new."""
        return bool(np.isnan(self.said[: len(self), looks]).mean() > 0.5)

    def make_room_for(self, looks: int) -> None:
        """All its lines are there, and wide enough.

        They are laid out wider than is needed, and seldom again: memory costs nothing before it is used.
        """
        lines, width = self.said.shape
        if len(self) > lines:
            self._lay_out(max(len(self), 2 * lines), width)
        if looks > width:
            self._lay_out(len(self.said), 2 * looks)
        if looks > self._ruled:
            further = min(looks + looks // 2, self.said.shape[1])
            self.said[:, self._ruled : further] = np.nan
            self._ruled = further

    def _lay_out(self, lines: int, width: int) -> None:
        before, self.said = self.said, np.empty((lines, width))
        self.said[:, : self._ruled] = np.nan
        self.said[: len(before), : self._ruled] = before[:, : self._ruled]

    @property
    def memory(self) -> int:
        """Bytes that are in use."""
        return len(self.said) * self._ruled * self.said.itemsize


class Looks:
    """The look of every node, and boards of what is said of looks; both stay true from cycle to cycle."""

    def __init__(self, nodes: NodeLedger, pods: PodLedger) -> None:
        self._nodes = nodes
        self._pods = pods
        self._of_row: Indices = np.zeros(0, dtype=np.intp)
        self._is_void = True
        self._outdated: set[int] = set()
        self._seen = 0
        self._number_of: dict[bytes, int] = {}
        self._first_row: list[int] = []
        self._builds: list[bytes] = []
        self._pod_limits: list[int] = []
        self._shown: list[Amounts] = []
        """For each ledger, 0 for the numbers that look the same whatever they are, and 1 for all others."""
        self._places: tuple[Amounts, ...] = ()
        """What is idle of places for pods, now and later."""
        self._boards: dict[Hashable, Board] = {}
        self.count = 0
        """How many different ones there have been."""
        self.beginning = 0
        """Grows when boards are given up for new ones."""

    def start_anew(self) -> None:
        """Nodes or resources are others than before."""
        self._is_void = True

    def changes_end(self) -> None:
        """The list of changed rows is about to be emptied."""
        self._outdated.update(self._nodes.changed[self._seen :])
        self._seen = 0

    def take_too_much(self) -> bool:
        """Whether there is so much by now that most of it is likely to be of the past."""
        too_many = max(MOST_LOOKS, LOOKS_PER_NODE * len(self._of_row))
        memory = sum(board.memory for board in self._boards.values())
        return self.count > too_many or memory > MEMORY_FOR_BOARDS

    def of_rows(self) -> Indices:
        """The look of every node now; do not change the array."""
        changed = self._nodes.changed
        if self._is_void:
            self._look_at_all()
        elif self._outdated:
            self._look_again(self._outdated.union(changed[self._seen :]))
        elif self._seen < len(changed):
            self._look_again(set(changed[self._seen :]))
        else:
            return self._of_row
        self._outdated.clear()
        self._seen = len(changed)
        return self._of_row

    def board(self, whose: Hashable) -> Board:
        """What these say of looks; whoever asks for it fills in what is missing."""
        board = self._boards.get(whose)
        if board is None:
            board = self._boards[whose] = Board(min(len(self._of_row), MOST_LIKELY))
        return board

    def since(self, count: int) -> list[tuple[int, int]]:
        """The looks that came after so many others, each with a row that still has it."""
        rows = enumerate(self._first_row[count:], count)
        return [(look, row) for look, row in rows if self._of_row.item(row) == look]

    def rows_by_look(self, rows: Indices) -> tuple[Indices, Indices]:
        """The different looks of these rows, and of each a row that has it."""
        row_of_look = np.full(self.count, -1, dtype=np.intp)
        row_of_look[self._of_row[rows]] = rows
        looks = np.flatnonzero(row_of_look >= 0)
        return looks, row_of_look[looks]

    def _look_at_all(self) -> None:
        self._boards.clear()
        self._number_of.clear()
        self._first_row.clear()
        self.count = 0
        self._is_void = False
        self.beginning += 1
        nodes, pods = self._nodes, self._pods
        self._builds = slices(np.column_stack([nodes.allocatable, pods.allocatable]))
        self._shown = [1 - ledger.counts_pods().astype(np.int64) for ledger in (nodes, pods)]
        states = slices(nodes.states * self._shown[0]), slices(pods.states * self._shown[1])
        self._pod_limits = nodes.pod_limit.tolist()
        self._places = idle, future = nodes.idle[:, nodes.axis.pods], nodes.future[:, nodes.axis.pods]
        is_full = np.column_stack([nodes.pod_limit <= pods.count, idle < 1, future < 1])
        looks = map(b"".join, zip(self._builds, *states, slices(is_full), strict=True))
        self._of_row = np.array([self._number(look, row) for row, look in enumerate(looks)], dtype=np.intp)

    def _look_again(self, rows: Iterable[int]) -> None:
        nodes, pods, number_of = self._nodes.states, self._pods.states, self._number_of
        builds, (of_node, of_pods), (idle, future) = self._builds, self._shown, self._places
        limits, count = self._pod_limits, self._pods.count
        for row in rows:
            states = (nodes[row] * of_node).tobytes() + (pods[row] * of_pods).tobytes()
            is_full = (limits[row] <= count.item(row), idle.item(row) < 1, future.item(row) < 1)
            look = builds[row] + states + bytes(is_full)
            number = number_of.get(look)
            self._of_row[row] = self._number(look, row) if number is None else number

    def _number(self, look: bytes, row: int) -> int:
        number = self._number_of.get(look)
        if number is None:
            number = self._number_of[look] = self.count
            self._first_row.append(row)
            self.count += 1
        return number


def slices(table: Amounts | Mask) -> list[bytes]:
    """Every row as it would lie in memory."""
    whole, width = table.tobytes(), table.shape[1] * table.itemsize
    return [whole[start : start + width] for start in range(0, len(whole), width)]
