"""Allocate: hand idle resources to waiting jobs, queue by queue, one job at a time.

After every job the queues are ordered anew: what one queue has just received may make another
queue the more deserving one. A job gets all it needs to start, or is promised it, or nothing.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hekla.conf import argument
from hekla.framework.action import Action
from hekla.framework.finder import NodeFinder
from hekla.framework.fitting import TaskClass
from hekla.framework.heap import Heap
from hekla.framework.orders import jobs_in_order, queues_in_order, tasks_in_order
from hekla.framework.session import Session
from hekla.framework.statement import Statement
from hekla.ledger.arrays import Mask
from hekla.model.diagnosis import Diagnosis, refused_everywhere
from hekla.model.job import INQUEUE, Job
from hekla.model.status import Status
from hekla.model.task import Task


@dataclass(frozen=True)
class AllocateArguments:
    error_cache: bool = argument(
        True,
        key="predicateErrorCacheEnable",
        aliases=("enablePredicateErrorCache",),
        help="skip nodes that refused another task of the same job and role",
    )


class Choice(NamedTuple):
    """The node to take, and whether it has room now or will have it once releases are done."""

    row: int
    has_room: bool


class Allocate(Action):
    name = "allocate"
    Arguments = AllocateArguments

    def run(self, session: Session) -> None:
        agenda = Agenda(session)
        while agenda.queues:
            queue = agenda.queues.pop()
            if session.is_overused(queue) or not agenda.jobs_of[queue.name]:
                continue
            job = agenda.jobs_of[queue.name].pop()
            tasks = agenda.tasks_of[job.uid]
            if place_job(session, job, tasks, error_cache=self.arguments.error_cache) and tasks:
                agenda.jobs_of[queue.name].push(job)
            agenda.queues.push(queue)


class Agenda:
    """What there is to place: queues, their jobs, and each job's tasks in order."""

    def __init__(self, session: Session) -> None:
        self.queues = queues_in_order(session)
        self.jobs_of: dict[str, Heap[Job]] = {}
        self.tasks_of: dict[str, deque[Task]] = {}
        admits_itself = "enqueue" not in session.conf.actions
        for job in sorted(session.jobs.values(), key=lambda job: job.uid):
            if job.is_pending and admits_itself:
                job.phase = INQUEUE
            if not session.is_eligible(job):
                continue
            tasks = tasks_in_order(session, waiting_tasks(job))
            if tasks:
                self._add(session, job, tasks)

    def _add(self, session: Session, job: Job, tasks: deque[Task]) -> None:
        self.tasks_of[job.uid] = tasks
        if job.queue not in self.jobs_of:
            self.jobs_of[job.queue] = jobs_in_order(session)
            self.queues.push(session.queues[job.queue])
        self.jobs_of[job.queue].push(job)


def waiting_tasks(job: Job) -> list[Task]:
    """Pending tasks that ask for something; those behind a foreign gate cannot be placed."""
    return [
        task
        for task in job.roster.having(Status.PENDING).values()
        if not task.is_best_effort and (not task.is_gated or task.has_only_queue_gate)
    ]


def place_job(session: Session, job: Job, tasks: deque[Task], *, error_cache: bool) -> bool:
    """Place enough tasks for the job to start, or leave no trace; True where it was bound.

    A job that only lacks resources which are being released keeps what it was given until the
    cycle ends, so that nobody else takes it; nothing of it is bound yet.
    """
    everywhere = np.ones(len(session.nodes), dtype=np.bool_)
    with session.statement() as statement:
        finder = NodeFinder(session, error_cache)
        place_tasks(session, statement, job, tasks, domain=everywhere, finder=finder)
        if session.is_ready(job):
            statement.commit()
            return True
        if session.is_pipelined(job):
            statement.hold()
            return False
        if statement.operations:
            short = f"{len(statement)} tasks found a place, {job.minimum} are needed together"
            session.story.of_job(job.uid, f"gang not complete: {short}")
    return False


def place_tasks(
    session: Session, statement: Statement, job: Job, tasks: deque[Task], *, domain: Mask, finder: NodeFinder
) -> None:
    """Place tasks, best first, until the job may start or there is no point in going on."""
    queue = session.queues[job.queue]
    while tasks:
        task = tasks.popleft()
        if not session.is_allocatable(queue, task) or task.is_gated:
            continue
        if already_failed(job, task):
            job.fit_errors[task.uid] = Diagnosis(
                0, summary=f'a task of role "{task.role}" found no node before, so this one is skipped'
            )
            continue
        choice = find_node(session, task, domain, finder)
        if choice is None:
            if job.may_continue(job.sub_jobs[task.sub_job]):
                continue
            return
        assign(statement, task, choice)
        if session.sub_job_is_ready(job, job.sub_jobs[task.sub_job]):
            return


def already_failed(job: Job, task: Task) -> bool:
    """Tasks of one role are alike: where one found no node, the next is not tried."""
    return bool(task.role and job.fit_errors and task.role in job.failed_roles(job.sub_jobs[task.sub_job]))


def find_node(session: Session, task: Task, domain: Mask, finder: NodeFinder) -> Choice | None:
    """The node to take; None, and the reasons kept, where there is none."""
    objection = session.objection_to(task)
    if objection is not None:
        session.refuse(task, refused_everywhere(objection.reason, len(session.nodes), objection.code))
        return None
    known = session.fitting.class_of(task)
    passes = session.fitting.narrowed(task, known.is_open)
    passes &= known.fits_later
    feasible = finder.among_nominated(task, domain, passes)
    if feasible is None:
        feasible = finder.find(task, domain, passes)
    chosen = choose(session, task, known, feasible)
    if chosen is None:
        session.refuse(task, session.fitting.diagnose(task, domain, with_room=True))
    return chosen


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
