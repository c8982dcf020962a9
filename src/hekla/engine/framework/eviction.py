"""Eviction: what preempt and reclaim have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np

from hekla.conf import argument
from hekla.engine.framework.heap import Heap
from hekla.engine.framework.orders import jobs_in_order
from hekla.engine.framework.prospects import fits_with
from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Mask
from hekla.engine.model.job import Job
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task

NEVER = "Never"


def victim_mode_argument() -> Literal["tiers", "intersectAll"]:
    """How plugins agree on victims, which preempt and reclaim have under the same name."""
    return argument(
        "tiers", key="victimMode", help="victims are agreed on tier by tier, or by all plugins together"
    )


def starving_jobs(session: Session, jobs: Iterable[Job]) -> dict[str, Heap[Job]]:
    """Jobs that need others to make room, and for which that may be done, by queue."""
    by_queue: dict[str, Heap[Job]] = {}
    for job in jobs:
        if session.is_starving(job) and session.may_evict_for(job):
            by_queue.setdefault(job.queue, jobs_in_order(session)).push(job)
    return by_queue


def ungated_tasks(job: Job) -> list[Task]:
    return [task for task in job.roster.having(Status.PENDING).values() if not task.is_gated]


class JobFilter(dict[str, bool]):
    """By UID, whether the tasks of a job come into question; worked out when it is first asked for."""

    def __init__(self, session: Session, is_wanted: Callable[[Job], bool]) -> None:
        self._jobs = session.jobs
        self._is_wanted = is_wanted

    def __missing__(self, uid: str) -> bool:
        job = self._jobs.get(uid)
        answer = self[uid] = job is not None and self._is_wanted(job)
        return answer


def would_run(session: Session, task: Task, row: int) -> bool:
    """Queue, room and plugins all say yes, as things stand now."""
    queue = session.queues[session.jobs[task.job].queue]
    return (
        session.is_allocatable(queue, task)
        and fits_with(session, task, row, [])
        and bool(session.scoring.open_nodes(task)[row])
    )


def without_hopeless(session: Session, task: Task) -> Mask:
    """All nodes but those that refused the task for good earlier in this cycle."""
    entry = session.jobs[task.job].fit_errors.get(task.uid)
    if entry is None or entry.unresolvable is None:
        return np.ones(len(session.nodes), dtype=np.bool_)
    return ~entry.unresolvable
