"""Enqueue: admit waiting jobs, queue by queue, one job at a time.

After every job the queues are ordered anew: what one job was promised may make another queue
the more deserving one. A job that is refused waits for the next cycle and blocks no other.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from msgspec.structs import replace

from hekla.conf import argument
from hekla.engine.framework.action import Action
from hekla.engine.framework.orders import FairOrder
from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Floats
from hekla.engine.ledger.demand import less_gated, minimum_of
from hekla.engine.model.job import Job
from hekla.engine.model.wait_reason import WaitReason
from hekla.engine.state.attention import WaitingRules
from hekla.text import counted

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
        """All that are not admitted, unless whole queues or the pods of each job are gone through."""
        return replace(
            rules, are_admitted=not (self.arguments.drains_queues or self.arguments.checks_members)
        )

    def run(self, session: Session) -> None:
        agenda = JobsToAdmit(session)
        while agenda.queues:
            queue = agenda.queues.pop()
            jobs = agenda.jobs_of[queue.name]
            while self.arguments.drains_queues and jobs:
                self.consider(session, jobs.pop(), agenda)
            if jobs:
                self.consider(session, jobs.pop(), agenda)
                agenda.queues.push(queue)
        agenda.end()

    def consider(self, session: Session, job: Job, agenda: JobsToAdmit) -> None:
        """Admit the job, unless a check that was asked for finds it incomplete."""
        if self.arguments.checks_members and job.roster.valid < job.minimum:
            said = f"{job.roster.valid} of {counted(job.minimum, 'pod')} exist"
            session.trace.of_job(job.uid, said, code=WaitReason.GATE)
        else:
            agenda.consider(job)


class JobsToAdmit(FairOrder):
    """Jobs that ask to be admitted; of each queue's in the backlog, the first that would fit."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._attention = session.attention
        self._backlog = session.attention.to_admit
        self._backlog.put_in_order(session.job_key)
        self._refused: Refused = {}
        self._passed_over: set[int] = set()
        """Rows of the backlog of which a job was refused: so is the whole row."""
        self._rooms: dict[str, Floats | None] = {}
        """By queue how much one more of its jobs may ask for, as it was told since the last was admitted."""
        self._chosen_by: dict[str, Floats | None] = {}
        """By UID the room that a job of the backlog was found to fit in."""
        self._admitted: list[Job] = []
        active = [job for job in session.jobs_in_line() if job.is_pending]
        waiting = [*active, *self._attention.unasked.values()]
        if len({*self._backlog.queues, *[job.queue for job in waiting]}) > 1:
            # A queue whose jobs all run takes part, too: its place decides how the rest is compared.
            for name in session.snapshot.state.index.queues_with_jobs():
                self.add_queue(name)
        for job in waiting:
            self.add(job)
        for queue in [*self._backlog.queues]:
            self._add_next(queue)

    def _add_next(self, queue: str) -> None:
        if queue not in self._backlog.queues:
            return
        room = self._room(queue)
        job = self._backlog.first_to_fit(queue, room, self._passed_over)
        if job is not None:
            self._chosen_by[job.uid] = room
            self.add(job)

    def _room(self, queue: str) -> Floats | None:
        if queue not in self._rooms:
            self._rooms[queue] = self._session.admission_room(self._session.queues[queue])
        return self._rooms[queue]

    def _fits(self, job: Job, row: int) -> bool:
        """Whether there is still room for a job of the backlog."""
        room = self._room(job.queue)
        return room is self._chosen_by[job.uid] or self._backlog.fits(row, room)

    def consider(self, job: Job) -> None:
        """Admit the job if there is room; of the backlog, the next one has its turn then."""
        if job.uid not in self._backlog:
            self._admit_if_possible(job)
            return
        row = self._backlog.row_of(job.uid)
        if self._fits(job, row):
            if not self._session.is_quiet:
                # Whatever it is told now is told of an active job.
                self._session.look_at(job)
            self._admit_if_possible(job)
        if job.is_pending:
            self._passed_over.add(row)
        self._add_next(job.queue)

    def _admit_if_possible(self, job: Job) -> None:
        """A job that names no minimum resources is admitted unasked; any other is voted on."""
        session = self._session
        like = self._refused.get(kind_of(job)) if self._refused else None
        if like is not None and job.min_resources is not None:
            session.refuse_admission(job, like)
        elif job.min_resources is None or session.is_enqueueable(job):
            session.admit(job)
            self._admitted.append(job)
            self._rooms.clear()
        else:
            session.refuse_admission(job)
            if session.dispatch.who.admits_by_kind and session.shortcuts.unchanged_jobs:
                self._refused[kind_of(job)] = job

    def end(self) -> None:
        """What is left over can only grow by what jobs give back, unless something was placed before."""
        session = self._session
        is_as_it_was = session.version_at_open == session.nodes.journal.version
        if len(self._backlog) and self._attention.rules.for_admission and is_as_it_was:
            rooms = {at: room for at in self._backlog.queues if (room := self._room(at)) is not None}
            admitted = [
                (one.queue, less_gated(session, one, minimum_of(session, one))) for one in self._admitted
            ]
            self._attention.know_room(rooms, admitted)


def kind_of(job: Job) -> tuple[str, Hashable]:
    return job.queue, tuple((job.min_resources or {}).items())
