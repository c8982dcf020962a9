"""Pending tasks of one job, by sub-job, in the order they are to be placed."""

from __future__ import annotations

from collections import deque

from hekla.engine.framework import points
from hekla.engine.framework.heap import Heap
from hekla.engine.framework.orders import OrderedTasks, tasks_in_order
from hekla.engine.framework.session import Session
from hekla.engine.model.job import Job, SubJob
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task


class PendingTasks:
    """Sub-jobs that still have something to place; those the job needs come first."""

    def __init__(self, sub_jobs: Heap[SubJob], tasks_of: dict[str, OrderedTasks]) -> None:
        self.sub_jobs = sub_jobs
        self.tasks_of = tasks_of

    def __bool__(self) -> bool:
        return len(self.sub_jobs) > 0

    def copy(self) -> PendingTasks:
        """One of its own, for trying things out."""
        return PendingTasks(self.sub_jobs.copy(), {uid: tasks.copy() for uid, tasks in self.tasks_of.items()})


def pending_tasks_of(session: Session, job: Job) -> PendingTasks:
    tasks_of = {uid: tasks_in_order(session, waiting_tasks(sub)) for uid, sub in job.sub_jobs.items()}
    busy = [sub_job for uid, sub_job in sorted(job.sub_jobs.items()) if tasks_of[uid]]
    needed = needed_sub_jobs(session, job) if len(busy) > 1 else set()

    def goes_first(left: SubJob, right: SubJob) -> bool:
        if (left.uid in needed) != (right.uid in needed):
            return left.uid in needed
        return _key(session, left) < _key(session, right)

    return PendingTasks(Heap(goes_first, busy), tasks_of)


def ungated_tasks_of(session: Session, job: Job) -> PendingTasks:
    """The same without tasks behind any gate, and without sub-jobs that have no others."""
    pending = pending_tasks_of(session, job)
    tasks_of: dict[str, OrderedTasks] = {
        uid: deque(task for task in tasks if not task.is_gated) for uid, tasks in pending.tasks_of.items()
    }
    sub_jobs = pending.sub_jobs.copy()
    busy = [sub_jobs.pop() for _ in range(len(sub_jobs))]
    for sub_job in busy:
        if tasks_of[sub_job.uid]:
            sub_jobs.push(sub_job)
    return PendingTasks(sub_jobs, tasks_of)


def needed_sub_jobs(session: Session, job: Job) -> set[str]:
    """The sub-jobs that would bring each group to its minimum, best first."""
    needed: set[str] = set()
    for policy in job.pod_group.spec.sub_group_policy:
        group = [s for s in job.sub_jobs.values() if s.group == f"{job.uid}/{policy.name}"]
        unready = sorted(
            (s for s in group if not session.sub_job_is_ready(job, s)), key=lambda s: _key(session, s)
        )
        missing = (policy.min_sub_groups or 0) - (len(group) - len(unready))
        needed.update(sub_job.uid for sub_job in unready[: max(0, missing)])
    return needed


def waiting_tasks(sub_job: SubJob) -> list[Task]:
    """Pending tasks that ask for something; those behind a foreign gate cannot be placed."""
    return [
        task
        for task in sub_job.roster.having(Status.PENDING).values()
        if not task.is_best_effort and (not task.is_gated or task.has_only_queue_gate)
    ]


def _key(session: Session, sub_job: SubJob) -> tuple[object, ...]:
    return (*session.ask(points.SUB_JOB_ORDER, sub_job), sub_job.match_index, sub_job.uid)
