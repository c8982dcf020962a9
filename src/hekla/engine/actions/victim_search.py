"""Victim search: where a task would have room if other tasks were evicted, and which tasks those are.

Shared by preempt and reclaim. Plugins are offered the candidates of a node; those that they let go are its
victims if the task then fits. A node is passed over only where a closer look would refuse it.
"""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from hekla.conf import argument
from hekla.engine.framework.heap import Heap
from hekla.engine.framework.orders import (
    by_name,
    jobs_in_order,
    least_important_first,
    queues_in_order,
    victims_in_order,
)
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import PREEMPTABLE
from hekla.engine.framework.session import Session, VictimPoint
from hekla.engine.framework.statement import Statement
from hekla.engine.ledger.arrays import Amounts, Floats, Mask
from hekla.engine.ledger.nodes import covers
from hekla.engine.model.job import Job
from hekla.engine.model.queue import QueueInfo
from hekla.engine.model.status import Status
from hekla.engine.model.task import NOWHERE, Task

NEVER = "Never"
MEMORY_FOR_CLASSES = 2**21
"""For so many nodes, of all classes together, it is remembered that they are futile."""
FEWEST_KEPT = 64
NOT_SEEN = (math.inf, 0)
"""A job that has not moved before can at first only have lost what ran, or gained what is pipelined."""
EVICTABLE = (Status.BOUND, Status.RUNNING)

MayEvict = Callable[[Task, Task], bool]
"""Whether, for the first task, the second may be evicted."""
Fits = Callable[[Session, Task, int], bool]
"""Whether the task now fits on the node of that row."""
Victims = Heap[Task] | deque[Task]
"""Tasks to be evicted one by one, from the end."""


def victim_mode_argument() -> Literal["tiers", "intersectAll"]:
    """How plugins agree on victims, which preempt and reclaim have under the same name."""
    return argument(
        "tiers", key="victimMode", help="victims are agreed on tier by tier, or by all plugins together"
    )


def starving_jobs(session: Session, jobs: Iterable[Job]) -> dict[str, Heap[Job]]:
    """Jobs that lack room, and for which tasks may be evicted, by queue."""
    by_queue: dict[str, Heap[Job]] = {}
    for job in jobs:
        if session.is_starving(job) and session.may_evict_for(job):
            by_queue.setdefault(job.queue, jobs_in_order(session)).push(job)
    return by_queue


def starving_queues(session: Session, jobs: Iterable[Job]) -> Iterator[tuple[QueueInfo, Heap[Job]]]:
    """The queues in order, each with those of its jobs."""
    starving = starving_jobs(session, jobs)
    queues = queues_in_order(session, (session.queues[name] for name in starving))
    while queues:
        queue = queues.pop()
        yield queue, starving[queue.name]


def ungated_tasks(job: Job) -> list[Task]:
    return [task for task in job.roster.having(Status.PENDING).values() if not task.is_gated]


def resolvable(session: Session, task: Task, among: Mask) -> Mask:
    """Of these nodes all but those that refused the task for good earlier in this cycle."""
    known = session.jobs[task.job].fit_errors.get(task.uid)
    return among if known is None or known.unresolvable is None else among & ~known.unresolvable


@dataclass
class VictimSearch:
    """The search for the tasks of one queue, job after job, for as long as the action runs.

    What it knows of a node holds until the node changes; that a node is futile, for a class of tasks.
    """

    session: Session
    point: VictimPoint
    is_candidate: Callable[[Task], bool]
    by_all: bool
    """Whether all plugins must agree on victims, instead of tier by tier."""
    action: str
    holders: Iterable[Job] | None = None
    """The jobs whose tasks may be candidates, where they are few; else all jobs."""

    def __post_init__(self) -> None:
        self._seen = self.session.nodes.journal.now
        self._candidates: dict[int, list[Task]] = {}
        nodes = self.session.nodes
        self._room: Amounts = nodes.allocatable - nodes.pipelined
        """What would be free if all candidates went, or, where these are not known, all that is there."""
        pods = self.session.axis.pods
        self._has_candidates: Mask = nodes.used[:, pods] > nodes.releasing[:, pods]
        if self.holders is not None:
            rows = {task.node for job in self.holders for task in job.roster.among(EVICTABLE)} - {NOWHERE}
            self._has_candidates = np.isin(np.arange(len(nodes)), list(rows))
            self._room = np.where(self._has_candidates[:, None], self._room, nodes.future)
        self._futile = FutileNodes(self.session, self.point)

    def begin(self, may_evict: MayEvict, *, only_evicts: bool = False, proves_fit: bool = False) -> None:
        """From here on for another job, or in another way for the same.

        The search may leave out nodes without candidates, and ask queue and filters once more whether the
        task may run where the victims are gone.
        """
        self._may_evict, self._only_evicts, self._proves_fit = may_evict, only_evicts, proves_fit

    def promising(self, task: Task) -> Mask:
        """The nodes that could hold the task if all candidates went, and have not proved futile."""
        if not self.session.shortcuts.bounds:
            return np.ones(len(self.session.nodes), dtype=np.bool_)
        self._follow_changes()
        promising = covers(self._room.T, task)
        if self._only_evicts:
            promising &= self._has_candidates
        futile = self._futile.rows_for(task, self._class_of(task))
        return promising if futile is None else promising & ~futile

    def victims(self, task: Task, row: int) -> list[Task] | None:
        """The tasks of the node that plugins let go; None where the task does not fit with them gone."""
        session = self.session
        candidates = [one for one in self._candidates_on(row) if self._may_evict(task, one)]
        offered = least_important_first(session, candidates, session.jobs[task.job])
        ask = session.preemptable if self.point is PREEMPTABLE else session.reclaimable
        victims = ask(task, offered, by_all=self.by_all) if offered else []
        if (offered or not self._only_evicts) and fits_without(session, task, row, victims):
            return victims
        self._futile.note(task, self._class_of(task), row, offered)
        return None

    def _class_of(self, task: Task) -> Hashable:
        """Equal for tasks that ask for the same resources, and have the same candidates everywhere."""
        job = self.session.jobs[task.job]
        is_among_candidates = any(job.roster.among(EVICTABLE))
        return (
            self._may_evict,
            self._only_evicts,
            task.asked,
            tuple([column for column, _ in task.shape.wanted]),
            task.is_best_effort,
            task.priority,
            job.uid if is_among_candidates else job.priority,
        )

    def make_room_on(self, statement: Statement, task: Task, row: int, until: Fits) -> bool:
        """Evict the node's victims until the task fits, and pipeline it there; False where that fails."""
        victims = self.victims(task, row)
        if victims is None:
            return False
        waiting = victims_in_order(self.session, victims, task)
        return self.evict(statement, task, row, waiting, partial(until, self.session, task, row))

    def evict(
        self, statement: Statement, task: Task, row: int, victims: Victims, until: Callable[[], bool]
    ) -> bool:
        """Evict victims until it is enough, and pipeline the task; False, and nothing done, if that fails."""
        session = self.session
        with session.statement() as attempt:
            is_enough = until()
            while victims and not is_enough:
                attempt.evict(victims.pop(), self.action, beneficiary=task.job)
                is_enough = until()
            if not is_enough or (self._proves_fit and not would_run(session, task, row)):
                return False
            if not attempt.pipeline(task, row, evicted=attempt.has_evictions):
                return False
            statement.merge(attempt)
            return True

    def _candidates_on(self, row: int) -> list[Task]:
        """The candidates on the node, in order of their names."""
        self._follow_changes()
        known = self._candidates.get(row)
        if known is None or not self.session.shortcuts.bounds:
            known = by_name(filter(self.is_candidate, self.session.nodes.tasks_on[row].values()))
            self._candidates[row] = known
            self._has_candidates[row] = bool(known)
            self._room[row] = self.session.nodes.future[row] + sum([task.vector for task in known])
        return known

    def _follow_changes(self) -> None:
        nodes, journal = self.session.nodes, self.session.nodes.journal
        if journal.now != self._seen:
            changed = journal.since(self._seen)
            self._seen = journal.now
            self._room[changed] = nodes.allocatable[changed] - nodes.pipelined[changed]
            self._has_candidates[changed] = True
            rows: list[int] = changed.tolist()
            for row in rows:
                self._candidates.pop(row, None)
            self._futile.forget(rows)


class FutileNodes:
    """Nodes that refused a task, and will refuse all tasks of its class that want no less.

    Plugins promise that they let go no more of a node's tasks while the jobs of these, where queues give back
    their queues, only lose. A job that moves may change its place in the order of jobs, and with it which
    candidates plugins name first, where there are those of others.
    """

    def __init__(self, session: Session, point: VictimPoint) -> None:
        self._session = session
        self._point = point
        is_moving = session.has_moving_task_order or session.dispatch.who.has_moving_job_order
        self._lasts = session.shortcuts.bounds and not is_moving
        plugins = [one.plugin for one in session.dispatch.handlers(point)]
        self._rankers = [one for one in plugins if type(one).preemptor_rank is not Plugin.preemptor_rank]
        self._known: OrderedDict[Hashable, Floats] = OrderedDict()
        """By class when each node refused a task last, and how much that wanted, (1 + kinds, N)."""
        self._most_kept = max(FEWEST_KEPT, MEMORY_FOR_CLASSES // max(len(session.nodes), 1))
        self._now = 1
        self._changed = np.zeros(len(session.nodes))
        """When what a node's refusals depend on has changed last."""
        self._level: dict[str, tuple[float, int]] = {}
        """By job that has moved how many of its tasks ran and were pipelined when it was seen last."""
        self._until_gain: dict[str, set[int]] = {}
        """By job or queue the nodes that are to be looked at again once it gains something."""
        self._until_move: dict[str, tuple[int, set[int]]] = {}
        """By job how often its tasks had moved, and the nodes to be looked at again once one moves."""

    def rows_for(self, task: Task, of_class: Hashable) -> Mask | None:
        """The nodes not to look at for this task; None where nothing is known of its class."""
        known = self._known.get(of_class)
        if known is None:
            return None
        self._known.move_to_end(of_class)
        futile: Mask = known[0] > self._changed
        for refused, wanted in zip(known[1:], self._wants(task), strict=True):
            futile &= refused <= wanted
        return futile

    def note(self, task: Task, of_class: Hashable, row: int, offered: list[Task]) -> None:
        """The node has refused the task with these candidates: remember it where it would do so again."""
        session = self._session
        if not self._lasts:
            return
        most = session.most_victims(self._point, task, offered)
        if any(fits_without(session, task, row, victims) for victims in most):
            return
        wants, known = self._wants(task), self._known.get(of_class)
        if known is None:
            known = self._known[of_class] = np.zeros((1 + len(wants), len(self._changed)))
            if len(self._known) > self._most_kept:
                self._known.popitem(last=False)
        known[:, row] = self._now, *wants
        owners = {candidate.job for candidate in offered}
        for uid in owners:
            self._until_gain.setdefault(self._gainer(uid), set()).add(row)
        for uid in owners if len(owners) > 1 else ():
            self._until_move.setdefault(uid, (session.jobs[uid].roster.moves, set()))[1].add(row)

    def _wants(self, task: Task) -> list[float]:
        """Where that is not enough for one task of a class, it is not enough for one that wants more."""
        asked = [task.shape.amounts[column] for column in task.asked]
        return [*asked, *[plugin.preemptor_rank(task) for plugin in self._rankers]]

    def _gainer(self, job: str) -> str:
        return job if self._point is PREEMPTABLE else self._session.jobs[job].queue

    def forget(self, rows: list[int]) -> None:
        """These nodes have changed, and perhaps the jobs that have tasks there."""
        jobs, tasks_on = self._session.jobs, self._session.nodes.tasks_on
        forgotten = set(rows)
        for uid in {task.job for row in rows for task in tasks_on[row].values()} & jobs.keys():
            roster = jobs[uid].roster
            ran, waited = self._level.get(uid, NOT_SEEN)
            self._level[uid] = roster.ready, roster.waiting
            if roster.ready > ran or roster.waiting > waited:
                forgotten |= self._until_gain.pop(self._gainer(uid), set())
            if uid in self._until_move and self._until_move[uid][0] != roster.moves:
                forgotten |= self._until_move.pop(uid)[1]
        self._changed[list(forgotten)] = self._now
        self._now += 1


def would_run(session: Session, task: Task, row: int, *, is_simulated: bool = False) -> bool:
    """Queue, room and plugins all say yes, as things stand or, where tasks are supposed gone, simulated."""
    queue = session.queues[session.jobs[task.job].queue]
    may_take = session.would_be_allocatable if is_simulated else session.is_allocatable
    # Room first: it is what mostly lacks while victims go one by one, and the queue says why it refuses.
    if not fits_without(session, task, row) or not may_take(queue, task):
        return False
    return session.would_suit(task, row) if is_simulated else session.scoring.is_open(task, row)


def fits_without(session: Session, task: Task, row: int, victims: Iterable[Task] = ()) -> bool:
    """Would the node have room for the task with these victims gone?"""
    # Plain numbers: arrays of a handful are slow.
    room, need = session.nodes.future[row].tolist(), task.shape.amounts
    lacking = {at: need[at] - room[at] for at in task.asked if need[at] > room[at]}
    for victim in victims:
        if not lacking:
            break
        freed = victim.shape.amounts
        lacking = {at: short - freed[at] for at, short in lacking.items() if short > freed[at]}
    return not lacking
