"""Position: which jobs that wait in a queue have their turn before a job, and how much they ask for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hekla.engine.explain.explanation import explain_all
from hekla.engine.explain.findings import waits
from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Amounts
from hekla.engine.ledger.demand import minimum_of
from hekla.engine.model.job import Job
from hekla.engine.model.resources import PODS, Resources, as_quantities, total
from hekla.engine.model.status import Status
from hekla.engine.model.wait_reason import Verdict

LASTING = (Verdict.HELD, Verdict.NEVER)
"""What does not pass as other work ends."""


@dataclass(frozen=True)
class JobAhead:
    """A job that has its turn before."""

    job: str
    pods: int
    """How many of its pods wait; 0 where they are still to be made."""
    asks: Resources
    """For all that waits of it."""
    is_admitted: bool

    def as_data(self) -> dict[str, object]:
        return {
            "job": self.job,
            "pods": self.pods,
            "asks": as_quantities(self.asks),
            "isAdmitted": self.is_admitted,
        }


@dataclass(frozen=True)
class QueuePosition:
    """Whose turn comes before, in one queue."""

    queue: str
    place: int
    """1: its turn comes first."""
    waiting: int
    """How many jobs in the queue wait for their turn, this one among them."""
    ahead: tuple[JobAhead, ...]
    """In the order of their turns."""

    @property
    def asks_ahead(self) -> Resources:
        """For all that goes before."""
        return total(each.asks for each in self.ahead)

    def as_data(self) -> dict[str, object]:
        return {
            "queue": self.queue,
            "place": self.place,
            "waiting": self.waiting,
            "asksAhead": as_quantities(self.asks_ahead),
            "ahead": [each.as_data() for each in self.ahead],
        }


def position_of(session: Session, job: Job) -> QueuePosition:
    """Where the job stands in its queue as the session leaves it; admitted jobs have their turn first.

    Jobs that cannot start, or are held, are in the way of no other one.
    """
    others = [each for each in session.jobs.values() if each.queue == job.queue and waits(each)]
    told = explain_all(session, others)
    line = [
        each for each, said in zip(others, told, strict=True) if each is job or said.verdict not in LASTING
    ]
    line.sort(key=lambda each: (each.is_pending, session.job_key(each)))
    place = line.index(job)
    return QueuePosition(job.queue, place + 1, len(line), tuple(_ahead(session, line[:place])))


def _ahead(session: Session, jobs: Iterable[Job]) -> Iterable[JobAhead]:
    for job in jobs:
        pods = len(job.roster.having(Status.PENDING)) + len(job.roster.having(Status.PIPELINED))
        asks = session.axis.resources(left_to_ask(session, job))
        asks.pop(PODS, None)
        yield JobAhead(f"{job.namespace}/{job.title}", pods, asks, not job.is_pending)


def left_to_ask(session: Session, job: Job) -> Amounts:
    """What the pods that wait ask for; where there are none yet, what the job says that it needs.  -> (R,)"""
    roster = job.roster
    waiting = [*roster.having(Status.PENDING).values(), *roster.having(Status.PIPELINED).values()]
    if not waiting:
        return (
            np.maximum(minimum_of(session, job) - job.held, 0) if job.held.size else minimum_of(session, job)
        )
    asked: Amounts = np.array([task.vector for task in waiting], dtype=np.int64).sum(axis=0)
    return asked
