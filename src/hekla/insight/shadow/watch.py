"""Watch: a shadow on a live cluster, for a while or until somebody says stop."""

from __future__ import annotations

import asyncio
import math
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from hekla.clock import Clock, WallClock, stopwatch
from hekla.cluster.kubernetes.following import Follower
from hekla.errors import HeklaError
from hekla.insight.shadow.feed import Feed
from hekla.insight.shadow.lane import Lane
from hekla.insight.shadow.shadow import Shadow, ShadowOptions
from hekla.insight.shadow.verdict import Verdict
from hekla.kube.access import Access
from hekla.kube.client import Client

STALE_AFTER = 60.0
T = TypeVar("T")


@dataclass(frozen=True)
class WatchOptions:
    """Whose pods are followed, how often is decided, and for how long; seconds."""

    scheduler_names: tuple[str, ...] = ("volcano",)
    period: float = 1.0
    duration: float | None = None
    """None: until somebody says stop."""
    shadow: ShadowOptions = field(default_factory=ShadowOptions)


@dataclass(frozen=True)
class Hearer:
    """Whom to tell what; all on the thread of the event loop."""

    difference: Callable[[Verdict], None]
    remark: Callable[[str], None]


async def watch_cluster(
    access: Access,
    lanes: Sequence[Lane],
    hearer: Hearer,
    options: WatchOptions | None = None,
    clock: Clock | None = None,
) -> Shadow:
    """Follow the cluster and tell differences as they come to light; the shadow as it ended."""
    options = options or WatchOptions()
    async with Client(access) as client:
        follower = Follower(client)
        feed = Feed(follower.store, options.scheduler_names, clock or WallClock())
        shadow = Shadow(feed, lanes, options.shadow)
        stop = asyncio.Event()
        for sign in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(sign, stop.set)
        following = asyncio.create_task(follower.run())
        deciding = asyncio.create_task(_decide(follower, shadow, hearer, options, stop))
        try:
            done, _ = await asyncio.wait({following, deciding}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in (following, deciding):
                task.cancel()
            await asyncio.gather(following, deciding, return_exceptions=True)
            for lane in lanes:
                await asyncio.to_thread(lane.close)
    return shadow


async def _decide(
    follower: Follower, shadow: Shadow, hearer: Hearer, options: WatchOptions, stop: asyncio.Event
) -> None:
    lacking = await _unless(stop, follower.synced())
    if lacking is None:
        return
    for kind in lacking:
        hearer.remark(f"{kind}; decided without")
    hearer.remark(f"in sync: {sum(1 for _ in follower.store)} objects")
    end = math.inf if options.duration is None else stopwatch() + options.duration
    teller = _Steps(shadow, hearer)
    while not stop.is_set() and stopwatch() < end:
        began = stopwatch()
        trouble = follower.trouble(STALE_AFTER)
        if trouble:
            teller.remark(f"the API server is not heard of, nothing is decided: {trouble}")
        else:
            await teller.step()
        await _pause(stop, min(options.period - (stopwatch() - began), end - stopwatch()))
    # What happened since the last cycle is judged as well.
    await teller.step()


class _Steps:
    """Steps of the shadow in a thread of their own; the same trouble is told once."""

    def __init__(self, shadow: Shadow, hearer: Hearer) -> None:
        self._shadow = shadow
        self._hearer = hearer
        self._trouble = ""

    async def step(self) -> None:
        try:
            verdicts = await asyncio.to_thread(self._shadow.step)
        except HeklaError as error:
            self.remark(f"cycle failed: {error}")
            return
        self._trouble = ""
        for verdict in verdicts:
            self._hearer.difference(verdict)

    def remark(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._hearer.remark(trouble)
        self._trouble = trouble


async def _unless(stop: asyncio.Event, awaited: Awaitable[T]) -> T | None:
    """What is awaited, unless somebody says stop before."""
    wanted, stopped = asyncio.ensure_future(awaited), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({wanted, stopped}, return_when=asyncio.FIRST_COMPLETED)
        return wanted.result() if wanted.done() else None
    finally:
        for task in (wanted, stopped):
            task.cancel()


async def _pause(stop: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(max(seconds, 0.0)):
            await stop.wait()
    except TimeoutError:
        pass
