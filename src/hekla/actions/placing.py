"""Placing: one task after another on the nodes of one domain, as allocate does it."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from hekla.framework.finder import NodeFinder
from hekla.framework.fitting import TaskClass
from hekla.framework.session import Session
from hekla.framework.statement import Statement
from hekla.ledger.arrays import Mask
from hekla.ledger.domains import TOP, Domain
from hekla.model.diagnosis import Diagnosis, refused_everywhere
from hekla.model.job import Job, SubJob
from hekla.model.task import Task


class Choice(NamedTuple):
    """The node to take, and whether it has room now or will have it once releases are done."""

    row: int
    has_room: bool


class Placer:
    """Places tasks of one sub-job inside one domain; what nodes refused is remembered while it lives."""

    def __init__(self, session: Session, job: Job, sub_job: SubJob, domain: Domain, *, error_cache: bool):
        self._session = session
        self._job = job
        self._sub_job = sub_job
        self._domain = domain
        self._finder = NodeFinder(session, error_cache)
        self._near = sub_job.domain

    def place(self, statement: Statement, tasks: deque[Task]) -> bool:
        """Place tasks, best first, until the sub-job may start or there is no point in going on.

        True where it may start now, or once releases are done; otherwise the caller gives it all back.
        """
        session, job, sub_job = self._session, self._job, self._sub_job
        self._try_tasks(statement, tasks)
        if session.sub_job_is_ready(job, sub_job) or session.sub_job_is_pipelined(job, sub_job):
            return True
        if statement.operations:
            short = f"{len(statement)} tasks found a place, {sub_job.roster.minimum} are needed together"
            session.story.of_job(job.uid, f"gang not complete: {short}{self._where()}")
        return False

    def _try_tasks(self, statement: Statement, tasks: deque[Task]) -> None:
        session, job = self._session, self._job
        queue = session.queues[job.queue]
        while tasks:
            task = tasks.popleft()
            if not session.is_allocatable(queue, task) or task.is_gated or self._is_skipped(task):
                continue
            choice = self._find_node(task)
            if choice is None:
                if not job.may_continue(self._sub_job):
                    return
            elif assign(statement, task, choice):
                self._move_towards(choice.row)
                if session.sub_job_is_ready(job, self._sub_job):
                    return

    def _is_skipped(self, task: Task) -> bool:
        """Tasks of one role are alike: where one found no node, the next is not tried."""
        job = self._job
        if not task.role or not job.fit_errors or task.role not in job.failed_roles(self._sub_job):
            return False
        summary = f'a task of role "{task.role}" found no node before, so this one is skipped'
        job.fit_errors[task.uid] = Diagnosis(0, summary=summary)
        return True

    def _find_node(self, task: Task) -> Choice | None:
        """The node to take; None, and the reasons kept, where there is none."""
        session, nodes = self._session, self._domain.nodes
        objection = session.objection_to(task)
        if objection is not None:
            session.refuse(task, refused_everywhere(objection.reason, len(session.nodes), objection.code))
            return None
        known = session.fitting.class_of(task)
        passes = session.fitting.narrowed(task, known.is_open)
        passes &= known.fits_later
        feasible = self._finder.among_nominated(task, nodes, passes)
        if feasible is None:
            feasible = self._finder.find(task, nodes, passes)
        task.near = self._near if self._sub_job.topology is not None else ""
        choice = choose(session, task, known, feasible)
        if choice is None:
            hypernode = "" if self._domain.name == TOP else self._domain.name
            session.refuse(task, session.fitting.diagnose(task, nodes, with_room=True, hypernode=hypernode))
        return choice

    def _move_towards(self, row: int) -> None:
        """The sub-job now lies in the lowest domain that contains all it has."""
        domains = self._session.domains
        if self._sub_job.topology is not None and (closest := domains.closest[row]):
            self._near = domains.common(closest, self._near)

    def _where(self) -> str:
        return "" if self._domain.name == TOP else f' in domain "{self._domain.name}"'


def choose(session: Session, task: Task, known: TaskClass, feasible: Mask) -> Choice | None:
    """Room now beats room later; inside each, a soft shard's own nodes beat the others."""
    now = feasible & known.fits_now
    for group in session.by_shard(now):
        row = session.fitting.best(task, known, group)
        if row is not None:
            return Choice(row, has_room=True)
    for group in session.by_shard(feasible & ~now):
        row = session.fitting.best(task, known, group)
        if row is not None:
            return Choice(row, has_room=False)
    return None


def assign(statement: Statement, task: Task, choice: Choice) -> bool:
    if choice.has_room:
        return statement.allocate(task, choice.row)
    return statement.pipeline(task, choice.row)
