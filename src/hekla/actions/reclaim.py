"""Reclaim: let queues that hold more than their part give it back to jobs that starve in other queues."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hekla.conf import argument
from hekla.framework.action import Action
from hekla.framework.eviction import (
    NEVER,
    candidates_on,
    fits_with,
    room_held_by,
    starving_jobs,
    ungated_tasks,
    without_hopeless,
    would_fit,
)
from hekla.framework.heap import Heap
from hekla.framework.orders import queues_in_order, tasks_in_order, victims_in_order
from hekla.framework.session import Session
from hekla.framework.statement import Statement
from hekla.ledger.arrays import Amounts
from hekla.model.job import Job
from hekla.model.queue import Queue
from hekla.model.status import Status
from hekla.model.task import Task


@dataclass(frozen=True)
class ReclaimArguments:
    error_cache: bool = argument(
        True,
        key="predicateErrorCacheEnable",
        aliases=("enablePredicateErrorCache",),
        help="accepted for Volcano's sake: each task is looked at afresh, so there is nothing to remember",
    )


class Reclaim(Action):
    name = "reclaim"
    Arguments = ReclaimArguments

    def run(self, session: Session) -> None:
        jobs = [job for _, job in sorted(session.jobs.items()) if session.is_eligible(job)]
        starving = starving_jobs(session, jobs)
        queues = queues_in_order(
            session, (session.queues[name] for name in dict.fromkeys(j.queue for j in jobs))
        )
        while queues:
            queue = queues.pop()
            if queue.name in starving and not session.is_overused(queue):
                reclaim_for_queue(session, queue, starving[queue.name])


def reclaim_for_queue(session: Session, queue: Queue, jobs: Heap[Job]) -> None:
    # What others could give back only shrinks from here on, so one sum serves as upper bound.
    held = room_held_by(session, (task for task in session.tasks if may_give_back(session, task, queue)))
    while jobs:
        reclaim_for_job(session, queue, jobs.pop(), held)


def reclaim_for_job(session: Session, queue: Queue, job: Job, held: Amounts) -> None:
    """Take back room for the whole gang, or for none of it."""
    tasks = tasks_in_order(session, ungated_tasks(job))
    with session.statement() as statement:
        while tasks and session.is_starving(job):
            task = tasks.popleft()
            if may_reclaim(session, queue, task):
                reclaim_for_task(session, statement, queue, task, held)
        if session.is_pipelined(job):
            statement.commit()
        elif statement.operations:
            session.story.of_job(job.uid, "not enough could be taken back for the whole gang")


def may_reclaim(session: Session, queue: Queue, task: Task) -> bool:
    return (
        task.pod.spec.preemption_policy != NEVER
        and session.is_preemptive(queue, [task])
        and session.objection_to(task) is None
    )


def may_give_back(session: Session, task: Task, queue: Queue) -> bool:
    """Runs in another queue that lets its excess go."""
    if task.status is not Status.RUNNING or not task.is_preemptable:
        return False
    job = session.jobs.get(task.job)
    return job is not None and job.queue != queue.name and session.queues[job.queue].is_reclaimable


def reclaim_for_task(session: Session, statement: Statement, queue: Queue, task: Task, held: Amounts) -> None:
    """Take the first node where others give back enough; where nobody could it is passed over, even empty."""
    nodes = without_hopeless(session, task) & session.fitting.curable_nodes(task)
    nodes &= would_fit(session, task, held) & (held[:, session.axis.pods] > 0)
    for group in session.by_shard(nodes):
        for row in np.flatnonzero(group):
            if take_back_on(session, statement, queue, task, int(row)):
                return


def take_back_on(session: Session, statement: Statement, queue: Queue, task: Task, row: int) -> bool:
    givers = candidates_on(session, row, lambda other: may_give_back(session, other, queue))
    victims = session.reclaimable(task, givers) if givers else []
    if not givers or not fits_with(session, task, row, victims):
        return False
    waiting = victims_in_order(session, victims, task)
    with session.statement() as attempt:
        while waiting and not session.nodes.fits_later(task, row):
            attempt.evict(waiting.pop(), Reclaim.name, beneficiary=task.job)
        fits = session.nodes.fits_later(task, row)
        if not fits or not attempt.pipeline(task, row, evicted=attempt.has_evictions):
            return False
        statement.merge(attempt)
        return True
