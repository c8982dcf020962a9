"""Back-off: what failed rests before it is tried again, longer each time; so do background tasks."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from hekla.clock import stopwatch

Key = TypeVar("Key", bound=Hashable)


logger = logging.getLogger("hekla.cluster")


class BackOff(Generic[Key]):
    """`on_rest` and `on_wake` hear of a job, pod or object when its rest begins and ends."""

    def __init__(
        self,
        first: float,
        longest: float,
        on_rest: Callable[[Key], None],
        on_wake: Callable[[Key], None],
    ) -> None:
        self._first = first
        self._longest = longest
        self._on_rest = on_rest
        self._on_wake = on_wake
        self._rests: dict[Key, float] = {}
        self._timers: dict[Key, asyncio.TimerHandle] = {}

    def failed(self, key: Key, at_least: float = 0.0) -> None:
        """It rests from now on, unless it does already; for so many seconds at least."""
        if not key or key in self._timers:
            return
        rest = self._rests[key] = min(2 * self._rests.get(key, self._first / 2), self._longest)
        self.rest(key, max(rest, at_least))

    def rest(self, key: Key, seconds: float) -> None:
        """It rests for so long, however long it was to rest before."""
        if key in self._timers:
            self._timers[key].cancel()
        self._timers[key] = asyncio.get_running_loop().call_later(seconds, self._wake, key)
        self._on_rest(key)

    def succeeded(self, key: Key) -> None:
        """The next failure is a first one again."""
        if key not in self._timers:
            self._rests.pop(key, None)

    def forget(self, key: Key) -> None:
        """It is gone."""
        self._rests.pop(key, None)
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()

    def rests(self, key: Key) -> bool:
        return key in self._timers

    def has_failed(self, key: Key) -> bool:
        """Whether the last time that it was tried was a failure."""
        return key in self._rests

    def _wake(self, key: Key) -> None:
        self._timers.pop(key, None)
        self._on_wake(key)


class Background:
    """Keeps background tasks running: none ends unnoticed, one that fails is logged, counted and begun again.

    The pause before that doubles, unless it ran for a while.
    """

    def __init__(self, first_pause: float = 0.25, longest_pause: float = 30.0) -> None:
        self._first_pause = first_pause
        self._longest_pause = longest_pause
        self.failures: Counter[str] = Counter()
        """By task, how often it failed in a way that was not foreseen."""

    async def keep(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Do the work until it is done or cancelled, however often it fails."""
        pause = self._first_pause
        while True:
            began = stopwatch()
            try:
                return await work()
            except Exception:
                self.failures[name] += 1
                if stopwatch() - began > self._longest_pause:
                    pause = self._first_pause
                logger.exception(
                    'background task "%s" failed in an unforeseen way; begun again in %.2f s', name, pause
                )
            await asyncio.sleep(pause)
            pause = min(2 * pause, self._longest_pause)
