"""Binder: one bind, to an end that is known; no pod is sent to another node before that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from hekla.clock import stopwatch
from hekla.cluster.kubernetes.intents import PODS, Attempt, Attempts, End, Outcome
from hekla.objects import Pod


@dataclass(frozen=True)
class Intent:
    """This pod is to run on that node, as a part of the job."""

    pod: str
    uid: str
    node: str
    job: str


class Binder:
    """Carries binds to their ends."""

    def __init__(self, attempts: Attempts, why_not: Callable[[Intent], str]) -> None:
        self._attempts = attempts
        self._why_not = why_not
        self.on_end: Callable[[Intent, End, float], None] = lambda _intent, _end, _seconds: None
        """Hears of every end, and how long it took to come to it."""

    async def bind(self, intent: Intent) -> End:
        """Try until it is known how it ends."""
        began = stopwatch()
        path, body = PODS.path_of(intent.pod, "binding"), body_of(intent)
        attempt = Attempt(
            intent.pod,
            send=partial(self._attempts.client.post, path, body),
            verdict=partial(verdict, intent),
            why_not=partial(self._why_not, intent),
        )
        end = await self._attempts.end_of(attempt)
        self.on_end(intent, end, stopwatch() - began)
        return end


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
