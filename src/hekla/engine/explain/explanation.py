"""Explain: why a job is where it is after a cycle, told from the session's trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

import msgspec

from hekla.engine.explain.findings import Findings, lacks_pods, waits
from hekla.engine.framework import points
from hekla.engine.framework.messages import (
    ROOM_FOR_A_PART,
    counts_by_status,
    furthest,
    gated_tasks,
    gates_of,
    waits_for_admission,
)
from hekla.engine.framework.session import Session
from hekla.engine.framework.trace import Note
from hekla.engine.model.benefit import BENEFICIARY
from hekla.engine.model.job import Job
from hekla.engine.model.status import Status
from hekla.engine.model.wait_reason import Finding, Verdict, WaitReason

NAMES_SHOWN = 3


class Explanation(msgspec.Struct, frozen=True):
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
    findings: tuple[Finding, ...] = ()
    """All that keeps the job from starting; what binds comes first."""

    def __str__(self) -> str:
        return "\n".join([f"{self.job}: {self.headline}", *(f"  - {reason}" for reason in self.reasons)])

    @property
    def why(self) -> str:
        """What binds, in a sentence; empty where nothing waits."""
        return self.findings[0].text if self.findings else ""


def explain(session: Session, job: Job) -> Explanation:
    return explain_all(session, [job])[0]


def explain_all(session: Session, jobs: Iterable[Job]) -> list[Explanation]:
    """Of jobs of one session; those that ask for the same share what is found."""
    findings = Findings(session)
    return [explanation_of(session, job, findings.of(job) if waits(job) else []) for job in jobs]


def explanation_of(session: Session, job: Job, found: Sequence[Finding]) -> Explanation:
    """What does not pass, then what plugins and actions said; admission says nothing of hopeless jobs."""
    lasting = [one for one in found if one.verdict in (Verdict.HELD, Verdict.NEVER)]
    reasons = [f"{one.verdict}: {one.text}" for one in lasting]
    if not (job.is_pending and any(one.verdict is Verdict.NEVER for one in lasting)):
        known = {one.text for one in lasting}
        reasons += [said for said in _said(session, job) if said.partition(": ")[2] not in known]
    return Explanation(
        f"{job.namespace}/{job.title}",
        job.queue,
        job.phase,
        _headline(job),
        tuple(dict.fromkeys(reasons)),
        found[0].code if found else None,
        found[0].verdict if found else None,
        tuple(found),
    )


def _said(session: Session, job: Job) -> list[str]:
    if not job.is_pending and lacks_pods(job):
        return [f"pods: {len(job.roster)} of {job.minimum} exist; a job's pods are made once it is admitted"]
    return [
        *_admission(session, job),
        *_gates(job),
        *_gang(session, job),
        *_nominations(job),
        *_evictions(session, job),
        *_tasks(session, job),
        *_queue(session, job),
    ]


def in_short(explanation: Explanation) -> str:
    """What binds, in a few words; empty where nothing waits."""
    return explanation.findings[0].in_short if explanation.findings else ""


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


def _gang(session: Session, job: Job) -> list[str]:
    roster, have = job.roster, job.roster.ready
    if job.is_pending or roster.has_places:
        return []
    # Pending best-effort tasks count as pipelined, as in Volcano, though they wait for no release.
    if roster.is_pipelined and roster.waiting:
        return [
            f"gang: complete once released resources are free ({roster.waiting} of {job.minimum} tasks wait)"
        ]
    if roster.waiting and have + roster.waiting < job.minimum:
        lacking = job.minimum - have - roster.waiting
        promised = f"{have + roster.waiting} of {job.minimum} tasks that start together"
        return [f"gang: {promised} have a place or are promised one, short by {lacking}"]
    # How far an attempt that was undone had come: none of these tasks has a place.
    nearly = sum(furthest(task) is Status.ALLOCATED for task in roster.having(Status.PENDING).values())
    if job.is_bounded and not have and session.has_answer(points.HYPERNODE_GRADIENT):
        return [f"gang: no network domain has room for the {job.minimum} tasks that start together"]
    if nearly and have + nearly < job.minimum:
        fit = f"room for {have + nearly} of the {job.minimum} tasks that start together"
        return [f"gang: {fit}, short by {job.minimum - have - nearly}"]
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
    # How much of the gang found room anywhere is told of the gang, once.
    told = [note for note in session.trace.notes_of(job.uid) if not note.text.startswith(ROOM_FOR_A_PART)]
    for said, notes in groupby(told, key=_essence):
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
