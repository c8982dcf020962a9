"""Acts: a cycle told action by action: what each decided, and what it said of those it could not serve."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from hekla.framework.decisions import Decision, UpdatePodGroup
from hekla.framework.story import Note
from hekla.insight.replay.differences import TELLING, spoken
from hekla.model.job import INQUEUE, PENDING
from hekla.scheduler.cycle import CycleReport

ADMITTING, CLOSING = "enqueue", "close"


@dataclass(frozen=True)
class Act:
    """One action of a cycle, or its closing."""

    action: str
    decided: tuple[str, ...]
    remarks: tuple[str, ...]
    """What was said about jobs meanwhile; tasks of which the same was said share a line."""

    def as_data(self) -> dict[str, object]:
        return {"action": self.action, "decided": list(self.decided), "remarks": list(self.remarks)}


def acts_of(report: CycleReport) -> list[Act]:
    """The actions in the order they ran; at the end, what closing the session made of it all."""
    acts = [
        Act(
            action,
            (*(_admitted(report) if action == ADMITTING else ()), *map(_said, decided)),
            tuple(_remarks(report, action)),
        )
        for action, decided in report.by_action.items()
    ]
    shown = {id(decision) for decided in report.by_action.values() for decision in decided}
    rest = [one for one in report.decisions if isinstance(one, TELLING) and id(one) not in shown]
    said = (*map(_said, rest), *_phases(report))
    return [*acts, Act(CLOSING, said, ())]


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
    for uid, notes in session.story.jobs.items():
        own = [note for note in notes if note.speaker == action]
        for text, same in groupby(own, key=_text):
            names = [note.task for note in same if note.task]
            yield f"{uid}: {f'{len(names)} x ' if len(names) > 1 else ''}{text}"
    for queue, notes in session.story.queues.items():
        yield from (f"queue {queue}: {_text(note)}" for note in notes if note.speaker == action)


def _text(note: Note) -> str:
    return note.diagnosis.plainly() if note.diagnosis else note.text
