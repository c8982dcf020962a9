"""Enqueue: admit waiting jobs, queue by queue, one job at a time.

After every job the queues are ordered anew: what one job was promised may make another queue
the more deserving one. A job that is refused waits for the next cycle and blocks no other.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hekla.conf import argument
from hekla.engine.framework.action import Action
from hekla.engine.framework.orders import FairOrder
from hekla.engine.framework.session import Session
from hekla.engine.model.job import Job
from hekla.engine.state.attention import Kinds, kind_of, order

Refused = dict[tuple[str, Hashable], Job]
"""By queue and kind, a job that was refused since one was last admitted: so would be its kind."""


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
            session.attention.activate_backlog()
        waiting = [job for job in session.jobs_in_line() if job.is_pending]
        if session.attention.backlog:
            admit_by_kind(session, waiting)
        else:
            self.admit_one_by_one(session, waiting)

    def admit_one_by_one(self, session: Session, waiting: Sequence[Job]) -> None:
        agenda = fair_order_of(session, {job.queue for job in waiting})
        for job in waiting:
            agenda.add(job)
        refused: Refused = {}
        while agenda.queues:
            queue = agenda.queues.pop()
            jobs = agenda.jobs_of[queue.name]
            while jobs and self.arguments.drains_queues:
                self.consider(session, jobs.pop(), refused)
            if jobs:
                self.consider(session, jobs.pop(), refused)
                agenda.queues.push(queue)

    def consider(self, session: Session, job: Job, refused: Refused) -> None:
        """Admit the job, unless a check that was asked for finds it incomplete."""
        if self.arguments.checks_members and job.roster.valid < job.minimum:
            session.trace.of_job(job.uid, f"{job.roster.valid} of {job.minimum} pods exist")
        elif (like := refused.get((job.queue, kind_of(job)))) and job.min_resources is not None:
            session.refuse_admission(job, like)
        elif admit_if_possible(session, job):
            refused.clear()
        elif session.dispatch.admits_by_kind and session.shortcuts.quiescent_jobs:
            refused[job.queue, kind_of(job)] = job


def admit_by_kind(session: Session, waiting: Iterable[Job]) -> None:
    """The same where many wait in the backlog: jobs that would be refused like another are not asked for."""
    queues = backlog_queues(session, waiting)
    agenda = fair_order_of(session, queues)
    for name in queues:
        agenda.add_queue(name)
    while agenda.queues:
        queue = agenda.queues.pop()
        line = queues.get(queue.name)
        if not line:
            continue
        if admit_if_possible(session, line.pop()):
            for each in queues.values():
                each.begin_again()
        else:
            line.pass_over()
        agenda.queues.push(queue)


def fair_order_of(session: Session, queues: Collection[str]) -> FairOrder:
    """Turns of queues; jobs are still to be added."""
    agenda = FairOrder(session)
    if len(queues) > 1:
        # A queue whose jobs all run takes part, too: its place decides how the rest is compared.
        for name in session.snapshot.state.index.queues_with_jobs():
            agenda.add_queue(name)
    return agenda


def admit_if_possible(session: Session, job: Job) -> bool:
    """A job that names no minimum resources is admitted unasked; any other is voted on."""
    is_admitted = job.min_resources is None or session.is_enqueueable(job)
    if is_admitted:
        session.admit(job)
    else:
        session.refuse_admission(job)
    return is_admitted


class BacklogQueue:
    """Jobs in order. A kind of which one was refused is passed over until a job is admitted.

    Asked for one by one, all of the kind that come before that would be refused, too.
    """

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self._next: dict[Hashable, int] = dict.fromkeys(kinds, 0)
        """By kind that is not passed over, the place of the job that comes next."""
        self._passed_over: list[Hashable] = []
        self._latest: tuple[Hashable, tuple[Any, ...]] | None = None

    def __len__(self) -> int:
        return len(self._next)

    def pop(self) -> Job:
        kind = min(self._next, key=lambda kind: self._kinds[kind][self._next[kind]][0])
        key, job = self._kinds[kind][self._next[kind]]
        self._latest = kind, key
        self._move(kind, self._next[kind] + 1)
        return job

    def pass_over(self) -> None:
        """The job that was asked for last is refused."""
        assert self._latest is not None
        kind, _ = self._latest
        self._next.pop(kind, None)
        self._passed_over.append(kind)

    def begin_again(self) -> None:
        """A job was admitted: all that come after the one that was asked for last are asked for."""
        for kind in self._passed_over:
            assert self._latest is not None
            self._move(kind, bisect_right(self._kinds[kind], self._latest[1], key=order))
        self._passed_over.clear()

    def _move(self, kind: Hashable, place: int) -> None:
        if place < len(self._kinds[kind]):
            self._next[kind] = place
        else:
            self._next.pop(kind, None)


def backlog_queues(session: Session, active: Iterable[Job]) -> dict[str, BacklogQueue]:
    """By queue, the jobs of the backlog together with active ones that wait to be admitted."""
    by_queue = session.attention.backlog.kinds_by_queue()
    for job in active:
        alike = by_queue.setdefault(job.queue, {}).setdefault(kind_of(job), [])
        insort(alike, (session.job_key(job), job), key=order)
    return {queue: BacklogQueue(kinds) for queue, kinds in by_queue.items()}
