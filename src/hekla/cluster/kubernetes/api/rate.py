"""Rate: so many calls a second on average, and so many at once."""

from __future__ import annotations

import asyncio
import math

from hekla.clock import stopwatch


class Rate:
    """A bucket that fills with `per_second` turns a second and holds `burst`; 0 a second means no limit."""

    def __init__(self, per_second: float = 0.0, burst: int = 1) -> None:
        self._per_second = per_second if per_second > 0 else math.inf
        self._burst = max(burst, 1)
        self._left = float(self._burst)
        self._filled_at = stopwatch()

    async def turn(self) -> None:
        """Wait for a turn; those who wait are served in the order of their coming."""
        if math.isinf(self._per_second):
            return
        now = stopwatch()
        self._left = min(self._burst, self._left + (now - self._filled_at) * self._per_second)
        self._filled_at = now
        self._left -= 1.0
        if self._left < 0:
            await asyncio.sleep(-self._left / self._per_second)
