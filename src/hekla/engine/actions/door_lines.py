"""Door lines: who of a queue's jobs is asked for next, while whole kinds of them are passed over."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Hashable, Iterable
from typing import Any

from hekla.engine.framework.session import Session
from hekla.engine.model.job import Job
from hekla.engine.state.door import Kinds, kind_of, order


class DoorLine:
    """Jobs in order. A kind of which one was turned away is passed over until somebody is let in.

    Asked for one by one, all of the kind that come before that would be turned away, too.
    """

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self._next: dict[Hashable, int] = dict.fromkeys(kinds, 0)
        """By kind that is not passed over, the place of the job that comes next."""
        self._passed_over: list[Hashable] = []
        self._latest: tuple[Hashable, tuple[Any, ...]] | None = None

    def __len__(self) -> int:
        return len(self._next)

    def pop(self) -> Job:
        kind = min(self._next, key=lambda kind: self._kinds[kind][self._next[kind]][0])
        key, job = self._kinds[kind][self._next[kind]]
        self._latest = kind, key
        self._move(kind, self._next[kind] + 1)
        return job

    def pass_over(self) -> None:
        """The job that was asked for last is turned away."""
        assert self._latest is not None
        kind, _ = self._latest
        self._next.pop(kind, None)
        self._passed_over.append(kind)

    def begin_again(self) -> None:
        """Somebody was let in: all that come after the job that was asked for last are asked for."""
        for kind in self._passed_over:
            assert self._latest is not None
            self._move(kind, bisect_right(self._kinds[kind], self._latest[1], key=order))
        self._passed_over.clear()

    def _move(self, kind: Hashable, place: int) -> None:
        if place < len(self._kinds[kind]):
            self._next[kind] = place
        else:
            self._next.pop(kind, None)


def door_lines(session: Session, others: Iterable[Job]) -> dict[str, DoorLine]:
    """By queue, the jobs at the door together with others that wait to be admitted."""
    by_queue = session.snapshot.state.door.kinds_by_queue()
    for job in others:
        line = by_queue.setdefault(job.queue, {}).setdefault(kind_of(job), [])
        insort(line, (session.job_key(job), job), key=order)
    return {queue: DoorLine(kinds) for queue, kinds in by_queue.items()}
