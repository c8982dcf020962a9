"""Outbox: writes that are to be made, the important ones first, so many at a time.

Binds go before everything else, and events for people come last. A write of the same thing that waits
already is replaced: only the latest state is worth writing.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from enum import IntEnum
from itertools import count

from hekla.cluster.kubernetes.backoff import Background

logger = logging.getLogger("hekla.cluster")
MOST_EVENTS = 50_000
"""Events that wait; when there are more, new ones are dropped and counted."""


class WriteRank(IntEnum):
    BIND = 0
    EVICTION = 1
    OBJECT = 2
    POD_GROUP = 3
    QUEUE = 4
    POD = 5
    EVENT = 6


Write = Callable[[], Awaitable[None]]


class Outbox:
    """Takes writes at any time; `run` makes them."""

    def __init__(self, in_flight: int, background: Background | None = None) -> None:
        self._in_flight = in_flight
        self._background = background or Background()
        self._line: asyncio.PriorityQueue[tuple[WriteRank, int, str]] = asyncio.PriorityQueue()
        self._writes: dict[str, Write] = {}
        self._numbers = count()
        self._busy: set[str] = set()
        self._again: dict[str, WriteRank] = {}
        """What is to be written once the write of it that is under way has ended: the latest comes last."""
        self.waiting: Counter[WriteRank] = Counter()
        self.dropped: Counter[WriteRank] = Counter()
        self.under_way: Counter[WriteRank] = Counter()

    def put(self, rank: WriteRank, key: str, write: Write) -> None:
        """Have it written in its turn, in place of what waits under this key."""
        if key in self._writes:
            self._writes[key] = write
            return
        if rank is WriteRank.EVENT and self.waiting[rank] >= MOST_EVENTS:
            self.dropped[rank] += 1
            return
        self._writes[key] = write
        self.waiting[rank] += 1
        self._line.put_nowait((rank, next(self._numbers), key))

    def holds(self, key: str) -> bool:
        return key in self._writes

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self._in_flight):
                group.create_task(self._background.keep("outbox", self._work))

    async def _work(self) -> None:
        while True:
            rank, _, key = await self._line.get()
            if key in self._busy:
                self._again[key] = rank
                continue
            write = self._writes.pop(key)
            self._busy.add(key)
            self.waiting[rank] -= 1
            self.under_way[rank] += 1
            try:
                await write()
            except Exception:
                logger.exception("a write of %s failed in an unforeseen way", key)
            finally:
                self.under_way[rank] -= 1
                self._busy.discard(key)
                if key in self._again:
                    self._line.put_nowait((self._again.pop(key), next(self._numbers), key))

    @property
    def is_empty(self) -> bool:
        return not self._writes and not any(self.under_way.values())

    @property
    def has_only_events(self) -> bool:
        """Nothing waits but events, on which nothing depends."""
        return all(
            not self.waiting[rank] and not self.under_way[rank]
            for rank in WriteRank
            if rank < WriteRank.EVENT
        )

    async def drain(self, seconds: float) -> bool:
        """Wait until all that matters is written, for so long at most; whether it was."""
        try:
            async with asyncio.timeout(seconds):
                while not self.has_only_events:
                    await asyncio.sleep(0.02)
        except TimeoutError:
            return False
        return True
