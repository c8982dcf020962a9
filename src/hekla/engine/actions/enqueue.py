"""Enqueue: admit waiting jobs, queue by queue, one job at a time.

After every job the queues are ordered anew: what one job was promised may make another queue
the more deserving one. A job that is turned away waits for the next cycle and blocks nobody.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass

from hekla.conf import argument
from hekla.engine.actions.door_lines import door_lines
from hekla.engine.framework.action import Action
from hekla.engine.framework.orders import Turns
from hekla.engine.framework.session import Session
from hekla.engine.model.job import Job
from hekla.engine.state.door import kind_of

Refused = dict[tuple[str, Hashable], Job]
"""By queue and kind, a job that was refused since one was last admitted: others of the kind would be, too."""


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
        if self.arguments.drains_queues or self.arguments.checks_members:
            session.call_everybody()
        waiting = [job for job in session.jobs_in_line() if job.is_pending]
        if session.snapshot.state.door:
            admit_by_kind(session, waiting)
        else:
            self.admit_one_by_one(session, waiting)

    def admit_one_by_one(self, session: Session, waiting: Sequence[Job]) -> None:
        turns = turns_of(session, {job.queue for job in waiting})
        for job in waiting:
            turns.add(job)
        refused: Refused = {}
        while turns.queues:
            queue = turns.queues.pop()
            jobs = turns.jobs_of[queue.name]
            while jobs and self.arguments.drains_queues:
                self.consider(session, jobs.pop(), refused)
            if jobs:
                self.consider(session, jobs.pop(), refused)
                turns.queues.push(queue)

    def consider(self, session: Session, job: Job, refused: Refused) -> None:
        """Admit the job, unless a check that was asked for finds it incomplete."""
        if self.arguments.checks_members and job.roster.valid < job.minimum:
            session.story.of_job(job.uid, f"{job.roster.valid} of {job.minimum} pods exist")
        elif (like := refused.get((job.queue, kind_of(job)))) and job.min_resources is not None:
            session.refuse_admission(job, like)
        elif admit_if_possible(session, job):
            refused.clear()
        elif session.dispatch.admits_by_kind and session.shortcuts.quiescent_jobs:
            refused[job.queue, kind_of(job)] = job


def admit_by_kind(session: Session, others: Iterable[Job]) -> None:
    """The same where many wait at the door: who would be turned away like the one before is not asked for."""
    lines = door_lines(session, others)
    turns = turns_of(session, lines)
    for name in lines:
        turns.add_queue(name)
    while turns.queues:
        queue = turns.queues.pop()
        line = lines.get(queue.name)
        if not line:
            continue
        if admit_if_possible(session, line.pop()):
            for each in lines.values():
                each.begin_again()
        else:
            line.pass_over()
        turns.queues.push(queue)


def turns_of(session: Session, queues: Collection[str]) -> Turns:
    """Turns of queues; jobs are still to be added."""
    turns = Turns(session)
    if len(queues) > 1:
        # A queue whose jobs all run takes part, too: its place decides how the others are compared.
        for name in session.snapshot.state.queues_with_jobs():
            turns.add_queue(name)
    return turns


def admit_if_possible(session: Session, job: Job) -> bool:
    """A job that names no minimum resources is admitted unasked; the others are voted on."""
    is_admitted = job.min_resources is None or session.is_enqueueable(job)
    if is_admitted:
        session.admit(job)
    else:
        session.refuse_admission(job)
    return is_admitted
