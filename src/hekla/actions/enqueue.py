"""Enqueue: admit waiting jobs, queue by queue, one job at a time.

After every job the queues are ordered anew: what one job was promised may make another queue
the more deserving one. A job that is turned away waits for the next cycle and blocks nobody.
"""

from __future__ import annotations

from dataclasses import dataclass

from hekla.conf import argument
from hekla.framework import points
from hekla.framework.action import Action
from hekla.framework.orders import Turns
from hekla.framework.session import Session
from hekla.model.job import INQUEUE, Job


@dataclass(frozen=True)
class EnqueueArguments:
    is_strict: bool = argument(
        False, key="strictEnqueue", help="a configuration without enqueue among its actions is an error"
    )
    drains_queues: bool = argument(
        False, key="drainQueue", help="consider all jobs of a queue before the next queue's"
    )
    checks_members: bool = argument(
        False, key="checkMinMember", help="admit a job only once enough of its pods exist"
    )


class Enqueue(Action):
    name = "enqueue"
    Arguments = EnqueueArguments

    def run(self, session: Session) -> None:
        turns = Turns(session)
        waiting = [job for job in session.jobs_in_line() if job.is_pending]
        if len({job.queue for job in waiting}) > 1:
            # A queue whose jobs all run takes part, too: its place decides how the others are compared.
            for name in session.snapshot.state.queues_with_jobs():
                turns.add_queue(name)
        for job in waiting:
            turns.add(job)
        while turns.queues:
            queue = turns.queues.pop()
            jobs = turns.jobs_of[queue.name]
            while jobs and self.arguments.drains_queues:
                self.consider(session, jobs.pop())
            if jobs:
                self.consider(session, jobs.pop())
                turns.queues.push(queue)

    def consider(self, session: Session, job: Job) -> None:
        """Admit the job, unless a check that was asked for finds it incomplete."""
        if self.arguments.checks_members and job.roster.valid < job.minimum:
            session.story.of_job(job.uid, f"{job.roster.valid} of {job.minimum} pods exist")
        else:
            admit_if_possible(session, job)


def admit_if_possible(session: Session, job: Job) -> None:
    """A job that names no minimum resources is admitted unasked; the others are voted on."""
    if job.min_resources is None or session.is_enqueueable(job):
        session.ask(points.JOB_ENQUEUED, job)
        job.phase = INQUEUE
