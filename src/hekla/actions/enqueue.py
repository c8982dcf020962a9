"""Enqueue: admit waiting jobs, queue by queue, one job at a time.

After every job the queues are ordered anew: what one job was promised may make another queue
the more deserving one. A job that is turned away waits for the next cycle and blocks nobody.
"""

from __future__ import annotations

from hekla.framework import points
from hekla.framework.action import Action
from hekla.framework.heap import Heap
from hekla.framework.orders import jobs_in_order, queues_in_order
from hekla.framework.session import Session
from hekla.model.job import INQUEUE, Job


class Enqueue(Action):
    name = "enqueue"

    def run(self, session: Session) -> None:
        queues = queues_in_order(session)
        waiting: dict[str, Heap[Job]] = {}
        for job in sorted(session.jobs.values(), key=lambda job: job.uid):
            if job.queue not in waiting:
                waiting[job.queue] = jobs_in_order(session)
                queues.push(session.queues[job.queue])
            if job.is_pending:
                waiting[job.queue].push(job)
        while queues:
            queue = queues.pop()
            jobs = waiting[queue.name]
            if jobs:
                consider(session, jobs.pop())
                queues.push(queue)


def consider(session: Session, job: Job) -> None:
    """A job that names no minimum resources is admitted unasked; the others are voted on."""
    if job.min_resources is None or session.is_enqueueable(job):
        session.ask(points.JOB_ENQUEUED, job)
        job.phase = INQUEUE
