"""Chronicle: what happened in the cluster, and what in the input cannot be used."""

from __future__ import annotations

from dataclasses import dataclass

from hekla.cluster.embedded.timeline import Due, Timeline
from hekla.objects import Manifest, VolcanoJob
from hekla.objects.complaint import Complaint

MOST_EVENTS = 100_000
"""Older events are forgotten: a long life must not fill the memory."""


@dataclass(frozen=True)
class Happening:
    """One thing that happened to one object, such as `pod default/train-0`."""

    time: float
    object: str
    reason: str
    message: str

    def __str__(self) -> str:
        return f"{self.time:.3f} {self.object} {self.reason}: {self.message}"


def called(manifest: Manifest) -> str:
    """Kind and name, as messages and events call an object."""
    kind = "job" if isinstance(manifest, VolcanoJob) else type(manifest).__name__.lower()
    return f"{kind} {manifest.key}"


class Chronicle:
    """Events in order of time; complaints each told once."""

    def __init__(self, timeline: Timeline[Due]) -> None:
        self._timeline = timeline
        self.events: list[Happening] = []
        self.complaints: list[Complaint] = []
        self._told: set[Complaint] = set()

    def tell(self, subject: str, reason: str, message: str) -> None:
        self.events.append(Happening(self._timeline.now, subject, reason, message))
        if len(self.events) > 2 * MOST_EVENTS:
            del self.events[:MOST_EVENTS]

    def complain(self, complaint: Complaint) -> None:
        if complaint not in self._told:
            self._told.add(complaint)
            self.complaints.append(complaint)
