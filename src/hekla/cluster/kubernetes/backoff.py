"""Back-off: a job whose bind failed rests before it is tried again, longer each time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class BackOff:
    """`on_rest` and `on_wake` hear of the job when its rest begins and ends."""

    def __init__(
        self, first: float, longest: float, on_rest: Callable[[str], None], on_wake: Callable[[str], None]
    ) -> None:
        self._first = first
        self._longest = longest
        self._on_rest = on_rest
        self._on_wake = on_wake
        self._rests: dict[str, float] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def failed(self, job: str) -> None:
        """The job rests from now on, unless it does already."""
        if not job or job in self._timers:
            return
        rest = self._rests[job] = min(2 * self._rests.get(job, self._first / 2), self._longest)
        self._timers[job] = asyncio.get_running_loop().call_later(rest, self._wake, job)
        self._on_rest(job)

    def succeeded(self, job: str) -> None:
        """The next failure is a first one again."""
        if job not in self._timers:
            self._rests.pop(job, None)

    def forget(self, job: str) -> None:
        """The job is gone."""
        self._rests.pop(job, None)
        timer = self._timers.pop(job, None)
        if timer is not None:
            timer.cancel()

    def _wake(self, job: str) -> None:
        self._timers.pop(job, None)
        self._on_wake(job)
