"""Watch: a shadow on a live cluster, for a while or until somebody says stop."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hekla.clock import Clock, WallClock, stopwatch
from hekla.cluster.kubernetes.following import Follower
from hekla.kube.access import Access
from hekla.kube.client import Client
from hekla.shadow.feed import Feed
from hekla.shadow.lane import Lane
from hekla.shadow.shadow import Shadow, ShadowOptions
from hekla.shadow.verdict import Verdict

STALE_AFTER = 60.0


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
        try:
            await _decide(follower, shadow, hearer, options, stop)
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
    return shadow


async def _decide(
    follower: Follower, shadow: Shadow, hearer: Hearer, options: WatchOptions, stop: asyncio.Event
) -> None:
    for lacking in await follower.synced():
        hearer.remark(f"{lacking}; decided without")
    hearer.remark(f"in sync: {sum(1 for _ in follower.store)} objects")
    end = None if options.duration is None else stopwatch() + options.duration
    silence = ""
    while not stop.is_set():
        began = stopwatch()
        trouble = follower.trouble(STALE_AFTER)
        if trouble and trouble != silence:
            hearer.remark(f"the API server is not heard of, nothing is decided: {trouble}")
        silence = trouble
        if not trouble:
            for verdict in await asyncio.to_thread(shadow.step):
                hearer.difference(verdict)
        left = options.period - (stopwatch() - began)
        if end is not None and stopwatch() + left >= end:
            await _pause(stop, end - stopwatch())
            break
        await _pause(stop, left)
    # What happened since the last cycle is judged as well.
    for verdict in await asyncio.to_thread(shadow.step):
        hearer.difference(verdict)


async def _pause(stop: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(max(seconds, 0.0)):
            await stop.wait()
    except TimeoutError:
        pass
