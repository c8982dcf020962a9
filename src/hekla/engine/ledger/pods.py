"""Pod ledger: who is on which node, as Kubernetes' own filters and scores see it.

It differs from the node ledger on purpose: a pod that is promised room counts here at once,
a pod that is being evicted no longer does, and oversubscription is not known here. Only the
`predicates` plugin moves pods in it; without that plugin it stays as it was at session open.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import TypeVar, cast

import numpy as np

from hekla.engine.ledger.arrays import (
    Amounts,
    Counts,
    Indices,
    laid_anew,
    side_by_side,
    widened,
)
from hekla.engine.ledger.axis import Axis
from hekla.engine.ledger.nodes import ADDED_UP, NodeLedger
from hekla.engine.ledger.tally import Tally, Thing
from hekla.engine.model.node import NodeInfo
from hekla.engine.model.task import NOWHERE, Task

Weigh = Callable[[Task], int]
Places = Sequence[int]
Made = TypeVar("Made")

_shape_of = attrgetter("shape")


class PodLedger:
    """Requests per node, and live counts of pods that match something."""

    def __init__(self, nodes: NodeLedger) -> None:
        count = len(nodes)
        self._nodes = nodes
        self._axis = nodes.axis
        self.allocatable: Amounts = nodes.axis.matrix((node.reported for node in nodes.nodes), count)
        self._take(np.zeros_like(self.allocatable), np.zeros((count, 3), dtype=np.int64))
        self.is_kept = False
        """Whether a plugin moves pods in it, so that it follows what the session does."""
        self.pods_on: list[dict[str, Task]] = [{} for _ in range(count)]
        self._counters: dict[Hashable, Counts] = {}
        self._for_all: list[tuple[Weigh, Counts]] = []
        self._for_label: dict[tuple[str, str], list[tuple[Weigh, Counts]]] = {}
        self._tallies: dict[Hashable, Tally[Hashable]] = {}
        self._derived: dict[Hashable, object] = {}

    # Facts

    def derived(self, make: Callable[[Amounts, Places], Made], places: Places) -> Made:
        """What follows from what nodes have in these columns, made once and kept until a node changes."""
        key = (make, tuple(places))
        if key not in self._derived:
            self._derived[key] = make(self.allocatable, places)
        return cast("Made", self._derived[key])

    def replace(self, nodes: Mapping[int, NodeInfo]) -> None:
        """Nodes look different now, by row; what is on them stays."""
        self._derived.clear()
        for row, node in nodes.items():
            self.allocatable[row] = self._nodes.axis.vector(node.reported)

    def lay_anew(self, rows: Indices) -> None:
        """The nodes are those of the node ledger now; `rows` says where each stood before, or NOWHERE."""
        nodes = self._nodes
        self._derived.clear()
        self.allocatable = nodes.axis.matrix((node.reported for node in nodes.nodes), len(nodes))
        self._take(laid_anew(self.requested, rows), laid_anew(self._others, rows))
        self.pods_on = [{} if row == NOWHERE else self.pods_on[row] for row in rows.tolist()]

    def widen(self, axis: Axis) -> None:
        """There are other resources than before."""
        moves = axis.moves_from(self._axis)
        self._axis = axis
        self._derived.clear()
        self.allocatable = widened(self.allocatable, *moves, len(axis))
        self._take(widened(self.requested, *moves, len(axis)), self._others)

    def _take(self, requested: Amounts, others: Amounts) -> None:
        self.states, (self.requested, self._others) = side_by_side(requested, others)
        self.nonzero: Amounts = self._others[:, :2]
        self.count: Counts = self._others[:, 2]

    def bring_back(self, tasks: Iterable[Task]) -> None:
        """Each of the tasks that was supposed to be gone is where it was."""
        if gone := [t for t in tasks if t.node != NOWHERE and t.key not in self.pods_on[t.node]]:
            self.add_all(gone)

    def stop_counting(self) -> None:
        """The live counts are not looked at any more."""
        self._counters, self._for_all, self._for_label, self._tallies = {}, [], {}, {}

    # Placements

    def add(self, task: Task, row: int) -> None:
        self.pods_on[row][task.key] = task
        self._move(task, row, 1)

    def add_all(self, tasks: Sequence[Task]) -> None:
        """Pods, each on the node of its task; it is quickest where those alike come together."""
        for task in tasks:
            self.pods_on[task.node][task.key] = task
        self._move_all(tasks, 1)

    def remove(self, task: Task, row: int) -> None:
        if self.pods_on[row].pop(task.key, None) is not None:
            self._move(task, row, -1)

    def remove_all(self, tasks: Iterable[Task]) -> None:
        """Pods, each from the node of its task, where it is there."""
        there = [task for task in tasks if self.pods_on[task.node].pop(task.key, None) is not None]
        self._move_all(there, -1)

    def _move(self, task: Task, row: int, sign: int) -> None:
        states = self.states[row]
        if sign > 0:
            states += task.shape.among_pods
        else:
            states -= task.shape.among_pods
        self._follow(task, row, sign)
        self._nodes.journal.note(row)

    def _move_all(self, tasks: Sequence[Task], sign: int) -> None:
        for shape, alike in groupby(tasks, key=_shape_of):
            rows = np.array([task.node for task in alike], dtype=np.intp)
            ADDED_UP[sign](self.states, rows, shape.among_pods)
            self._nodes.journal.note_all(rows)
        if self._counters or self._tallies:
            for task in tasks:
                self._follow(task, task.node, sign)

    def _follow(self, task: Task, row: int, sign: int) -> None:
        """Live counts follow a pod that comes or goes."""
        for weigh, counts in self._for_all:
            if weight := weigh(task):
                counts[row] += sign * weight
        if self._for_label:
            for label in task.pod.metadata.labels.items():
                for weigh, counts in self._for_label.get(label, ()):
                    counts[row] += sign * weigh(task)
        for tally in self._tallies.values():
            tally.move(task, row, sign)

    def holds(self, task: Task) -> bool:
        return task.node != NOWHERE and task.key in self.pods_on[task.node]

    def counter(self, key: Hashable, weigh: Weigh, *, label: tuple[str, str] | None = None) -> Counts:
        """A live count per node of what `weigh` gives for each pod on it; counted once per key.

        Where a pod weighs something only if it carries `label`, saying so spares asking for all
        others. Do not change the array that comes back.
        """
        if key not in self._counters:
            counts = self._counters[key] = np.zeros(len(self.pods_on), dtype=np.int64)
            for row, pods in enumerate(self.pods_on):
                for task in pods.values():
                    counts[row] += weigh(task)
            asked = self._for_all if label is None else self._for_label.setdefault(label, [])
            asked.append((weigh, counts))
        return self._counters[key]

    def tally(
        self, key: Hashable, things_of: Callable[[Task], Iterable[Thing]], among: Iterable[Task]
    ) -> Tally[Thing]:
        """Live counts per node of all that `things_of` names for each pod on it; one per key.

        At first only the tasks in `among` are looked at: others carry nothing.
        """
        if key not in self._tallies:
            tally = Tally(things_of, len(self.pods_on))
            for task in filter(self.holds, among):
                tally.move(task, task.node, 1)
            self._tallies[key] = cast("Tally[Hashable]", tally)
        return cast("Tally[Thing]", self._tallies[key])
