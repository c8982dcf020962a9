"""What two decisions of one cycle have in common, where they differ, and how either is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from hekla.engine.framework.decisions import (
    Bind,
    Decision,
    Evict,
    Nominate,
    OpenGate,
    Tell,
    UpdatePodGroup,
    UpdateQueue,
    UpdateShard,
)
from hekla.engine.framework.trace import Note
from hekla.engine.model.job import INQUEUE, PENDING
from hekla.objects import Condition
from hekla.scheduler.cycle import CycleReport

NOTHING = "nothing"
TELLING = (Bind, Evict, Nominate, OpenGate)
"""What happens to pods; the rest tells of it."""


@dataclass(frozen=True)
class DecisionDifference:
    """One pod, pod group or queue: what was decided about it first, and second."""

    subject: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.before} -> {self.after}"

    def as_data(self) -> dict[str, str]:
        return {"subject": self.subject, "before": self.before, "after": self.after}


def differences(
    before: Sequence[Decision], after: Sequence[Decision], *, only_pods: bool = False
) -> list[DecisionDifference]:
    """By subject, in the order of the first list; the same decisions in another order are one difference."""
    if only_pods:
        before, after = _about_pods(before), _about_pods(after)
    first, second = _by_subject(before), _by_subject(after)
    found = [
        DecisionDifference(subject, first.get(subject, NOTHING), second.get(subject, NOTHING))
        for subject in {**first, **second}
        if first.get(subject) != second.get(subject)
    ]
    if not found and not only_pods and list(before) != list(after):
        return [next(_order(before, after))]
    return found


def pod_outcomes(decisions: Sequence[Decision]) -> dict[str, str]:
    """By pod, what is to happen to it."""
    return _by_subject(_about_pods(decisions))


def _about_pods(decisions: Sequence[Decision]) -> list[Decision]:
    return [decision for decision in decisions if isinstance(decision, TELLING)]


def _by_subject(decisions: Sequence[Decision]) -> dict[str, str]:
    said: dict[str, list[str]] = {}
    for decision in decisions:
        subject, text = spoken(decision)
        said.setdefault(subject, []).append(text)
    return {subject: ", ".join(texts) for subject, texts in said.items()}


def _order(before: Sequence[Decision], after: Sequence[Decision]) -> Iterator[DecisionDifference]:
    for number, (one, other) in enumerate(zip(before, after, strict=False), start=1):
        if one != other:
            yield DecisionDifference(
                f"decision {number} in order", " ".join(spoken(one)), " ".join(spoken(other))
            )
    # Whatever is left is equal but for what no comparison looks at.
    yield DecisionDifference("decisions", "as recorded", "equal, but written otherwise")


def spoken(decision: Decision) -> tuple[str, str]:
    """The object it is about, and what it says."""
    match decision:
        case Bind():
            return f"pod {decision.pod}", f"bound to {decision.node}"
        case Evict():
            purpose = f" for {decision.beneficiary}" if decision.beneficiary else ""
            return f"pod {decision.pod}", f"evicted from {decision.node}{purpose} ({decision.reason})"
        case Nominate():
            where = f"nominated to {decision.node}" if decision.node else "nomination withdrawn"
            return f"pod {decision.pod}", where
        case OpenGate():
            return f"pod {decision.pod}", "gate opened"
        case Tell():
            return f"message of pod {decision.pod}", f"{decision.reason}: {decision.message}"
        case UpdatePodGroup():
            return f"podgroup {decision.pod_group}", _status(decision)
        case UpdateQueue():
            return f"queue {decision.queue}", f"holds {decision.allocated}"
        case UpdateShard():
            return (
                f"nodeshard {decision.shard}",
                f"uses {', '.join(decision.status.nodes_in_use) or 'no node'}",
            )


def _status(decision: UpdatePodGroup) -> str:
    status = decision.status
    counts = f"{status.running} running, {status.succeeded} succeeded, {status.failed} failed"
    return f"{status.phase} ({counts}{''.join(map(_condition, status.conditions))})"


def _condition(one: Condition) -> str:
    since = f"{one.transition_id}, {one.last_transition_time}"
    return f"; {one.type} {one.status} {one.reason}: {one.message} ({since})"


ADMITTING, CLOSING = "enqueue", "close"


@dataclass(frozen=True)
class ActionReport:
    """One action of a cycle, or its closing."""

    action: str
    decided: tuple[str, ...]
    remarks: tuple[str, ...]
    """What was said about jobs meanwhile; tasks of which the same was said share a line."""

    def as_data(self) -> dict[str, object]:
        return {"action": self.action, "decided": list(self.decided), "remarks": list(self.remarks)}


def action_reports(report: CycleReport) -> list[ActionReport]:
    """The actions in the order they ran; at the end, what closing the session made of it all."""
    acts = [
        ActionReport(
            action,
            (*(_admitted(report) if action == ADMITTING else ()), *map(_said, decided)),
            tuple(_remarks(report, action)),
        )
        for action, decided in report.by_action.items()
    ]
    shown = {id(decision) for decided in report.by_action.values() for decision in decided}
    rest = [one for one in report.decisions if isinstance(one, TELLING) and id(one) not in shown]
    said = (*map(_said, rest), *_phases(report))
    return [*acts, ActionReport(CLOSING, said, ())]


def _admitted(report: CycleReport) -> Iterator[str]:
    for group, before, after in _new_phases(report):
        if after == INQUEUE and before in ("", PENDING):
            yield f"podgroup {group}: admitted"


def _phases(report: CycleReport) -> Iterator[str]:
    """Phases alone: the conditions behind them are told by the reasons why jobs wait."""
    for group, before, after in _new_phases(report):
        if before != after:
            yield f"podgroup {group}: {after}"


def _new_phases(report: CycleReport) -> Iterator[tuple[str, str, str]]:
    for decision in report.decisions:
        if isinstance(decision, UpdatePodGroup):
            job = report.session.jobs[decision.pod_group]
            yield decision.pod_group, job.pod_group.status.phase, decision.status.phase


def _said(decision: Decision) -> str:
    return ": ".join(spoken(decision))


def _remarks(report: CycleReport, action: str) -> Iterator[str]:
    session = report.session
    for uid in session.jobs:
        own = [note for note in session.trace.notes_of(uid) if note.speaker == action]
        for text, same in groupby(own, key=_text):
            names = [note.task for note in same if note.task]
            yield f"{uid}: {f'{len(names)} x ' if len(names) > 1 else ''}{text}"
    for queue, notes in session.trace.queues.items():
        yield from (f"queue {queue}: {_text(note)}" for note in notes if note.speaker == action)


def _text(note: Note) -> str:
    return note.diagnosis.plainly() if note.diagnosis else note.text
