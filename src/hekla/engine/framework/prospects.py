"""Prospects: which nodes are worth a closer look when room is to be made by evicting tasks.

No answer errs but on the side of looking: a node that is ruled out would have been refused.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np

from hekla.engine.framework.orders import by_name
from hekla.engine.framework.session import Session, VictimPoint
from hekla.engine.ledger.arrays import Amounts, Mask
from hekla.engine.ledger.nodes import NodeLedger, covers
from hekla.engine.model.task import Task

Filter = Callable[[Task], bool]
Shortage = dict[int, int]
"""How much is lacking, by column of the resource."""


class Changes:
    """The rows that changed since it was last asked."""

    def __init__(self, nodes: NodeLedger) -> None:
        self._journal = nodes.journal
        self._seen = nodes.journal.now

    def new(self) -> list[int]:
        if self._seen == self._journal.now:
            return []
        rows: list[int] = self._journal.since(self._seen).tolist()
        self._seen = self._journal.now
        return rows


class RoomToFree:
    """What could be freed on each node at most, for all who could evict the same tasks.

    At first that is all that is used. A closer look makes a row exact for whoever asks next, unless
    it has changed by then: any change makes a row vague again. So it is never too little.
    """

    def __init__(self, session: Session, may_go: Filter) -> None:
        self._session = session
        self._nodes = session.nodes
        self._may_go = may_go
        self._most = session.nodes.used.copy(order="F")
        self._movable: dict[int, list[Task]] = {}
        self._looked_at: set[int] = set()
        self._changes = Changes(session.nodes)
        self._asker: Task | None = None
        self._fits: Mask = self._everywhere()

    def rows_for(self, task: Task) -> Mask:
        """Nodes that could hold the task if all that may go went; do not change the mask."""
        if not self._session.shortcuts.bounds:
            return self._everywhere()
        self._catch_up()
        if self._asker is None or self._asker.vector is not task.vector or self._asker.asked != task.asked:
            self._fits = covers(self._nodes.future + self._most, task)
        self._asker = task
        return self._fits

    def rows_with_anybody(self) -> Mask:
        """Nodes on which there may be somebody to go at all; a mask of its own."""
        if not self._session.shortcuts.bounds:
            return self._everywhere()
        self._catch_up()
        return np.asarray(self._most[:, self._session.axis.pods] > 0)

    def _everywhere(self) -> Mask:
        return np.ones(len(self._nodes), dtype=np.bool_)

    def movable_on(self, row: int) -> list[Task]:
        """Whoever may go from this node, in order of their names; do not change the list."""
        self._forget_changes()
        known = self._movable.get(row)
        if known is None or not self._session.shortcuts.bounds:
            known = self._movable[row] = candidates_on(self._session, row, self._may_go)
            self._looked_at.add(row)
        return known

    def _catch_up(self) -> None:
        self._forget_changes()
        for row in self._looked_at:
            self._set(row, sum([task.vector for task in self._movable[row]]))
        self._looked_at.clear()

    def _forget_changes(self) -> None:
        for row in self._changes.new():
            self._movable.pop(row, None)
            self._looked_at.discard(row)
            self._set(row, self._nodes.used[row])

    def _set(self, row: int, most: Amounts | int) -> None:
        self._most[row] = most
        if self._asker is not None:
            room = (self._nodes.future[row] + most).tolist()
            need = self._asker.vector.tolist()
            self._fits[row] = all([room[at] >= need[at] for at in self._asker.asked])


class BarrenNodes:
    """Nodes that stay refused to tasks of one job, whoever else of it is given room.

    Lives while room is made for that job: meanwhile it only gains, and all others only lose. A job that loses
    a task may change its place in the order of jobs, and with it which candidates plugins name first.
    """

    def __init__(self, session: Session, point: VictimPoint) -> None:
        self._session = session
        self._point = point
        self._of_class: dict[Hashable, Mask] = {}
        self._changes = Changes(session.nodes)
        self._moves_of: dict[str, int] = {}
        """Of jobs that share a remembered node with others, how often their tasks had moved by then."""
        self._rows_of: dict[str, set[int]] = {}

    def rows_for(self, task: Task) -> Mask:
        """The nodes not to be looked at for this task; do not change the mask."""
        self._forget_changes()
        key = self._session.scoring.key_of(task)
        known = self._of_class.get(key)
        if known is None:
            known = self._of_class[key] = np.zeros(len(self._session.nodes), dtype=np.bool_)
        return known

    def look_at(self, task: Task, row: int, candidates: list[Task]) -> None:
        """A node has refused the task: remember it where it would do so again."""
        session = self._session
        if (
            not session.shortcuts.bounds
            or session.has_moving_task_order
            or session.dispatch.has_moving_job_order
        ):
            return
        most = session.most_victims(self._point, task, candidates)
        if not any(fits_with(session, task, row, victims) for victims in most):
            self.rows_for(task)[row] = True
            if len(candidates) > 1:
                self._note_order(row, {candidate.job for candidate in candidates})

    def _note_order(self, row: int, jobs: set[str]) -> None:
        for uid in jobs if len(jobs) > 1 else ():
            self._rows_of.setdefault(uid, set()).add(row)
            self._moves_of.setdefault(uid, self._moves(uid))

    def _moves(self, uid: str) -> int:
        job = self._session.jobs.get(uid)
        return 0 if job is None else job.roster.moves

    def _forget_changes(self) -> None:
        if rows := self._changes.new():
            for uid in self._moved_on(rows):
                del self._moves_of[uid]
                rows += self._rows_of.pop(uid)
            for mask in self._of_class.values():
                mask[rows] = False

    def _moved_on(self, rows: list[int]) -> set[str]:
        """Of the jobs that are kept in mind those that have lost a task there."""
        if not self._moves_of:
            return set()
        jobs = {task.job for row in rows for task in self._session.nodes.tasks_on[row].values()}
        return {uid for uid in jobs if uid in self._moves_of and self._moves(uid) != self._moves_of[uid]}


def fits_with(session: Session, task: Task, row: int, victims: list[Task]) -> bool:
    """Would the node hold the task with these victims gone?"""
    return suffice(victims, shortage_on(session, task, row))


def shortage_on(session: Session, task: Task, row: int) -> Shortage:
    """What the node lacks to hold the task."""
    # Plain numbers, and no further than needed: arrays of a handful are slow.
    room, need = session.nodes.future[row].tolist(), task.vector.tolist()
    return {at: need[at] - room[at] for at in task.asked if need[at] > room[at]}


def left_of(shortage: Shortage, victim: Task) -> Shortage:
    """What is still lacking once a task of that node has gone."""
    freed = victim.vector.tolist()
    return {at: short - freed[at] for at, short in shortage.items() if short > freed[at]}


def suffice(victims: list[Task], shortage: Shortage) -> bool:
    """Would nothing be lacking with these victims gone?"""
    for victim in victims:
        if not shortage:
            break
        shortage = left_of(shortage, victim)
    return not shortage


def candidates_on(session: Session, row: int, is_candidate: Filter) -> list[Task]:
    """Tasks on a node that the filter lets through, in order of their names."""
    return by_name([task for task in session.nodes.tasks_on[row].values() if is_candidate(task)])
