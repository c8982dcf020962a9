"""Explain: why a job is where it is after a cycle, told from the session's trace."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby

from hekla.engine.framework.findings import findings, lacks_pods, waits
from hekla.engine.framework.messages import counts_by_status, gated_tasks, gates_of, waits_for_admission
from hekla.engine.framework.session import Session
from hekla.engine.framework.trace import Note
from hekla.engine.model.benefit import BENEFICIARY
from hekla.engine.model.job import Job
from hekla.engine.model.status import Status
from hekla.engine.model.wait_reason import Verdict, WaitReason, in_order

NAMES_SHOWN = 3

_SHORTAGE = re.compile(r"not enough \S+")


@dataclass(frozen=True)
class Explanation:
    """One job: a headline and the reasons behind it, most telling first."""

    job: str
    queue: str
    phase: str
    headline: str
    reasons: tuple[str, ...]
    code: WaitReason | None = None
    """What binds; None where nothing of the job waits."""
    verdict: Verdict | None = None
    """Whether that passes."""

    def __str__(self) -> str:
        return "\n".join([f"{self.job}: {self.headline}", *(f"  - {reason}" for reason in self.reasons)])


def explain(session: Session, job: Job) -> Explanation:
    if not job.is_pending and lacks_pods(job):
        missing = f"pods: {len(job.roster)} of {job.minimum} exist; a job's pods are made once it is admitted"
        return _explanation(session, job, (missing,))
    reasons = [
        *_admission(session, job),
        *_gates(job),
        *_gang(job),
        *_nominations(job),
        *_evictions(session, job),
        *_tasks(session, job),
        *_queue(session, job),
    ]
    return _explanation(session, job, tuple(dict.fromkeys(reasons)))


def _explanation(session: Session, job: Job, reasons: tuple[str, ...]) -> Explanation:
    found = in_order(findings(session, job)) if waits(job) else []
    binding = found[0] if found else None
    return Explanation(
        f"{job.namespace}/{job.title}",
        job.queue,
        job.phase,
        _headline(job),
        reasons,
        binding.code if binding else None,
        binding.verdict if binding else None,
    )


def in_short(explanation: Explanation) -> str:
    """The most telling reason: which resource is short, else the first that is not the gang's."""
    for reason in explanation.reasons:
        if found := _SHORTAGE.search(reason):
            return found[0]
    others = [reason for reason in explanation.reasons if not reason.startswith("gang:")]
    said = (others or list(explanation.reasons) or [""])[0]
    without_speaker = said.partition(": ")[2] or said
    return without_speaker.partition(": ")[0]


def _headline(job: Job) -> str:
    counts = ", ".join(sorted(counts_by_status(job))).lower()
    if not waits(job):
        return f"nothing waits ({counts or 'no tasks'})"
    if job.is_pending:
        return f"{waits_for_admission(job)} ({counts or 'no tasks yet'})"
    return f"admitted, not all of it runs ({counts or 'no tasks yet'}; at least {job.minimum} start together)"


def _admission(session: Session, job: Job) -> list[str]:
    if not job.is_pending:
        return []
    said = session.trace.said_of(job.uid)
    if said or "enqueue" not in session.conf.actions:
        return said
    return ["enqueue: not considered in this cycle"]


def _gates(job: Job) -> list[str]:
    gated = gated_tasks(job)
    names = ", ".join(gates_of(gated))
    return [f"gates: {_some([task.name for task in gated])}held back by {names}"] if gated else []


def _gang(job: Job) -> list[str]:
    roster, have = job.roster, job.roster.ready
    if job.is_pending or roster.has_places:
        return []
    # Pending best-effort tasks count as pipelined, as in Volcano, though they wait for no release.
    if roster.is_pipelined and roster.waiting:
        return [
            f"gang: complete once released resources are free ({roster.waiting} of {job.minimum} tasks wait)"
        ]
    return [
        f"gang: {have} of {job.minimum} tasks that start together have a place, short by {job.minimum - have}"
    ]


def _nominations(job: Job) -> list[str]:
    return [
        f"{task.name} is pipelined to {task.node_name}"
        + (", freed by evictions" if task.evicted else ", which is being released")
        for task in job.roster.having(Status.PIPELINED).values()
    ]


def _evictions(session: Session, job: Job) -> list[str]:
    """What came of the pods that were evicted for the job."""
    conditions = session.conditions.of(job)
    return [f"evictions: {one.message}" for one in conditions if one.type == BENEFICIARY]


def _tasks(session: Session, job: Job) -> list[str]:
    """What was said of the job and its tasks; tasks refused for the same reason share a line."""
    if job.is_pending:
        return []
    lines = []
    for said, notes in groupby(session.trace.notes_of(job.uid), key=_essence):
        names = [note.task for note in notes if note.task]
        lines.append(f"{said[0]}: {_some(names)}{said[1]}")
    return lines


def _essence(note: Note) -> tuple[str, str]:
    return note.speaker, note.diagnosis.plainly() if note.diagnosis else note.text


def _some(names: list[str]) -> str:
    if not names:
        return ""
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "") + ": "


def _queue(session: Session, job: Job) -> list[str]:
    return [str(note) for note in session.trace.queues.get(job.queue, ())]
