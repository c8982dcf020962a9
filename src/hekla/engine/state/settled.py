"""Settled: jobs about which there is nothing to decide, as sums per queue.

A job that runs, or has run, whole and whose PodGroup says so takes part in a cycle by what it
holds alone; one that waits at the door by what it asks for. So plugins add up sums of queues instead of
visiting thousands of jobs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hekla.engine.ledger.arrays import Amounts
from hekla.engine.ledger.demand import Books, elastic, sum_of, waiting_demand
from hekla.engine.model.job import INQUEUE, Job
from hekla.engine.model.status import Status
from hekla.objects.scheduling import PodGroupStatus

AT_REST = (Status.BOUND, Status.RUNNING, Status.SUCCEEDED, Status.FAILED)


def is_at_rest(job: Job) -> bool:
    """Admitted, started, and none of its tasks waits or leaves."""
    return not job.is_pending and job.phase != INQUEUE and job.roster.count(AT_REST) == len(job.roster)


def says_all(job: Job, status: PodGroupStatus) -> bool:
    """Whether the PodGroup says just this, and this is how its tasks fare."""
    roster = job.roster
    return (
        job.pod_group.status == status
        and len(roster) >= roster.minimum
        and status.running == len(roster.having(Status.RUNNING))
        and status.succeeded == len(roster.having(Status.SUCCEEDED))
        and status.failed == len(roster.having(Status.FAILED))
    )


class Sums:
    """What jobs hold, what of that is above their minimum, what they reserve, and what waits; each (R,)."""

    def __init__(self, table: Amounts) -> None:
        self.table = table
        self.held: Amounts = table[0]
        self.elastic: Amounts = table[1]
        self.waiting: Amounts = table[2]
        self.pending: Amounts = table[3]

    @classmethod
    def nothing(cls, resources: int) -> Sums:
        return cls(np.zeros((4, resources), dtype=np.int64))


@dataclass
class Settled:
    """Sums by queue of the jobs that rest; a queue without any is not there."""

    of_queue: dict[str, Sums] = field(default_factory=dict)
    _of_job: dict[str, tuple[str, Amounts]] = field(default_factory=dict)
    _jobs_in: dict[str, int] = field(default_factory=dict)

    def __contains__(self, uid: object) -> bool:
        return uid in self._of_job

    def add(self, books: Books, job: Job) -> None:
        zero, waiting = np.zeros_like(job.held), waiting_demand(books, job)
        pending = sum_of(job.roster.having(Status.PENDING).values(), zero)
        own = np.array([job.held, elastic(books, job), zero if waiting is None else waiting, pending])
        self._of_job[job.uid] = (job.queue, own)
        if job.queue not in self.of_queue:
            self.of_queue[job.queue] = Sums.nothing(len(job.held))
        self.of_queue[job.queue].table += own
        self._jobs_in[job.queue] = self._jobs_in.get(job.queue, 0) + 1

    def remove(self, uid: str) -> None:
        """The job is to be looked at again."""
        entry = self._of_job.pop(uid, None)
        if entry is None:
            return
        queue, own = entry
        self._jobs_in[queue] -= 1
        if self._jobs_in[queue]:
            self.of_queue[queue].table -= own
        else:
            del self._jobs_in[queue], self.of_queue[queue]
