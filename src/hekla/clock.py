"""The only reader of time: everything else is handed a Clock."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Seconds since 1970, and a way to let them pass."""

    def now(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...


class WallClock:
    """The time on the wall."""

    def now(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))


class VirtualClock:
    """Time that passes only when told to."""

    def __init__(self, start: float = 0.0) -> None:
        self._now = start

    def now(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += max(0.0, seconds)


stopwatch = time.perf_counter
"""A monotonic reading for measuring how long work took; decisions never depend on it."""
