"""Reflector: all objects of one kind, listed once and followed by a watch from there on.

A watch that ends or breaks is resumed where it stood. Where the server no longer knows that moment, or was
down meanwhile, the objects are listed anew and compared: what is missing from the list is gone.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np

from hekla.clock import stopwatch
from hekla.cluster.kubernetes.api.client import Client, Refused, Unreachable
from hekla.cluster.kubernetes.api.resources import Resource
from hekla.cluster.kubernetes.api.wire import Page, Unfit, WatchEvent, Wire
from hekla.errors import ClusterError, said_by
from hekla.objects import Manifest
from hekla.objects.complaint import Complaint

PAGE = "1000"
DEADLINE_MARGIN = 15.0
"""How long after its own end a watch may be silent before its connection counts as dead."""
ALWAYS = sys.maxsize
"""Later than any version: a list that is believed even against newer facts."""
TOO_LARGE = "too large resource version"
M = TypeVar("M", bound=Manifest)
logger = logging.getLogger("hekla.cluster.kubernetes.api")


class FactSink(Protocol):
    """Who wants to know the objects."""

    def put(self, manifest: Manifest, *, listed_at: int | None = None) -> None:
        """The object looks like this, or did so in a list at that version."""

    def drop(self, kind: type[Manifest], key: str, uid: str = "", *, listed_at: int | None = None) -> None:
        """The object is gone, if it has this UID; or it was missing in a list at that version."""

    def keys(self, kind: type[Manifest]) -> set[str]: ...

    def complain(self, complaint: Complaint) -> None: ...


@dataclass(frozen=True)
class WatchPatience:
    """How long to wait for what; seconds."""

    watch: float = 240.0
    """A watch is asked to end after this, and up to half as much more, so that not all end at once."""
    first_pause: float = 0.25
    longest_pause: float = 30.0


@dataclass
class WatchHealth:
    """How a reflector is doing."""

    synced: asyncio.Event = field(default_factory=asyncio.Event)
    heard_at: float = field(default_factory=stopwatch)
    """When the server last said something, by the stopwatch; at first, since when it is waited for."""
    lists: int = 0
    breaks: int = 0
    trouble: str = ""
    """Why it is not being heard of, if it is not."""
    is_absent: bool = False
    """The server does not know the kind at all."""

    @property
    def silence(self) -> float:
        return stopwatch() - self.heard_at

    def is_stale(self, limit: float) -> bool:
        """There is trouble, and for so many seconds nothing has been heard: the facts may have changed."""
        return bool(self.trouble) and self.silence > limit


class Reflector(Generic[M]):
    """Tells `facts` of every object of the kind, and of every change, for as long as `run` runs."""

    def __init__(
        self,
        client: Client,
        resource: Resource,
        kind: type[M],
        facts: FactSink,
        *,
        patience: WatchPatience | None = None,
        dice: np.random.Generator | None = None,
        is_wanted: Callable[[M], bool] = lambda _: True,
    ) -> None:
        self._client = client
        self._resource = resource
        self._kind = kind
        self._wire = Wire(kind)
        self._facts = facts
        self._patience = patience or WatchPatience()
        self._dice = dice or np.random.default_rng()
        self._is_wanted = is_wanted
        self._work: asyncio.Task[str] | None = None
        self._starts_over = False
        self._is_set_back = False
        """The server may be at an earlier state than was heard of: its next list is right in any case."""
        self.health = WatchHealth()
        client.watermark.follow(self.start_over)

    def start_over(self) -> None:
        """What is known may be wrong altogether: list everything anew."""
        self._starts_over = self._is_set_back = True
        if self._work is not None:
            self._work.cancel()

    async def run(self) -> None:
        """List and follow, for ever; trouble is waited out."""
        try:
            await self._run()
        except Exception as error:
            # Changes of the kind are missed: the longer that lasts, the less its objects can be relied on.
            self.health.trouble = f"following failed: {said_by(error)}"
            self.health.breaks += 1
            raise

    async def _run(self) -> None:
        pause, version = self._patience.first_pause, ""
        while True:
            began = stopwatch()
            try:
                version = await self._step(version)
            except Refused as refusal:
                self._is_set_back |= TOO_LARGE in str(refusal).lower()
                if refusal.is_expired or refusal.status == 404 or self._is_set_back:
                    version = ""
                await self._wait_out(refusal, pause)
            except ClusterError as error:
                await self._wait_out(error, pause)
            else:
                pause = self._patience.first_pause
                continue
            healthy = stopwatch() - began > self._patience.longest_pause
            pause = self._patience.first_pause if healthy else min(2 * pause, self._patience.longest_pause)

    async def _step(self, version: str) -> str:
        """List, or follow from a version; the version reached, and none where all is to be listed anew."""
        if self._starts_over:
            self._starts_over, version = False, ""
        self._work = asyncio.create_task(self._follow(version) if version else self._list())
        try:
            version = await self._work
        except asyncio.CancelledError:
            self._work.cancel()
            own = asyncio.current_task()
            if not self._starts_over or (own is not None and own.cancelling()):
                raise
        finally:
            self._work = None
        return "" if self._starts_over else version

    async def _wait_out(self, error: ClusterError, pause: float) -> None:
        self.health.breaks += 1
        if isinstance(error, Refused) and error.status == 404 and not self._resource.is_built_in:
            self._be_absent()
            pause = self._patience.longest_pause
        else:
            if str(error) != self.health.trouble:
                logger.warning("%s: %s", self._resource.plural, error)
            self.health.trouble = str(error)
        await asyncio.sleep(pause * (0.5 + self._dice.random()))

    def _be_absent(self) -> None:
        """The kind is not defined on this cluster: there are none of it, until it is."""
        if not self.health.is_absent:
            logger.info("%s: not defined on this cluster", self._resource.plural)
        self.health.is_absent = True
        for key in self._facts.keys(self._kind):
            self._facts.drop(self._kind, key)
        self._heard()
        self.health.synced.set()

    async def _list(self) -> str:
        """All objects, page by page; the version to go on from."""
        gone, version, listed_at = self._facts.keys(self._kind), "", ALWAYS
        async for page in self._pages():
            version = page.version
            listed_at = int(version) if version.isdecimal() and not self._is_set_back else ALWAYS
            for item in page.items:
                gone.discard(item.key)
                self._take(item, listed_at)
        for key in gone:
            self._facts.drop(self._kind, key, listed_at=listed_at)
        self._is_set_back = False
        self.health.lists += 1
        self.health.is_absent = False
        self._heard()
        self.health.synced.set()
        return version

    async def _pages(self) -> AsyncIterator[Page[M]]:
        rest = ""
        while True:
            params = {"limit": PAGE} | ({"continue": rest} if rest else {})
            page = self._wire.page(await self._client.get(self._resource.path(), params))
            yield page
            rest = page.rest
            if not rest:
                return
            await asyncio.sleep(0)

    async def fresh(self) -> AsyncIterator[tuple[list[M], str]]:
        """What a list says now, page by page with its version; the facts stay as they are."""
        async for page in self._pages():
            items = [item for item in page.items if not isinstance(item, Unfit) and self._is_wanted(item)]
            yield items, page.version

    async def look(self, key: str) -> M | None:
        """One object as it is now; None where it is gone, or cannot be read."""
        try:
            found = self._wire.object(await self._client.get(self._resource.path_of(key)))
        except Refused as refusal:
            if refusal.status in (404, 200):
                return None
            raise
        return found if self._is_wanted(found) else None

    async def _follow(self, version: str) -> str:
        """The changes after this version, until the server ends the watch; the version reached."""
        seconds = self._patience.watch * (1 + 0.5 * self._dice.random())
        params = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(max(int(seconds), 1)),
        }
        try:
            async for line in self._client.lines(self._resource.path(), params, seconds + DEADLINE_MARGIN):
                version = (self._heed(line) if line else self._heard()) or version
            self._heard()
        except Unreachable as error:
            await self._wait_out(error, self._patience.first_pause)
            if error.is_down:
                # Restored from a backup, it may have counted beyond this version again: versions do not tell.
                self._is_set_back = True
                return ""
        # What was heard before the line went dead counts: resume from there.
        return version

    def _heed(self, line: bytes) -> str:
        self._heard()
        event = self._wire.event(line)
        if event.object is not None and event.type in ("ADDED", "MODIFIED"):
            self._take(event.object)
        elif event.type == "DELETED":
            self._lose(event)
        return event.version

    def _take(self, found: M | Unfit, listed_at: int | None = None) -> None:
        """Tell of an object; one that cannot be told of stops no other."""
        try:
            self._tell_of(found, listed_at)
        except Exception:
            logger.exception("%s %s: cannot be taken in", self._resource.plural, found.key)

    def _tell_of(self, found: M | Unfit, listed_at: int | None) -> None:
        if isinstance(found, Unfit):
            self._facts.complain(found.complaint)
            self._facts.drop(self._kind, found.key)
        elif self._is_wanted(found):
            self._facts.put(found, listed_at=listed_at)
        else:
            self._facts.drop(self._kind, found.key, found.metadata.uid)

    def _lose(self, event: WatchEvent[M]) -> None:
        if event.object is not None:
            self._facts.drop(self._kind, event.object.key, event.object.metadata.uid)

    def _heard(self) -> str:
        """A sign of life, without a version to go on from."""
        self.health.heard_at = stopwatch()
        self.health.trouble = ""
        return ""
