"""Timeline: what time it is in the cluster, what is due later, and the log of what happened."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from itertools import count
from typing import Generic, TypeVar

import msgspec

from hekla.objects import Manifest, VolcanoJob
from hekla.objects.complaint import Complaint

_TICK = timedelta(microseconds=1)


class Arrival(msgspec.Struct, frozen=True):
    """An object is submitted."""

    manifest: Manifest


class PodDue(msgspec.Struct, frozen=True):
    """Something happens to a pod, if it is still the same one by then."""

    key: str
    uid: str


class PodStart(PodDue, frozen=True):
    """Its containers start."""


class Finish(PodDue, frozen=True):
    """Its containers end."""


class Vanish(PodDue, frozen=True):
    """Its grace period is over."""


Due = Arrival | PodStart | Finish | Vanish
What = TypeVar("What")


class Timeline(Generic[What]):
    """The present moment and a heap of what is due; equal times in the order of planning.

    `origin` is what zero means, in seconds since 1970.
    """

    def __init__(self, start: float, origin: float = 0.0) -> None:
        self.start = start
        self.now = start
        self._origin = origin
        self._heap: list[tuple[float, int, What]] = []
        self._numbers = count()
        self._last_stamp = datetime.min.replace(tzinfo=UTC)

    def plan(self, due: float, what: What) -> None:
        heappush(self._heap, (max(due, self.now), next(self._numbers), what))

    def first(self) -> tuple[float, What] | None:
        return (self._heap[0][0], self._heap[0][2]) if self._heap else None

    def pop(self) -> What:
        return heappop(self._heap)[2]

    def pop_due(self) -> What | None:
        """The next that is due by now; None where nothing is."""
        return self.pop() if self._heap and self._heap[0][0] <= self.now else None

    def move_to(self, moment: float) -> None:
        """Time never runs back."""
        self.now = max(self.now, moment)

    @property
    def moment(self) -> datetime:
        return datetime.fromtimestamp(self._origin + self.now, UTC)

    def stamp(self) -> datetime:
        """A creation time: now, and later than every stamp before, so that the order of creation shows."""
        self._last_stamp = max(self.moment, self._last_stamp + _TICK)
        return self._last_stamp


MOST_EVENTS = 100_000
"""Older events are forgotten: a long life must not fill the memory."""


class Happening(msgspec.Struct, frozen=True):
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


class EventLog:
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
