"""Reserved room: what the session keeps for jobs that cannot start goes to jobs that can.

This is backfill as kube-batch's design describes it. A job gives up only places that were never
made real, only as many as are needed, and gets them back where the other job cannot start either.
Priority plays no part: a place that starts nobody helps nobody.
"""

from __future__ import annotations

import numpy as np

from hekla.framework.eviction import ungated_tasks
from hekla.framework.orders import Turns, tasks_in_order, victims_in_order
from hekla.framework.prospects import candidates_on
from hekla.framework.session import Session
from hekla.framework.statement import Statement
from hekla.ledger.arrays import Mask
from hekla.model.diagnosis import refused_everywhere
from hekla.model.job import Job
from hekla.model.status import Status
from hekla.model.task import Task


def backfill_reserved_room(session: Session) -> None:
    """Queue by queue, job by job: whoever becomes ready keeps what it took."""
    turns = Turns(session, in_peace=False)  # jobs that wait may lose what was kept for them
    for job in session.jobs_in_line():
        if session.is_eligible(job) and asking_tasks(job):
            turns.add(job)
    while turns.queues:
        jobs = turns.jobs_of[turns.queues.pop().name]
        while jobs:
            job = jobs.pop()
            if place_with_reserved_room(session, job) and asking_tasks(job):
                jobs.push(job)


def asking_tasks(job: Job) -> list[Task]:
    return [task for task in ungated_tasks(job) if not task.is_best_effort]


def place_with_reserved_room(session: Session, job: Job) -> bool:
    """Place the job's tasks until it may start; True where it was bound, otherwise all is as it was."""
    queue = session.queues[job.queue]
    with session.statement() as statement:
        for task in tasks_in_order(session, asking_tasks(job)):
            if not session.is_allocatable(queue, task) or not take_place(session, statement, task):
                continue
            if session.is_ready(job):
                statement.commit()
                # It starts whole: what the session kept for it earlier is bound with the rest.
                session.bind_placed(job)
                return True
    return False


def take_place(session: Session, statement: Statement, task: Task) -> bool:
    """Idle room if there is any, else room that others give up."""
    objection = session.objection_to(task)
    if objection is not None:
        session.refuse(task, refused_everywhere(objection.reason, len(session.nodes), objection.code))
        return False
    known = session.fitting.class_of(task)
    idle = session.fitting.narrowed(task, known.is_open) & known.fits_now
    row = session.fitting.best(task, known, idle)
    if row is not None:
        return statement.allocate(task, row)
    return take_reserved_place(session, statement, task)


def take_reserved_place(session: Session, statement: Statement, task: Task) -> bool:
    givers = {row: victims for row in rows_held(session, task) if (victims := givers_on(session, task, row))}
    candidates = idle_after(session, task, givers)
    row = session.fitting.best(task, session.fitting.class_of(task), candidates)
    if row is None:
        everywhere = session.domains.top.nodes
        session.refuse(task, session.fitting.diagnose(task, everywhere, with_room=True))
        return False
    for victim in givers[row]:
        statement.give_up(victim)
    return statement.allocate(task, row)


def rows_held(session: Session, task: Task) -> list[int]:
    """Nodes on which some job of the queue holds places that it cannot use yet."""
    holders = [job for job in session.jobs.values() if may_give(session, job, task)]
    return sorted({held.node for job in holders for held in job.roster.having(Status.ALLOCATED).values()})


def may_give(session: Session, job: Job, task: Task) -> bool:
    """Another job of the same queue that cannot start; how important it is plays no part."""
    return job.queue == session.jobs[task.job].queue and job.uid != task.job and not session.is_ready(job)


def givers_on(session: Session, task: Task, row: int) -> list[Task]:
    """The fewest held places that make room for the task on this node; none where they do not suffice."""

    def is_held(other: Task) -> bool:
        job = session.jobs.get(other.job)
        return other.status is Status.ALLOCATED and job is not None and may_give(session, job, task)

    waiting = victims_in_order(session, candidates_on(session, row, is_held), task)
    room, columns = session.nodes.idle[row].copy(), list(task.asked)
    chosen: list[Task] = []
    while waiting and not (room >= task.vector)[columns].all():
        chosen.append(waiting.pop())
        room += chosen[-1].vector
    return chosen if (room >= task.vector)[columns].all() else []


def idle_after(session: Session, task: Task, givers: dict[int, list[Task]]) -> Mask:
    """The nodes that plugins would let the task have, with those who would make room gone."""
    candidates = np.zeros(len(session.nodes), dtype=np.bool_)
    for row, victims in givers.items():
        with session.statement() as supposition:
            for victim in victims:
                supposition.give_up(victim)
            candidates[row] = session.fitting.open_nodes(task)[row]
    return candidates
