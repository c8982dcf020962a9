"""Node ledger: what every node has, has given away, and will get back.

A placement changes one row, and says so in the journal, so that answers that are kept per node
are worked out again for those rows. All amounts are whole numbers: taking back what
was added restores a row exactly, in whatever order operations are undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import TypeVar, cast

import numpy as np

from hekla.engine.ledger.arrays import (
    Amounts,
    Counts,
    Indices,
    Mask,
    laid_anew,
    side_by_side,
    widened,
)
from hekla.engine.ledger.axis import Axis
from hekla.engine.ledger.labels import NodeLabels
from hekla.engine.model.node import NodeInfo
from hekla.engine.model.status import Status
from hekla.engine.model.task import NOWHERE, Task
from hekla.errors import BrokenPromise

Thing = TypeVar("Thing")

ADDED_UP = {1: np.add.at, -1: np.subtract.at}
"""By sign, what changes rows of a table; a row may come more than once."""
_counted_by = attrgetter("shape", "status")


class Journal:
    """Which rows have changed since a given moment."""

    def __init__(self, rows: int) -> None:
        self.now = 0
        """Counts changes."""
        self.version = 0
        """Equal as long as every node is as it was; a number that was left is not used again."""
        self._latest: Counts = np.zeros(rows, dtype=np.int64)
        """By row the last time that it changed."""

    def note(self, row: int) -> None:
        self.now = self.version = self.now + 1
        self._latest[row] = self.now

    def note_all(self, rows: Indices) -> None:
        self.now = self.version = self.now + 1
        self._latest[rows] = self.now

    def back_to(self, version: int) -> None:
        """All changes since then are undone: every node is as it was."""
        self.version = version

    def since(self, moment: int) -> Indices:
        """In order, each once."""
        return (self._latest > moment).nonzero()[0]


class NodeLedger:
    """One row per node, in snapshot order; `future` is what will be idle once releases are done."""

    def __init__(self, nodes: Sequence[NodeInfo], axis: Axis) -> None:
        count = len(nodes)
        self.axis = axis
        self.nodes = list(nodes)
        self._learn()
        self.allocatable = axis.matrix((node.allocatable for node in nodes), count)
        self._take(self.allocatable, np.zeros_like(self.allocatable), self.allocatable)
        self.releasing = np.zeros_like(self.allocatable, order="F")
        self.pipelined = np.zeros_like(self.allocatable, order="F")
        self._sum_up()
        self.pod_limit = np.array([node.pod_limit for node in nodes], dtype=np.int64)
        self.tasks_on: list[dict[str, Task]] = [{} for _ in nodes]
        self.journal = Journal(count)
        self.has_promises = False
        """Whether anything was ever released or promised; else the future is what is idle now."""

    def __len__(self) -> int:
        return len(self.names)

    # Facts

    def derived(self, make: Callable[[Sequence[NodeInfo]], Thing]) -> Thing:
        """What follows from the node objects alone, made once and kept until one of them changes."""
        if make not in self._derived:
            self._derived[make] = make(self.nodes)
        return cast("Thing", self._derived[make])

    def replace(self, nodes: Mapping[int, NodeInfo]) -> None:
        """Nodes look different now, by row; what is on them stays."""
        for row, node in nodes.items():
            self.nodes[row] = node
            self.pod_limit[row] = node.pod_limit
            more = self.axis.vector(node.allocatable) - self.allocatable[row]
            if more.any():
                self.journal.note(row)
            for table in (self.allocatable, self.idle, self.future):
                table[row] += more
        self._learn()
        self._sum_up()

    def lay_anew(self, nodes: Sequence[NodeInfo], rows: Indices) -> list[Task]:
        """These are the nodes from now on; `rows` says where each stood before, or NOWHERE.

        Tasks on nodes that are gone are handed back, on no row.
        """
        gone = set(range(len(self))) - set(rows.tolist())
        stranded = [task for row in gone for task in self.tasks_on[row].values()]
        before = self.allocatable
        self.allocatable = self.axis.matrix((node.allocatable for node in nodes), len(nodes))
        more = self.allocatable - laid_anew(before, rows)
        idle, used, future = (laid_anew(table, rows) for table in (self.idle, self.used, self.future))
        self._take(idle + more, used, future + more)
        self.releasing = laid_anew(self.releasing, rows)
        self.pipelined = laid_anew(self.pipelined, rows)
        self.tasks_on = [{} if row == NOWHERE else self.tasks_on[row] for row in rows.tolist()]
        self.nodes = list(nodes)
        self.journal = Journal(len(nodes))
        self.pod_limit = np.array([node.pod_limit for node in nodes], dtype=np.int64)
        self._learn()
        self._sum_up()
        for row, tasks in enumerate(self.tasks_on):
            for task in tasks.values():
                task.node = row
        for task in stranded:
            task.node = NOWHERE
        return stranded

    def widen(self, axis: Axis) -> None:
        """There are other resources than before."""
        moves = axis.moves_from(self.axis)
        self.axis = axis
        self._take(*(widened(table, *moves, len(axis)) for table in (self.idle, self.used, self.future)))
        self.allocatable, self.releasing, self.pipelined = (
            widened(table, *moves, len(axis)) for table in (self.allocatable, self.releasing, self.pipelined)
        )
        self._sum_up()

    def _take(self, idle: Amounts, used: Amounts, future: Amounts) -> None:
        self.states, (self.idle, self.used, self.future) = side_by_side(idle, used, future)

    def load(self, tasks: Sequence[Task]) -> None:
        """Put tasks on the nodes whose rows they know, all at once."""
        for task in tasks:
            self.tasks_on[task.node][task.key] = task
        self._count_all(tasks, 1)

    def _learn(self) -> None:
        self.names = [node.name for node in self.nodes]
        self.row_of = {name: row for row, name in enumerate(self.names)}
        self.labels = NodeLabels([node.labels for node in self.nodes], self.names)
        self._derived: dict[object, object] = {}

    def _sum_up(self) -> None:
        """What all nodes have together; placements keep it up to date, so that no rows need adding up."""
        self.total: Amounts = self.allocatable.sum(axis=0)
        self.used_in_all: Amounts = self.used.sum(axis=0)
        self.releasing_in_all: Amounts = self.releasing.sum(axis=0)

    # Placements

    def place(self, task: Task, row: int) -> None:
        """Put a task on a node, where its status says how it counts."""
        tasks = self.tasks_on[row]
        if task.key in tasks:
            raise BrokenPromise(f"task {task.key} is on node {self.names[row]} already ({task.status.name})")
        tasks[task.key] = task
        task.node, task.node_name = row, self.names[row]
        self._count(task, row, task.status, 1)

    def place_all(self, tasks: Sequence[Task], rows: Sequence[int]) -> None:
        """The same for many, of which several may go to one node."""
        for task, row in zip(tasks, rows, strict=True):
            on_it = self.tasks_on[row]
            if task.key in on_it:
                raise BrokenPromise(f"task {task.key} is on node {self.names[row]} already")
            on_it[task.key] = task
            task.node, task.node_name = row, self.names[row]
        self._count_all(tasks, 1)

    def lift(self, task: Task) -> None:
        """Take a task off its node again."""
        self._let_go(task)
        self._count(task, task.node, task.status, -1)
        task.node, task.node_name = NOWHERE, ""

    def lift_all(self, tasks: Sequence[Task]) -> None:
        """The same for many."""
        for task in tasks:
            self._let_go(task)
        self._count_all(tasks, -1)
        for task in tasks:
            task.node, task.node_name = NOWHERE, ""

    def _let_go(self, task: Task) -> None:
        if self.tasks_on[task.node].pop(task.key, None) is None:
            raise BrokenPromise(f"task {task.key} is not on node {self.names[task.node]}")

    def release(self, task: Task) -> None:
        """The task is being evicted: its place is promised to come back."""
        self._expect_back(task, task.vector)

    def keep(self, task: Task) -> None:
        """The eviction is off."""
        self._expect_back(task, -task.vector)

    def _expect_back(self, task: Task, amount: Amounts) -> None:
        # A task may run on a node that this session does not know: then no row gets anything back.
        if task.node != NOWHERE:
            self.has_promises = True
            self.releasing[task.node] += amount
            self.releasing_in_all += amount
            self.future[task.node] += amount
            self.journal.note(task.node)

    def _count(self, task: Task, row: int, status: Status, sign: int) -> None:
        if status is Status.PIPELINED or status is Status.RELEASING:
            self._count_promise(row, status, sign * task.vector)
        else:
            # A view of the row is changed: `self.states[row] += ...` would also copy it back into the table.
            states = self.states[row]
            if sign > 0:
                states += task.shape.on_node
                self.used_in_all += task.vector
            else:
                states -= task.shape.on_node
                self.used_in_all -= task.vector
        self.journal.note(row)

    def _count_all(self, tasks: Iterable[Task], sign: int) -> None:
        """Tasks come to the rows they know, or leave them; it is quickest where those alike come together."""
        for (shape, status), alike in groupby(tasks, key=_counted_by):
            rows = np.array([task.node for task in alike], dtype=np.intp)
            if status is Status.PIPELINED or status is Status.RELEASING:
                for row in rows.tolist():
                    self._count_promise(row, status, sign * shape.vector)
            else:
                ADDED_UP[sign](self.states, rows, shape.on_node)
                self.used_in_all += sign * len(rows) * shape.vector
            self.journal.note_all(rows)

    def _count_promise(self, row: int, status: Status, amount: Amounts) -> None:
        """Room that is promised is not taken yet, and room that is being released is still taken."""
        self.has_promises = True
        if status is Status.PIPELINED:
            self.pipelined[row] += amount
            self.future[row] -= amount
        else:
            self.idle[row] -= amount
            self.used[row] += amount
            self.used_in_all += amount
            self.releasing[row] += amount
            self.releasing_in_all += amount

    def can_hold(self, task: Task) -> Mask:
        """Nodes with room now."""
        return covers(self.idle.T, task)

    def will_hold(self, task: Task) -> Mask:
        """Nodes with room once what is being released is gone."""
        return covers(self.future.T, task)

    def fits_now(self, task: Task, row: int) -> bool:
        return bool((self.idle[row] >= task.vector)[list(task.asked)].all())

    def fits_later(self, task: Task, row: int) -> bool:
        return bool((self.future[row] >= task.vector)[list(task.asked)].all())


def covers(available: Counts, task: Task) -> Mask:
    """Where every resource that the task mentions is there in full.   available: (R, rows) -> (rows,)"""
    first, *others = task.asked
    amounts = task.shape.amounts
    fits: Mask = available[first] >= amounts[first]
    for column in others:
        fits &= available[column] >= amounts[column]
    return fits
