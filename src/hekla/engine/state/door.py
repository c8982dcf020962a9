"""Door: jobs that are not admitted yet and wait for nothing else, in order, by queue and by kind.

On a crowded cluster thousands of them wait, and most cycles let in one or two. Of a kind are those that ask
their queue for the same: where one of them is turned away, so are all others until somebody is let in.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterator
from operator import itemgetter
from typing import Any

from hekla.engine.model.job import Job
from hekla.engine.model.status import Status

Place = tuple[tuple[Any, ...], Job]
"""A job, and what jobs are ordered by: no two are equal."""
Kinds = dict[Hashable, list[Place]]

order = itemgetter(0)


def waits_at_the_door(job: Job) -> bool:
    """Whether the job takes no part in anything but its admission, whatever happens to others."""
    roster = job.roster
    return (
        job.is_pending
        and job.min_resources is not None
        and not job.has_topology
        and len(roster) == len(roster.having(Status.PENDING)) > 0
        and not any([task.pod.status.nominated_node_name for task in roster.tasks.values()])
    )


def kind_of(job: Job) -> Hashable:
    """Equal for jobs of a queue that ask for the same."""
    return tuple((job.min_resources or {}).items())


class Door:
    """The jobs that wait; `whose` says what ordered them."""

    def __init__(self) -> None:
        self.whose: object = None
        self._by_queue: dict[str, Kinds] = {}
        self._place_of: dict[str, Place] = {}

    def __len__(self) -> int:
        return len(self._place_of)

    def __iter__(self) -> Iterator[Job]:
        return (job for _, job in self._place_of.values())

    def __contains__(self, uid: object) -> bool:
        return uid in self._place_of

    def add(self, job: Job, key: tuple[Any, ...]) -> None:
        place = self._place_of[job.uid] = (key, job)
        line = self._by_queue.setdefault(job.queue, {}).setdefault(kind_of(job), [])
        insort(line, place, key=order)

    def remove(self, uid: str) -> None:
        place = self._place_of.pop(uid, None)
        if place is None:
            return
        key, job = place
        kinds = self._by_queue[job.queue]
        line = kinds[kind_of(job)]
        del line[bisect_left(line, key, key=order)]
        if not line:
            del kinds[kind_of(job)]
            if not kinds:
                del self._by_queue[job.queue]

    def kinds_by_queue(self) -> dict[str, Kinds]:
        """Lists of their own: who is let in no longer waits at the door, but keeps the place in line."""
        return {
            queue: {kind: list(line) for kind, line in kinds.items()}
            for queue, kinds in self._by_queue.items()
        }
