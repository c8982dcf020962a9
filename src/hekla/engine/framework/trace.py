"""Trace: what happened to every job in a cycle and why, kept for `hekla explain`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import msgspec

from hekla.engine.model.diagnosis import Diagnosis
from hekla.engine.model.wait_reason import Verdict, WaitReason


class Note(msgspec.Struct, frozen=True):
    """One thing that was said about a job: who said it (an action or a plugin), and what."""

    speaker: str
    text: str
    task: str = ""
    diagnosis: Diagnosis | None = None
    code: WaitReason | None = None
    """What it comes to, where the speaker says so."""
    verdict: Verdict | None = None
    """Whether that passes, where the code alone does not say it."""

    def __str__(self) -> str:
        subject = f"{self.task}: " if self.task else ""
        return f"{self.speaker}: {subject}{self.diagnosis.plainly() if self.diagnosis else self.text}"


class CycleTrace:
    """Notes by job and by queue; equal notes in a row are kept once.

    Of jobs that wait unseen, because nothing has changed for them, it has what was said before.
    """

    def __init__(self, before: Mapping[str, list[Note]] | None = None) -> None:
        self.jobs: dict[str, list[Note]] = defaultdict(list)
        """What was said in this session."""
        self._before: Mapping[str, list[Note]] = before or {}
        self.queues: dict[str, list[Note]] = defaultdict(list)
        self.speaker = ""
        """The action that is running."""

    def of_job(
        self,
        job: str,
        text: str,
        *,
        speaker: str = "",
        code: WaitReason | None = None,
        verdict: Verdict | None = None,
    ) -> None:
        _append(self.jobs[job], Note(speaker or self.speaker, text, code=code, verdict=verdict))

    def of_queue(self, queue: str, text: str, *, speaker: str = "", code: WaitReason | None = None) -> None:
        _append(self.queues[queue], Note(speaker or self.speaker, text, code=code))

    def notes_of(self, job: str) -> list[Note]:
        """What is to be said of the job."""
        return self.jobs[job] if job in self.jobs else self._before.get(job, [])

    def said_of(self, job: str) -> list[str]:
        return [str(note) for note in self.notes_of(job)]

    def repeat(self, job: str, of: str) -> None:
        """What was said of the one job holds of the other, too."""
        self.jobs[of] = list(self.jobs[job])

    def refused(self, job: str, task: str, diagnosis: Diagnosis) -> None:
        """A task found no node."""
        self.jobs[job].append(Note(self.speaker, str(diagnosis), task, diagnosis))


class NullTrace(CycleTrace):
    """For cycles whose reasons are not read: nothing is kept."""

    def of_job(
        self,
        job: str,
        text: str,
        *,
        speaker: str = "",
        code: WaitReason | None = None,
        verdict: Verdict | None = None,
    ) -> None:
        pass

    def of_queue(self, queue: str, text: str, *, speaker: str = "", code: WaitReason | None = None) -> None:
        pass

    def refused(self, job: str, task: str, diagnosis: Diagnosis) -> None:
        pass


def _append(notes: list[Note], note: Note) -> None:
    if not notes or notes[-1] != note:
        notes.append(note)
