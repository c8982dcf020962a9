"""Prospects: which nodes are worth a closer look when room is to be made by evicting tasks.

Both answers err on the side of looking: a node that they rule out would have been refused.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np

from hekla.framework.points import Point
from hekla.framework.session import Session
from hekla.ledger.arrays import Mask
from hekla.ledger.nodes import NodeLedger, covers
from hekla.model.task import Task

Filter = Callable[[Task], bool]


class Changes:
    """The rows that changed since it was last asked."""

    def __init__(self, nodes: NodeLedger) -> None:
        self._changed = nodes.changed
        self._seen = len(nodes.changed)

    def new(self) -> list[int]:
        rows = list(set(self._changed[self._seen :]))
        self._seen = len(self._changed)
        return rows


class RoomToFree:
    """What could be freed on each node at most, for all who could evict the same tasks.

    At first that is all that is used. A closer look makes a row exact, and any change there makes
    it vague again; so it is never too little.
    """

    def __init__(self, session: Session, may_go: Filter) -> None:
        self._session = session
        self._may_go = may_go
        self._most = session.nodes.used.copy(order="F")
        self._exact: set[int] = set()
        self._changes = Changes(session.nodes)

    def rows_for(self, task: Task) -> Mask:
        """Nodes that could hold the task if all that may go went; a mask of its own."""
        if not self._session.shortcuts.upper_bounds:
            return self._everywhere()
        self._forget_changes()
        return covers(self._session.nodes.future + self._most, task)

    def rows_with_anybody(self) -> Mask:
        """Nodes on which there may be somebody to go at all; a mask of its own."""
        if not self._session.shortcuts.upper_bounds:
            return self._everywhere()
        self._forget_changes()
        return np.asarray(self._most[:, self._session.axis.pods] > 0)

    def _everywhere(self) -> Mask:
        return np.ones(len(self._session.nodes), dtype=np.bool_)

    def _forget_changes(self) -> None:
        if rows := self._changes.new():
            self._most[rows] = self._session.nodes.used[rows]
            self._exact.difference_update(rows)

    def look_at(self, row: int) -> None:
        """Work out what may go from this node."""
        self._forget_changes()
        if row in self._exact:
            return
        on_node = self._session.nodes.tasks_on[row].values()
        self._most[row] = sum([task.vector for task in on_node if self._may_go(task)])
        self._exact.add(row)


class BarrenNodes:
    """Nodes that stay refused to tasks of one job, whoever else of it is given room.

    Lives while room is made for that job: meanwhile it only gains, and all others only lose.
    """

    def __init__(self, session: Session, point: Point) -> None:
        self._session = session
        self._point = point
        self._of_class: dict[Hashable, Mask] = {}
        self._changes = Changes(session.nodes)

    def rows_for(self, task: Task) -> Mask:
        """The nodes not to be looked at for this task; do not change the mask."""
        self._forget_changes()
        key = self._session.fitting.key_of(task)
        known = self._of_class.get(key)
        if known is None:
            known = self._of_class[key] = np.zeros(len(self._session.nodes), dtype=np.bool_)
        return known

    def look_at(self, task: Task, row: int, candidates: list[Task]) -> None:
        """A node has refused the task: remember it where it would do so again."""
        session = self._session
        if session.shortcuts.upper_bounds:
            most = session.most_victims(self._point, task, candidates)
            if not any(fits_with(session, task, row, victims) for victims in most):
                self.rows_for(task)[row] = True

    def _forget_changes(self) -> None:
        if rows := self._changes.new():
            for mask in self._of_class.values():
                mask[rows] = False


def fits_with(session: Session, task: Task, row: int, victims: list[Task]) -> bool:
    """Would the node hold the task with these victims gone?"""
    room, need = session.nodes.future[row].tolist(), task.vector.tolist()
    gone = [victim.vector.tolist() for victim in victims]
    return all(room[at] + sum([amounts[at] for amounts in gone]) >= need[at] for at in task.asked)
