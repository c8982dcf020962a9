"""Enqueue: admit waiting jobs, queue by queue, one job at a time.

After every job the queues are ordered anew: what one job was promised may make another queue
the more deserving one. A job that is refused waits for the next cycle and blocks no other.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from hekla.conf import argument
from hekla.engine.framework.action import Action
from hekla.engine.framework.orders import FairOrder
from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Amounts, Floats
from hekla.engine.ledger.demand import less_gated, minimum_of
from hekla.engine.model.job import Job
from hekla.engine.state.attention import WaitingRules

Refused = dict[tuple[str, Hashable], Job]
"""By queue and minimum resources, a job that was refused since one was admitted; so is its like."""


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

    def leaves_waiting(self, rules: WaitingRules) -> WaitingRules:
        if self.arguments.drains_queues or self.arguments.checks_members:
            return replace(rules, for_admission=False, admits_all=False)
        return rules

    def run(self, session: Session) -> None:
        agenda = JobsToAdmit(session)
        while agenda.queues:
            queue = agenda.queues.pop()
            jobs = agenda.jobs_of[queue.name]
            while jobs and self.arguments.drains_queues:
                self.consider(session, jobs.pop(), agenda)
            if jobs:
                self.consider(session, jobs.pop(), agenda)
                agenda.queues.push(queue)
        agenda.end()

    def consider(self, session: Session, job: Job, agenda: JobsToAdmit) -> None:
        """Admit the job, unless a check that was asked for finds it incomplete."""
        if self.arguments.checks_members and job.roster.valid < job.minimum:
            session.trace.of_job(job.uid, f"{job.roster.valid} of {job.minimum} pods exist")
        elif agenda.may_have_room(job):
            agenda.admit_if_possible(job)


class JobsToAdmit(FairOrder):
    """Jobs that ask to be admitted; of those in the backlog, the first of each kind that would fit."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._attention = session.attention
        self._backlog = session.attention.to_admit
        self._refused: Refused = {}
        self._admitted: list[tuple[str, Amounts]] = []
        self._version = session.nodes.journal.version
        waiting = [job for job in session.jobs_in_line() if job.is_pending]
        waiting += self._attention.unasked.values()
        rows = self._backlog.fitting(self._room())
        waiting += [job for row in rows if (job := self._first(row)) is not None]
        if len({job.queue for job in waiting}) > 1:
            # A queue whose jobs all run takes part, too: its place decides how the rest is compared.
            for name in session.snapshot.state.index.queues_with_jobs():
                self.add_queue(name)
        for job in waiting:
            self.add(job)

    def _first(self, row: int) -> Job | None:
        return self._backlog.first(row, self._session.job_key)

    def _room(self) -> dict[str, Floats]:
        """By queue that has jobs in the backlog, how much more it may admit."""
        session = self._session
        rooms = {name: session.admission_room(session.queues[name]) for name in self._backlog.queues()}
        return {name: room for name, room in rooms.items() if room is not None}

    def may_have_room(self, job: Job) -> bool:
        """Whether to ask for the job: of the backlog only where what is left is enough."""
        if job.uid not in self._backlog:
            return True
        room = self._session.admission_room(self._session.queues[job.queue])
        return room is None or self._backlog.fits(self._backlog.row_of(job.uid), room)

    def admit_if_possible(self, job: Job) -> None:
        """A job that names no minimum resources is admitted unasked; any other is voted on."""
        session, kind = self._session, (job.queue, tuple((job.min_resources or {}).items()))
        like = self._refused.get(kind)
        if like is not None and job.min_resources is not None:
            session.refuse_admission(job, like)
        elif job.min_resources is None or session.is_enqueueable(job):
            self._admit(job)
        else:
            session.refuse_admission(job)
            if session.dispatch.admits_by_kind and session.shortcuts.quiescent_jobs:
                self._refused[kind] = job

    def _admit(self, job: Job) -> None:
        row = self._backlog.row_of(job.uid) if job.uid in self._backlog else None
        self._session.admit(job)
        self._refused.clear()
        self._admitted.append((job.queue, less_gated(self._session, job, minimum_of(self._session, job))))
        if row is not None and (following := self._first(row)) is not None:
            self.add(following)

    def end(self) -> None:
        """What is left over can only grow by what jobs give back, unless something was placed before."""
        if self._attention.rules.for_admission and self._version == self._session.nodes.journal.version:
            self._attention.know_room(self._room(), self._admitted)
