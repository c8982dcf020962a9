"""Findings: all that keeps a job from starting as a session leaves it, each with its reason and its verdict."""

from __future__ import annotations

from collections.abc import Iterator

from hekla.engine.framework.session import Session
from hekla.engine.model.job import INQUEUE, Job
from hekla.engine.model.status import Status
from hekla.engine.model.wait_reason import Finding, Verdict, WaitReason

HOLDING = (WaitReason.STOPPED, WaitReason.QUEUE, WaitReason.GATE)


def waits(job: Job) -> bool:
    """Whether some task of the job still waits for a place, or the job for admission."""
    waiting = (Status.PENDING, Status.PIPELINED, Status.ALLOCATED)
    return job.is_pending or lacks_pods(job) or job.roster.count(waiting) > 0


def lacks_pods(job: Job) -> bool:
    """Admitted, and its controller has not made its pods yet."""
    return job.phase == INQUEUE and len(job.roster) < job.minimum


def findings(session: Session, job: Job) -> Iterator[Finding]:
    """In no order; one at least of a job that waits."""
    yield from _of_pods(job)
    yield from _of_promises(job)
    said = [*_said(session, job)]
    yield from said
    if job.is_pending and not said:
        yield Finding(WaitReason.ORDER, Verdict.NOT_YET, "not considered in this cycle")
    if not job.is_pending:
        yield Finding(WaitReason.NO_ROOM, Verdict.NOT_YET, "not enough room")


def _of_pods(job: Job) -> Iterator[Finding]:
    gated = [task for task in job.roster.having(Status.PENDING).values() if task.is_gated]
    if gated and len(job.roster) - len(gated) < job.minimum:
        yield Finding(WaitReason.GATE, Verdict.HELD, "scheduling gates")
    if lacks_pods(job):
        yield Finding(WaitReason.GATE, Verdict.NOT_YET, "pods are still to be made")


def _of_promises(job: Job) -> Iterator[Finding]:
    if not job.is_pending and job.roster.is_pipelined and job.roster.waiting:
        yield Finding(WaitReason.RELEASE, Verdict.BOOKED, "complete once released resources are free")


def _said(session: Session, job: Job) -> Iterator[Finding]:
    """What plugins said of the job and of its queue."""
    for note in (*session.trace.notes_of(job.uid), *session.trace.queues.get(job.queue, ())):
        code = note.code or (WaitReason.ADMISSION_LIMIT if job.is_pending else None)
        if code is not None:
            yield Finding(code, Verdict.HELD if code in HOLDING else Verdict.NOT_YET, note.text)
