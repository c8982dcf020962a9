"""Shadow: lanes that hear of every change, and a judge for each of them.

Changes are taken in order. Before a deed is judged, every lane has seen the cluster as it was just then:
where there was news since the latest cycle, another one is run first.
"""

from __future__ import annotations

import asyncio
import math
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from hekla.clock import Clock, WallClock, stopwatch
from hekla.cluster.kubernetes.api.access import Access
from hekla.cluster.kubernetes.api.client import Client
from hekla.cluster.kubernetes.following import Follower
from hekla.errors import HeklaError
from hekla.insight.shadow.candidate import Change, Deed, Feed, Lane
from hekla.insight.shadow.judge import Judge, Patience
from hekla.insight.shadow.verdict import Tally, Verdict
from hekla.objects import Pod

MOST_KEPT = 10_000


@dataclass(frozen=True)
class ShadowOptions:
    """How closely the other scheduler is followed."""

    patience: Patience = field(default_factory=Patience)
    cycles_per_step: int = 20
    """How many cycles are run to catch up; in a flood of news, later deeds are judged by earlier facts."""


class Shadow:
    """Everything but the server; `step` takes in whatever has happened."""

    def __init__(self, feed: Feed, lanes: Sequence[Lane], options: ShadowOptions | None = None) -> None:
        self.options = options or ShadowOptions()
        self.judges = [Judge(lane, self.options.patience) for lane in lanes]
        self.tallies = {lane.name: Tally(lane.name) for lane in lanes}
        self.differences: list[Verdict] = []
        self.left_out = 0
        """Differences that were told and counted, and are too many to be kept."""
        self.changed_by_candidate = 0
        """Deeds that the lanes do not all agree on."""
        self._feed = feed
        self._has_news = True

    def step(self) -> list[Verdict]:
        """Take in all changes and look at the cluster anew; the differences that come to light."""
        verdicts: list[Verdict] = []
        cycles_left = self.options.cycles_per_step
        while (change := self._feed.next()) is not None:
            if change.deed is not None:
                if self._has_news and cycles_left > 0:
                    cycles_left -= 1
                    verdicts += self._predict()
                judged = self._judge(change.deed)
                verdicts += judged
                # What it does next follows from what it did, not from what we would have done.
                self._has_news = any(verdict.kind.is_difference for verdict in judged)
            self._take(change)
        verdicts += self._predict()
        return self._noted(verdicts)

    def _take(self, change: Change) -> None:
        self._has_news |= change.is_news
        for judge in self.judges:
            judge.lane.take(change)
            if isinstance(change.manifest, Pod) and (change.deed is not None or not change.is_there):
                judge.forget(change.manifest)

    def _predict(self) -> list[Verdict]:
        self._has_news = False
        return [verdict for judge in self.judges for verdict in judge.predict()]

    def _judge(self, deed: Deed) -> list[Verdict]:
        verdicts = [judge.judge(deed) for judge in self.judges]
        self.changed_by_candidate += len({verdict.kind.is_difference for verdict in verdicts}) > 1
        return verdicts

    def _noted(self, verdicts: list[Verdict]) -> list[Verdict]:
        differences = [verdict for verdict in verdicts if verdict.kind.is_difference]
        for verdict in verdicts:
            self.tallies[verdict.lane].add(verdict)
        room = MOST_KEPT - len(self.differences)
        self.differences += differences[:room]
        self.left_out += max(0, len(differences) - room)
        return differences

    def summary(self) -> dict[str, object]:
        """All that was found, as plain data."""
        return {
            "configurations": [self._of_lane(judge) for judge in self.judges],
            "disagreements": self.changed_by_candidate,
            "differencesLeftOut": self.left_out,
        }

    def _of_lane(self, judge: Judge) -> dict[str, object]:
        lane = judge.lane
        mean = lane.seconds / max(lane.cycles, 1)
        return {
            **self.tallies[lane.name].as_data(),
            "waitingThatWouldRun": len(judge.wishes.binds),
            "cycles": lane.cycles,
            "meanCycleSeconds": round(mean, 6),
        }


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
