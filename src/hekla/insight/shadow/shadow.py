"""Shadow: candidates that follow every change, and a comparator for each of them.

Changes are taken in order. Before an action is compared, every candidate has seen the cluster as it was then:
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
from hekla.insight.shadow.candidate import Candidate, Feed, FeedChange, ObservedAction
from hekla.insight.shadow.comparator import Comparator, FindingCounts, Patience, PodFinding
from hekla.objects import Pod
from hekla.text import counted

MOST_KEPT = 10_000


@dataclass(frozen=True)
class ShadowOptions:
    """How closely the other scheduler is followed."""

    patience: Patience = field(default_factory=Patience)
    cycles_per_step: int = 20
    """How many cycles are run to catch up; with more news, later actions are compared by earlier facts."""


class Shadow:
    """Everything but the server; `step` takes in whatever has happened."""

    def __init__(
        self, feed: Feed, candidates: Sequence[Candidate], options: ShadowOptions | None = None
    ) -> None:
        self.options = options or ShadowOptions()
        self.comparators = [Comparator(candidate, self.options.patience) for candidate in candidates]
        self.counts = {candidate.name: FindingCounts(candidate.name) for candidate in candidates}
        self.differences: list[PodFinding] = []
        self.left_out = 0
        """Differences that were told and counted, and are too many to be kept."""
        self.changed_by_candidate = 0
        """Actions that the candidates do not all agree on."""
        self._feed = feed
        self._has_news = True

    def step(self) -> list[PodFinding]:
        """Take in all changes and look at the cluster anew; the differences that come to light."""
        findings: list[PodFinding] = []
        cycles_left = self.options.cycles_per_step
        while (change := self._feed.next()) is not None:
            if change.action is not None:
                if self._has_news and cycles_left > 0:
                    cycles_left -= 1
                    findings += self._predict()
                compared = self._compare(change.action)
                findings += compared
                # What it does next follows from what it did, not from what we would have done.
                self._has_news = any(finding.kind.is_difference for finding in compared)
            self._take(change)
        findings += self._predict()
        return self._noted(findings)

    def _take(self, change: FeedChange) -> None:
        self._has_news |= change.is_news
        for comparator in self.comparators:
            comparator.candidate.take(change)
            if isinstance(change.manifest, Pod) and (change.action is not None or not change.is_there):
                comparator.forget(change.manifest)

    def _predict(self) -> list[PodFinding]:
        self._has_news = False
        return [finding for comparator in self.comparators for finding in comparator.predict()]

    def _compare(self, action: ObservedAction) -> list[PodFinding]:
        findings = [comparator.compare(action) for comparator in self.comparators]
        self.changed_by_candidate += len({finding.kind.is_difference for finding in findings}) > 1
        return findings

    def _noted(self, findings: list[PodFinding]) -> list[PodFinding]:
        differences = [finding for finding in findings if finding.kind.is_difference]
        for finding in findings:
            self.counts[finding.candidate].add(finding)
        room = MOST_KEPT - len(self.differences)
        self.differences += differences[:room]
        self.left_out += max(0, len(differences) - room)
        return differences

    def summary(self) -> dict[str, object]:
        """All that was found, as plain data."""
        return {
            "configurations": [self._of_candidate(comparator) for comparator in self.comparators],
            "disagreements": self.changed_by_candidate,
            "differencesLeftOut": self.left_out,
        }

    def _of_candidate(self, comparator: Comparator) -> dict[str, object]:
        candidate = comparator.candidate
        mean = candidate.seconds / max(candidate.cycles, 1)
        return {
            **self.counts[candidate.name].as_data(),
            "waitingThatWouldRun": len(comparator.planned.binds),
            "cycles": candidate.cycles,
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
    """None: until it is interrupted."""
    shadow: ShadowOptions = field(default_factory=ShadowOptions)


@dataclass(frozen=True)
class Listener:
    """Is told of differences and remarks, on the thread of the event loop."""

    difference: Callable[[PodFinding], None]
    remark: Callable[[str], None]


async def watch_cluster(
    access: Access,
    candidates: Sequence[Candidate],
    listener: Listener,
    options: WatchOptions | None = None,
    clock: Clock | None = None,
) -> Shadow:
    """Follow the cluster and tell differences as they come to light; the shadow as it ended."""
    options = options or WatchOptions()
    async with Client(access) as client:
        follower = Follower(client)
        feed = Feed(follower.store, options.scheduler_names, clock or WallClock())
        shadow = Shadow(feed, candidates, options.shadow)
        stop = asyncio.Event()
        for sign in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(sign, stop.set)
        following = asyncio.create_task(follower.run())
        deciding = asyncio.create_task(_decide(follower, shadow, listener, options, stop))
        try:
            done, _ = await asyncio.wait({following, deciding}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in (following, deciding):
                task.cancel()
            await asyncio.gather(following, deciding, return_exceptions=True)
            for candidate in candidates:
                await asyncio.to_thread(candidate.close)
    return shadow


async def _decide(
    follower: Follower, shadow: Shadow, listener: Listener, options: WatchOptions, stop: asyncio.Event
) -> None:
    lacking = await _unless(stop, follower.synced())
    if lacking is None:
        return
    for kind in lacking:
        listener.remark(f"{kind}; decided without")
    listener.remark(f"in sync: {counted(sum(1 for _ in follower.store), 'object')}")
    end = math.inf if options.duration is None else stopwatch() + options.duration
    writer = _Steps(shadow, listener)
    while not stop.is_set() and stopwatch() < end:
        began = stopwatch()
        trouble = follower.trouble(STALE_AFTER)
        if trouble:
            writer.remark(f"the API server is not heard of, nothing is decided: {trouble}")
        else:
            await writer.step()
        await _pause(stop, min(options.period - (stopwatch() - began), end - stopwatch()))
    # What happened since the last cycle is compared as well.
    await writer.step()


class _Steps:
    """Steps of the shadow in a thread of their own; the same trouble is told once."""

    def __init__(self, shadow: Shadow, listener: Listener) -> None:
        self._shadow = shadow
        self._listener = listener
        self._trouble = ""

    async def step(self) -> None:
        try:
            findings = await asyncio.to_thread(self._shadow.step)
        except HeklaError as error:
            self.remark(f"cycle failed: {error}")
            return
        self._trouble = ""
        for finding in findings:
            self._listener.difference(finding)

    def remark(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._listener.remark(trouble)
        self._trouble = trouble


async def _unless(stop: asyncio.Event, awaited: Awaitable[T]) -> T | None:
    """What is awaited, unless it is stopped before."""
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
