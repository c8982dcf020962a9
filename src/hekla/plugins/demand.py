"""What jobs still ask of their queue, and what they could give back: shared by the queue plugins."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hekla.ledger.arrays import Amounts, Floats
from hekla.model.job import INQUEUE, RUNNING, Job
from hekla.model.resources import EPHEMERAL_STORAGE, PODS

if TYPE_CHECKING:
    from hekla.framework.session import Session


def minimum_of(session: Session, job: Job) -> Amounts:
    """The job's `minResources`; zero where it names none."""
    return session.axis.vector(job.min_resources or {})


def elastic(session: Session, job: Job) -> Amounts:
    """What the job holds above its minimum."""
    return np.asarray(np.maximum(job.held - minimum_of(session, job), 0), dtype=np.int64)


def reserved(session: Session, job: Job) -> Amounts:
    """What is still missing to the job's minimum."""
    missing: Amounts = np.maximum(minimum_of(session, job) - job.held, 0)
    if EPHEMERAL_STORAGE in session.axis.column_of:
        missing[session.axis.column_of[EPHEMERAL_STORAGE]] = 0
    return missing


def less_gated(session: Session, job: Job, amounts: Amounts) -> Amounts:
    """Tasks behind a gate of someone else's cannot run yet: their part is not asked for."""
    gated = [task.vector for task in job.tasks.values() if task.is_gated and not task.has_only_queue_gate]
    if not gated:
        return amounts
    held_back = np.sum(gated, axis=0, dtype=np.int64)
    without_pods = np.delete(held_back, session.axis.pods)
    return np.maximum(amounts - held_back, 0) if without_pods.any() else amounts


def is_running_elastic(job: Job) -> bool:
    """Runs with its minimum, and may still grow to what it reserved."""
    return job.phase == RUNNING and job.roster.allocated >= job.pod_group.spec.min_member


def waiting_demand(session: Session, job: Job) -> Amounts | None:
    """What an admitted job still needs to reach its minimum; None where it reserves nothing."""
    if job.min_resources is None or not (job.phase == INQUEUE or is_running_elastic(job)):
        return None
    return less_gated(session, job, reserved(session, job))


def within(amounts: Amounts, limit: Amounts | Floats, asked: Amounts, pods: int) -> bool:
    """No resource that is asked for goes beyond its limit; pods and everything else do not matter.

    amounts, limit, asked: (R,)
    """
    # Plain numbers: this is asked for every task, of a handful of resources.
    rows = enumerate(zip(amounts.tolist(), limit.tolist(), asked.tolist(), strict=True))
    return all(amount <= most or wanted <= 0 or column == pods for column, (amount, most, wanted) in rows)


def how_many(held: Amounts, limit: Amounts | Floats, asked: Amounts, pods: int, count: int) -> int:
    """How many times, up to `count`, as much can be taken while `within` still holds.

    held, limit, asked: (R,)
    """
    rows = enumerate(zip(held.tolist(), limit.tolist(), asked.tolist(), strict=True))
    for column, (amount, most, wanted) in rows:
        if wanted > 0 and column != pods:
            count = min(count, (math.floor(most) - amount) // wanted)
    return max(count, 0)


def short_of(session: Session, amounts: Amounts, limit: Amounts | Floats, asked: Amounts) -> str:
    """The resources that would go beyond their limit, in words."""
    names = session.axis.names
    return ", ".join(
        f"{names[at]} {session.spell(names[at], amounts[at])} of {session.spell(names[at], limit[at])}"
        for at in np.flatnonzero((asked > 0) & (amounts > limit))
        if names[at] != PODS
    )
