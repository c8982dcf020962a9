"""Intents: one write about a pod, to an end that is known.

A time-out or a broken connection does not say whether the server did what was asked. Then the pod is read
until it is certain, and nothing else is sent before that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from hekla.clock import stopwatch
from hekla.cluster.kubernetes.api.client import Client, Refused
from hekla.cluster.kubernetes.api.resources import RESOURCES
from hekla.cluster.kubernetes.api.wire import Wire
from hekla.cluster.kubernetes.facts import Facts
from hekla.errors import ClusterError
from hekla.objects import Manifest, Pod

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
PODS = RESOURCES[Pod]


class WriteOutcome(Enum):
    """How an intent ended; each ends in exactly one way."""

    CONFIRMED = "confirmed"
    ADOPTED = "adopted"
    """Another scheduler bound the pod to another node."""
    GONE = "gone"
    """The pod is deleted, or on its way out, or another one has its name."""
    REFUSED = "refused"
    """The server does not do it for this pod."""
    FORBIDDEN = "forbidden"
    """This scheduler lacks a permission."""
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    """This scheduler may not write any more, or what it was decided on has changed."""


TO_REST = (WriteOutcome.REFUSED, WriteOutcome.FORBIDDEN, WriteOutcome.EXPIRED)
"""Ends after which trying again at once would end the same way."""


@dataclass(frozen=True)
class End:
    """What came of an intent; `retry_after` is how long the server wants to be left alone with it."""

    outcome: WriteOutcome
    message: str = ""
    retry_after: float = 0.0
    is_namespace_ending: bool = False


@dataclass(frozen=True)
class WriteAttempt:
    """How an intent is sent, and how its end is read off the pod; None where it has none yet."""

    pod: str
    send: Callable[[], Awaitable[object]]
    end_shown_by: Callable[[Pod], End | None]
    why_not: Callable[[], str]
    """What the newest facts have against it, or nothing."""


class Attempts:
    """Tries one intent at a time until it is known how it ends."""

    def __init__(
        self,
        client: Client,
        facts: Facts,
        *,
        may_write: Callable[[], bool],
        patience: float,
        pauses: tuple[float, float] = (FIRST_PAUSE, LONGEST_PAUSE),
        dice: np.random.Generator | None = None,
    ) -> None:
        self.client = client
        self._facts = facts
        self._wire = Wire(Pod)
        self._may_write = may_write
        self._patience = patience
        self._first_pause, self._longest_pause = pauses
        self._dice = dice or np.random.default_rng()
        self.on_missing: Callable[[type[Manifest], str], None] = lambda _kind, _key: None
        """Hears of pods that the server does not know."""
        self.on_forbidden: Callable[[], None] = lambda: None
        """Hears when a permission is missing."""

    async def end_of(self, attempt: WriteAttempt) -> End:
        end = await self._end_of(attempt)
        if end.outcome is WriteOutcome.FORBIDDEN:
            self.on_forbidden()
        return end

    async def _end_of(self, attempt: WriteAttempt) -> End:
        deadline, pause = stopwatch() + self._patience, self._first_pause
        while True:
            if not self._may_write():
                return End(WriteOutcome.SUPERSEDED, "this replica does not lead any more")
            if why_not := attempt.why_not():
                return End(WriteOutcome.SUPERSEDED, why_not)
            try:
                await attempt.send()
            except Refused as refusal:
                end = await self._end_after(attempt, refusal)
                wait = refusal.retry_after
            except ClusterError:
                end, wait = await self._look(attempt), 0.0
            else:
                return End(WriteOutcome.CONFIRMED)
            if end is not None:
                return end
            if stopwatch() > deadline:
                return End(WriteOutcome.EXPIRED, "the API server put it off for too long")
            await asyncio.sleep(max(wait, pause) * (1 + 0.2 * self._dice.random()))
            pause = min(2 * pause, self._longest_pause)

    async def _end_after(self, attempt: WriteAttempt, refusal: Refused) -> End | None:
        """What the refusal comes to; None where it is worth trying again."""
        if refusal.is_busy:
            return None
        if refusal.leaves_doubt:
            return await self._look(attempt)
        if refusal.status == 409:
            return await self._look(attempt) or end_by(refusal)
        if refusal.status == 404:
            self.on_missing(Pod, attempt.pod)
        return end_by(refusal)

    async def _look(self, attempt: WriteAttempt) -> End | None:
        found = await self.read(attempt.pod)
        return found if isinstance(found, End) else attempt.end_shown_by(found)

    async def read(self, key: str) -> Pod | End:
        """The pod as the server has it, however long that takes; an end where it has none to show.

        A server that has just started knows no roles yet: that it forbids to look says nothing of the pod.
        """
        deadline, pause = stopwatch() + self._patience, self._first_pause
        while True:
            try:
                pod = self._wire.object(await self.client.get(PODS.path_of(key)))
                break
            except Refused as refusal:
                if refusal.status == 404:
                    self.on_missing(Pod, key)
                if refusal.status == 404 or (refusal.is_forbidden and stopwatch() > deadline):
                    return end_by(refusal)
            except ClusterError:
                pass
            await asyncio.sleep(pause * (1 + 0.2 * self._dice.random()))
            pause = min(2 * pause, self._longest_pause)
        self._facts.put(pod)
        return pod


def end_by(refusal: Refused) -> End:
    """The end that a refusal is, where it is final."""
    if refusal.status == 404 or refusal.is_namespace_ending:
        return End(WriteOutcome.GONE, str(refusal), is_namespace_ending=refusal.is_namespace_ending)
    outcome = WriteOutcome.FORBIDDEN if refusal.lacks_permission else WriteOutcome.REFUSED
    return End(outcome, str(refusal), refusal.retry_after)
