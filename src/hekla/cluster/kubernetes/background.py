"""Background tasks: none of them ends unnoticed. One that fails is told, counted, and begun again."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable

from hekla.clock import stopwatch

logger = logging.getLogger("hekla.cluster")


class Background:
    """Keeps tasks running; the pause before one is begun again doubles, unless it ran for a while."""

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
