"""Demand: what jobs still ask of their queue, and what they could give back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from hekla.engine.ledger.arrays import Amounts
from hekla.engine.ledger.axis import Axis
from hekla.engine.model.job import INQUEUE, RUNNING, Job
from hekla.engine.model.resources import EPHEMERAL_STORAGE
from hekla.engine.model.status import Status
from hekla.engine.model.task import RequestShape, Task

HELD, ELASTIC, WAITING, CLAIMED, PENDING = range(5)
"""The rows of a table of sums."""


class Books(Protocol):
    """What says in which column which resource stands."""

    @property
    def axis(self) -> Axis: ...


def minimum_of(books: Books, job: Job) -> Amounts:
    """The job's `minResources`; zero where it names none. Do not change the array."""
    if job.min_vector is None:
        job.min_vector = books.axis.vector(job.min_resources or {})
    return job.min_vector


def less_gated(books: Books, job: Job, amounts: Amounts) -> Amounts:
    """Tasks behind a gate of someone else's cannot run yet: their part is not asked for."""
    gated = [task.vector for task in job.tasks.values() if task.is_gated and not task.has_only_queue_gate]
    if not gated:
        return amounts
    held_back = np.sum(gated, axis=0, dtype=np.int64)
    without_pods = np.delete(held_back, books.axis.pods)
    return np.maximum(amounts - held_back, 0) if without_pods.any() else amounts


def reserves(job: Job) -> bool:
    """Admitted with a minimum, and about to start, or running with it and free to grow to it again."""
    return job.min_resources is not None and (
        job.phase == INQUEUE
        or (job.phase == RUNNING and job.roster.allocated >= job.pod_group.spec.min_member)
    )


class QueueSums:
    """What the jobs of a queue come to, each (R,) and a row of one table, which never changes.

    What they hold, and what of that is above their minimums; what admitted ones still need to reach theirs,
    and the same with those not known to run yet in full; what pending tasks ask for.
    """

    __slots__ = ("table",)

    def __init__(self, table: Amounts) -> None:
        self.table = table

    @property
    def held(self) -> Amounts:
        held: Amounts = self.table[HELD]
        return held

    @property
    def elastic(self) -> Amounts:
        elastic: Amounts = self.table[ELASTIC]
        return elastic

    @property
    def waiting(self) -> Amounts:
        waiting: Amounts = self.table[WAITING]
        return waiting

    @property
    def claimed(self) -> Amounts:
        claimed: Amounts = self.table[CLAIMED]
        return claimed

    @property
    def pending(self) -> Amounts:
        pending: Amounts = self.table[PENDING]
        return pending


def sums_of(books: Books, job: Job) -> Amounts:
    """The part of a job in the sums of its queue."""
    own = np.zeros((5, len(job.held)), dtype=np.int64)
    missing: Amounts = minimum_of(books, job) - job.held
    if any(job.held.tolist()):
        own[HELD] = job.held
        np.maximum(-missing, 0, out=own[ELASTIC])
    if reserves(job):
        np.maximum(missing, 0, out=missing)
        if EPHEMERAL_STORAGE in books.axis.column_of:
            missing[books.axis.column_of[EPHEMERAL_STORAGE]] = 0
        own[WAITING] = less_gated(books, job, missing)
        is_unknown = job.phase == INQUEUE
        own[CLAIMED] = less_gated(books, job, minimum_of(books, job)) if is_unknown else own[WAITING]
    if pending := job.roster.having(Status.PENDING):
        own[PENDING] = sum_of(pending.values(), own[PENDING])
    return own


def sum_of(tasks: Iterable[Task], zero: Amounts) -> Amounts:
    """What tasks ask for together; those that ask for the same are counted, not added one by one.

    Do not change the array: it is the zero that was given where there are no tasks.
    """
    counts: dict[RequestShape, int] = {}
    for task in tasks:
        counts[task.shape] = counts.get(task.shape, 0) + 1
    total = zero
    for shape, count in counts.items():
        total = total + count * shape.vector
    return total
