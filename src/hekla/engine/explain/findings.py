"""Findings: what keeps a job from starting as a session leaves it, each with its reason and verdict."""

from __future__ import annotations

from collections.abc import Iterator

from hekla.engine.explain.left_to_place import is_held_back, left_to_place, specs_of, ungated
from hekla.engine.explain.present_check import PresentCheck
from hekla.engine.explain.queue_limits import QueueLimits
from hekla.engine.explain.shortfalls import GangDemand
from hekla.engine.explain.spread_check import stuck_spread
from hekla.engine.explain.start_check import StartCheck
from hekla.engine.framework import points
from hekla.engine.framework.messages import gates_of
from hekla.engine.framework.session import Session
from hekla.engine.framework.trace import Note
from hekla.engine.model.diagnosis import INSUFFICIENT, Diagnosis
from hekla.engine.model.job import INQUEUE, Job
from hekla.engine.model.status import Status
from hekla.engine.model.wait_reason import Finding, Verdict, WaitReason, in_order
from hekla.objects.complaint import quoted

VERDICT_OF = {WaitReason.QUEUE: Verdict.HELD, WaitReason.GATE: Verdict.HELD}
"""Of what plugins and actions say; all else passes as other work ends."""


def waits(job: Job) -> bool:
    """Whether some task of the job still waits for a place, or the job for admission."""
    waiting = (Status.PENDING, Status.PIPELINED, Status.ALLOCATED)
    return job.is_pending or lacks_pods(job) or job.roster.count(waiting) > 0


def lacks_pods(job: Job) -> bool:
    """Admitted, and its controller has not made its pods yet."""
    return job.phase == INQUEUE and len(job.roster) < job.minimum


class Findings:
    """Of the jobs of one session, as it leaves them."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._limits = QueueLimits(session)
        self._start = StartCheck(session, self._limits)
        self._present = PresentCheck(session)

    def of(self, job: Job) -> list[Finding]:
        """What keeps a job that waits from starting, at least one thing; what binds comes first."""
        gang = left_to_place(self._session, job)
        found = [*self._holding(job, gang), *self._passing(job), *self._start.lasting(job, gang)]
        if all(one.verdict is Verdict.NOT_YET for one in found) and not job.is_pending:
            gang = ungated(self._session, job)
            found += self._placing(job, gang)
            found = self._without_own_share(job, gang, found)
        if not found:
            found.append(Finding(WaitReason.ORDER, Verdict.NOT_YET, "not its turn in this cycle"))
        return in_order(dict.fromkeys(found))

    # What waits for a person or another object, or is promised

    def _holding(self, job: Job, gang: GangDemand) -> Iterator[Finding]:
        session = self._session
        if not session.queues[job.queue].is_open and session.has_answer(points.ALLOCATABLE):
            yield Finding(WaitReason.QUEUE, Verdict.HELD, f'queue "{job.queue}" is not open')
        yield from self._gates(job)
        yield from self._objections(gang)
        if job.has_topology and not session.domains.is_ready:
            fault = f"the network topology cannot be used: {session.domains.complaints[0]}"
            yield Finding(WaitReason.TOPOLOGY, Verdict.HELD, fault)
        yield from self._promises(job)

    def _gates(self, job: Job) -> Iterator[Finding]:
        gated = [task for task in job.roster.having(Status.PENDING).values() if is_held_back(task)]
        others = len(job.roster.having(Status.PENDING)) - len(gated)
        if gated and (not others or others + job.roster.ready + job.roster.waiting < job.minimum):
            names = ", ".join(gates_of(gated))
            text = f"{len(gated)} of {len(job.roster)} pods are held back by {names}"
            yield Finding(WaitReason.GATE, Verdict.HELD, text)
        if not job.is_pending and (missing := pods_missing(self._session, job)) is not None:
            yield missing

    def _objections(self, gang: GangDemand) -> Iterator[Finding]:
        """What plugins have against a task whatever the node."""
        asked = self._session.dispatch.handlers(points.PRE_PREDICATE)
        if any(handler.plugin.asks_outside for handler in asked):
            return
        for kind in gang.kinds:
            objection = self._session.objection_to(kind.task) if gang.needs(kind) else None
            if objection is not None:
                code = WaitReason.GATE if objection.verdict is Verdict.HELD else WaitReason.FILTERS
                yield Finding(
                    code, objection.verdict, objection.plain or objection.message or objection.reason
                )

    @staticmethod
    def _promises(job: Job) -> Iterator[Finding]:
        roster = job.roster
        # Of a gang that has started, what waits may be promised nodes only in part.
        is_promised = not roster.having(Status.PENDING) if roster.has_places else roster.is_pipelined
        if not job.is_pending and roster.waiting and is_promised:
            text = f"{roster.waiting} of {len(roster)} tasks have a node once pods there have left"
            yield Finding(WaitReason.RELEASE, Verdict.BOOKED, text)

    # What passes as other work ends

    def _passing(self, job: Job) -> Iterator[Finding]:
        """What plugins and actions said of the job and of its queue."""
        trace, default = self._session.trace, WaitReason.ADMISSION_LIMIT if job.is_pending else None
        for note in trace.notes_of(job.uid):
            yield from _finding_of(note, note.code or default)
        for note in trace.queues.get(job.queue, ()):
            if note.code is WaitReason.QUEUE or not job.is_pending:
                yield from _finding_of(note, note.code)

    def _placing(self, job: Job, gang: GangDemand) -> Iterator[Finding]:
        if not gang.kinds:
            return
        notes = self._session.trace.notes_of(job.uid)
        diagnosis = next((note.diagnosis for note in notes if note.diagnosis), None)
        if diagnosis is not None and (stuck := stuck_spread(self._session, gang, diagnosis)) is not None:
            yield stuck
            return
        yield from self._beyond_share(job, gang)
        short = self._present.shortfall(job, gang)
        if short is not None:
            yield short
        elif diagnosis is not None:
            yield Finding(code_of(diagnosis), Verdict.NOT_YET, diagnosis.plainly())

    def _without_own_share(self, job: Job, gang: GangDemand, found: list[Finding]) -> list[Finding]:
        """A queue that holds all there is has had its share because the cluster is full."""
        if not any(one.code is WaitReason.NO_ROOM for one in found):
            return found
        column = self._present.short_column(gang)
        if column is None or not self._limits.fills_cluster(job.queue, column):
            return found
        return [one for one in found if one.code is not WaitReason.QUEUE_SHARE]

    def _beyond_share(self, job: Job, gang: GangDemand) -> Iterator[Finding]:
        """That the queue may not take as many of the tasks as start together."""
        session = self._session
        if not session.dispatch.who.tells_headroom:
            return
        for kind in filter(gang.needs, gang.kinds):
            needed = gang.count - (gang.size - kind.count)
            most = session.headroom(session.queues[job.queue], kind.task, needed)
            if most < needed:
                together = f"{most} of the {needed} tasks that start together" if needed > 1 else "no more"
                text = f'queue "{job.queue}" may take {together}'
                yield Finding(WaitReason.QUEUE_SHARE, Verdict.NOT_YET, text)


def _finding_of(note: Note, code: WaitReason | None) -> Iterator[Finding]:
    if code is not None and note.diagnosis is None:
        verdict = note.verdict or VERDICT_OF.get(code, Verdict.NOT_YET)
        yield Finding(code, verdict, note.text)


def pods_missing(session: Session, job: Job) -> Finding | None:
    """That fewer pods exist than start together, or too few of them are of use."""
    exist = len(job.roster)
    if exist < job.minimum:
        made = {task.role for task in job.tasks.values()}
        for spec in specs_of(session, job):
            if spec.name not in made and spec.depends_on is not None and spec.depends_on.name:
                others = " and ".join(map(quoted, spec.depends_on.name))
                text = f"pods of {quoted(spec.name)} are made once those of {others} run"
                return Finding(WaitReason.GATE, Verdict.HELD, text)
        text = f"{exist} of {job.minimum} pods exist"
        is_made = job.title != job.name
        return Finding(WaitReason.GATE, Verdict.NOT_YET if is_made else Verdict.HELD, text)
    objection = session.dispatch[points.JOB_VALID](job)
    if objection is None:
        return None
    return Finding(WaitReason.GATE, Verdict.HELD, objection.message or objection.reason)


def code_of(diagnosis: Diagnosis) -> WaitReason:
    """What the refusals of a task come to where room alone does not explain them."""
    is_room = all(reason.text.startswith(INSUFFICIENT) for reason in diagnosis.reasons)
    return WaitReason.FRAGMENTATION if is_room and diagnosis.reasons else WaitReason.FILTERS
