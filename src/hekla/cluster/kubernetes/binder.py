"""Binder: one bind, to an end that is known.

A time-out or a broken connection does not say whether the server stored the bind. Then the pod is read
until it is certain; nobody is sent to another node before that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from hekla.clock import stopwatch
from hekla.cluster.kubernetes.facts import Facts
from hekla.errors import ClusterError
from hekla.kube.client import Client, Refused
from hekla.kube.resources import RESOURCES
from hekla.kube.wire import Wire
from hekla.objects import Pod

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
PODS = RESOURCES[Pod]


class Outcome(Enum):
    """How a bind ended; each ends in exactly one way."""

    CONFIRMED = "confirmed"
    ADOPTED = "adopted"
    """Somebody else bound the pod to another node."""
    GONE = "gone"
    """The pod is deleted, or on its way out, or another one has its name."""
    REFUSED = "refused"
    FORBIDDEN = "forbidden"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    """This scheduler may not write any more, or what it was decided on has changed."""


@dataclass(frozen=True)
class Intent:
    """This pod is to run on that node, as a part of the job."""

    pod: str
    uid: str
    node: str
    job: str


@dataclass(frozen=True)
class End:
    """What came of an intent."""

    outcome: Outcome
    message: str = ""


class Binder:
    """Carries intents to their ends."""

    def __init__(
        self,
        client: Client,
        facts: Facts,
        *,
        may_write: Callable[[], bool],
        why_not: Callable[[Intent], str],
        patience: float,
        dice: np.random.Generator | None = None,
    ) -> None:
        self._client = client
        self._facts = facts
        self._wire = Wire(Pod)
        self._may_write = may_write
        self._why_not = why_not
        self._patience = patience
        self._dice = dice or np.random.default_rng()
        self.on_end: Callable[[Intent, End, float], None] = lambda _intent, _end, _seconds: None
        """Hears of every end, and how long it took to come to it."""

    async def bind(self, intent: Intent) -> End:
        """Try until it is known how it ends."""
        began = stopwatch()
        end = await self._bind(intent)
        self.on_end(intent, end, stopwatch() - began)
        return end

    async def _bind(self, intent: Intent) -> End:
        deadline, pause = stopwatch() + self._patience, FIRST_PAUSE
        while True:
            if not self._may_write():
                return End(Outcome.SUPERSEDED, "this replica does not lead any more")
            if why_not := self._why_not(intent):
                return End(Outcome.SUPERSEDED, why_not)
            try:
                await self._client.post(PODS.path_of(intent.pod, "binding"), body_of(intent))
            except Refused as refusal:
                end = await self._judge(intent, refusal)
                wait = refusal.retry_after
            except ClusterError:
                end, wait = await self._look(intent), 0.0
            else:
                return End(Outcome.CONFIRMED)
            if end is not None:
                return end
            if stopwatch() > deadline:
                return End(Outcome.EXPIRED, "the API server put it off for too long")
            await asyncio.sleep(max(wait, pause) * (1 + 0.2 * self._dice.random()))
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _judge(self, intent: Intent, refusal: Refused) -> End | None:
        """What the refusal comes to; None where it is worth trying again."""
        if refusal.is_busy:
            return None
        if refusal.is_forbidden:
            return End(Outcome.FORBIDDEN, str(refusal))
        if refusal.status == 404:
            return End(Outcome.GONE, str(refusal))
        if refusal.status == 409 or refusal.leaves_doubt:
            found = await self._look(intent)
            if found is None and refusal.status == 409:
                return End(Outcome.REFUSED, str(refusal))
            return found
        return End(Outcome.REFUSED, str(refusal))

    async def _look(self, intent: Intent) -> End | None:
        """Read the pod until there is an answer; None where it is still to be bound."""
        pause = FIRST_PAUSE
        while True:
            try:
                pod = self._wire.object(await self._client.get(PODS.path_of(intent.pod)))
                break
            except Refused as refusal:
                if refusal.status == 404:
                    return End(Outcome.GONE, str(refusal))
                if refusal.is_forbidden:
                    return End(Outcome.FORBIDDEN, str(refusal))
            except ClusterError:
                pass
            await asyncio.sleep(pause * (1 + 0.2 * self._dice.random()))
            pause = min(2 * pause, LONGEST_PAUSE)
        self._facts.put(pod)
        return verdict(intent, pod)


def verdict(intent: Intent, pod: Pod) -> End | None:
    """How the intent has ended, by what the pod looks like; None where it has not."""
    if pod.metadata.uid != intent.uid:
        return End(Outcome.GONE, "another pod has taken its name")
    if pod.spec.node_name:
        if pod.spec.node_name == intent.node:
            return End(Outcome.CONFIRMED)
        return End(Outcome.ADOPTED, f'somebody else bound it to node "{pod.spec.node_name}"')
    if pod.metadata.deletion_timestamp is not None:
        return End(Outcome.GONE, "it is on its way out")
    return None


def body_of(intent: Intent) -> dict[str, object]:
    namespace, _, name = intent.pod.rpartition("/")
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": namespace, "uid": intent.uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": intent.node},
    }
