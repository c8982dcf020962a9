"""Prospects: which nodes are worth a closer look when room is to be made by evicting tasks.

No answer errs but on the side of looking: a node that is ruled out would have been refused.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np

from hekla.engine.framework.opinions import Verdict, verdict
from hekla.engine.framework.orders import by_name
from hekla.engine.framework.points import Point
from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Amounts, Mask
from hekla.engine.ledger.nodes import NodeLedger, covers
from hekla.engine.ledger.states import NodeStates
from hekla.engine.model.diagnosis import Code
from hekla.engine.model.task import Task

Filter = Callable[[Task], bool]
Shortage = dict[int, int]
"""How much is lacking, by column of the resource."""

FEW_ROWS = 8
"""Up to so many changed nodes are judged one by one."""
MOST_CLASSES = 64
"""So many classes of tasks are kept in mind: each takes a few masks of all nodes."""


class Changes:
    """The rows that changed since it was last asked."""

    def __init__(self, nodes: NodeLedger) -> None:
        self._changed = nodes.changed
        self._seen = len(nodes.changed)

    def new(self) -> list[int]:
        if self._seen == len(self._changed):
            return []
        rows = list(set(self._changed[self._seen :]))
        self._seen = len(self._changed)
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
        if not self._session.shortcuts.upper_bounds:
            return self._everywhere()
        self._catch_up()
        if self._asker is None or self._asker.vector is not task.vector or self._asker.asked != task.asked:
            self._fits = covers(self._nodes.future + self._most, task)
        self._asker = task
        return self._fits

    def rows_with_anybody(self) -> Mask:
        """Nodes on which there may be somebody to go at all; a mask of its own."""
        if not self._session.shortcuts.upper_bounds:
            return self._everywhere()
        self._catch_up()
        return np.asarray(self._most[:, self._session.axis.pods] > 0)

    def _everywhere(self) -> Mask:
        return np.ones(len(self._nodes), dtype=np.bool_)

    def movable_on(self, row: int) -> list[Task]:
        """Whoever may go from this node, in order of their names; do not change the list."""
        self._forget_changes()
        known = self._movable.get(row)
        if known is None or not self._session.shortcuts.upper_bounds:
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


class CurableNodes:
    """Nodes that an eviction might open, for one task after another.

    Tasks of one class are told the same, but for the nodes that changed since the last of them
    asked. Those are judged one by one, without the scores that the class keeps of all nodes.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._judges = session.fitting.judges
        self._lasts = session.shortcuts.sheets and not any(judge.always for judge in self._judges)
        self._of_class: dict[Hashable, _Curable] = {}

    def rows_for(self, task: Task) -> Mask:
        """The same as `curable_nodes` of the session's fitting; do not change the mask."""
        if not self._lasts:
            return self._session.fitting.curable_nodes(task)
        key = self._session.fitting.key_of(task)
        known = self._of_class.get(key)
        if known is None or len(changed := known.changes.new()) > FEW_ROWS:
            if len(self._of_class) > MOST_CLASSES:
                self._of_class.clear()
            self._of_class[key] = known = self._judge_all(task)
            return known.rows
        shard = self._session.hard_shard
        for row in changed:
            known.rows[row] = (shard is None or shard[row]) and self._is_curable(task, row, known.never)
        return known.rows

    def _judge_all(self, task: Task) -> _Curable:
        count = len(self._session.nodes)
        never = [verdict([ask(task) for ask in judge.once], count) for judge in self._judges]
        return _Curable(self._session.fitting.curable_nodes(task), never, Changes(self._session.nodes))

    def _is_curable(self, task: Task, row: int, never: list[Verdict | None]) -> bool:
        """Whether the first plugin to refuse the node does not do so for good."""
        states = NodeStates(self._session.nodes, self._session.pods, slice(row, row + 1), only=row)
        for judge, refused in zip(self._judges, never, strict=True):
            said = [one for ask in judge.by_row for one in ask(task, states) or () if one.nodes[0]]
            if said or (refused is not None and refused[0][row]):
                is_final = any(one.code is not Code.UNSCHEDULABLE for one in said)
                return not is_final and not (refused is not None and refused[1][row])
        return True


@dataclass(frozen=True, eq=False, slots=True)
class _Curable:
    """What is known for one class of tasks."""

    rows: Mask
    never: list[Verdict | None]
    """By plugin that has predicates, whom it refuses whatever is on the node."""
    changes: Changes


class BarrenNodes:
    """Nodes that stay refused to tasks of one job, whoever else of it is given room.

    Lives while room is made for that job: meanwhile it only gains, and all others only lose. A job that loses
    a task may change its place in the order of jobs, and with it which candidates plugins name first.
    """

    def __init__(self, session: Session, point: Point) -> None:
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
        key = self._session.fitting.key_of(task)
        known = self._of_class.get(key)
        if known is None:
            known = self._of_class[key] = np.zeros(len(self._session.nodes), dtype=np.bool_)
        return known

    def look_at(self, task: Task, row: int, candidates: list[Task]) -> None:
        """A node has refused the task: remember it where it would do so again."""
        session = self._session
        if (
            not session.shortcuts.upper_bounds
            or session.has_moving_task_order
            or session.has_moving_job_order
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
