"""Binding: whole gangs are checked against the newest facts, taken for granted, and sent.

A node may be gone or full since the cycle decided, a pod deleted. A gang that would be left below its
minimum is not started in part. A bind is tried to an end that is known: before that the pod is sent to no
other node.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from hekla.clock import stopwatch
from hekla.cluster.conditions import not_scheduled_condition
from hekla.cluster.kubernetes.backoff import BackOff
from hekla.cluster.kubernetes.context import WriteContext
from hekla.cluster.kubernetes.intents import PODS, TO_REST, Attempts, End, WriteAttempt, WriteOutcome
from hekla.cluster.kubernetes.outbox import WriteRank
from hekla.cluster.kubernetes.partial_gangs import PartialGangs
from hekla.cluster.kubernetes.statuses import Statuses
from hekla.cluster.kubernetes.volumes import Volumes
from hekla.cluster.node_usage import NodeUsage, is_finished
from hekla.engine.framework.decisions import Bind
from hekla.objects import Node, Pod

logger = logging.getLogger("hekla.cluster")
LEVELS = {WriteOutcome.GONE: logging.DEBUG, WriteOutcome.SUPERSEDED: logging.INFO}
"""How loudly ends are logged that call for nothing; all other ends are warnings."""


class Binds:
    """Carries out binds; `open` holds those that have no end yet, by pod UID."""

    def __init__(
        self,
        context: WriteContext,
        node_usage: NodeUsage,
        binder: Binder,
        volumes: Volumes,
        *,
        back_off: BackOff[str],
        statuses: Statuses,
        partial_gangs: PartialGangs,
    ) -> None:
        self._context = context
        self._volumes = volumes
        self._preparing: set[asyncio.Task[None]] = set()
        self._node_usage = node_usage
        self._binder = binder
        self._back_off = back_off
        self._statuses = statuses
        self._partial_gangs = partial_gangs
        self.open: dict[str, Intent] = {}
        self._under_way: Counter[str] = Counter()
        """By job, how many of its binds have no end yet."""
        self._refusals: dict[str, str] = {}
        """By job, why one of those that ended meanwhile was refused."""
        self.begun = 0
        self.ends: Counter[WriteOutcome] = Counter()

    def by_job(self, decisions: Iterable[Bind]) -> Iterable[list[Intent]]:
        """What is to be bound, the pods of each job together, in the order of their first."""
        jobs: dict[str, list[Intent]] = {}
        for decision in decisions:
            intent = Intent(decision.pod, decision.uid, decision.node, decision.job)
            jobs.setdefault(decision.job, []).append(intent)
        return jobs.values()

    def start(self, intents: Sequence[Intent]) -> None:
        """The binds of one job: those that still make sense, or none where it could not start with them."""
        taken: list[Intent] = []
        try:
            taken.extend(intent for intent in intents if self._is_taken(intent))
            if len(taken) == len(intents) or self._is_enough(intents[0].job):
                for intent in taken:
                    self._send(intent)
        finally:
            # Taken for granted stays what was sent and nothing else, also where something failed on the way.
            for intent in taken:
                if intent.uid not in self.open:
                    self._context.assume(intent.pod, intent.uid, node="")

    def _is_enough(self, job: str) -> bool:
        """Whether the job reaches its minimum with what has a place."""
        is_enough = len(self._context.placed(job)) >= self._context.minimum(job)
        if not is_enough:
            logger.info("podgroup %s: not started, its minimum cannot be reached any more", job)
        return is_enough

    def _send(self, intent: Intent) -> None:
        pod = self._context.pod(intent.pod, intent.uid)
        if pod is not None and pod.spec.volumes and self._volumes.unbound(pod):
            task = asyncio.create_task(self._after_volumes(intent, pod), name=f"bind {intent.uid}")
            self._preparing.add(task)
            task.add_done_callback(self._prepared)
        else:
            self._context.outbox.put(WriteRank.BIND, f"bind {intent.uid}", partial(self._carry_out, intent))
        self.begun += 1
        self._under_way[intent.job] += 1
        self.open[intent.uid] = intent

    async def _after_volumes(self, intent: Intent, pod: Pod) -> None:
        """The bind follows once the pod's claims are bound; other binds do not wait for them."""
        try:
            problem = await self._volumes.prepare(pod, intent.node)
        except Exception as error:
            problem = f"its volumes cannot be bound: {error}"
        if problem:
            self._end(intent, End(WriteOutcome.REFUSED, problem))
        else:
            self._context.outbox.put(WriteRank.BIND, f"bind {intent.uid}", partial(self._carry_out, intent))

    def _prepared(self, task: asyncio.Task[None]) -> None:
        self._preparing.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("%s failed in an unforeseen way", task.get_name(), exc_info=error)

    def _is_taken(self, intent: Intent) -> bool:
        """Whether the facts allow it; then it is taken for granted, for the next one to reckon with."""
        why_not = why_not_bind(self._context, self._node_usage, intent)
        if why_not or intent.uid in self.open:
            logger.info(
                "pod %s: not bound to node %s: %s", intent.pod, intent.node, why_not or "it is already"
            )
            return False
        self._context.assume(intent.pod, intent.uid, node=intent.node)
        return True

    async def _carry_out(self, intent: Intent) -> None:
        try:
            end = await self._binder.bind(intent)
        except Exception as error:
            logger.exception("pod %s: bind failed in an unforeseen way", intent.pod)
            end = End(WriteOutcome.REFUSED, f"{type(error).__name__}: {error}")
        self._end(intent, end)

    def _end(self, intent: Intent, end: End) -> None:
        self.ends[end.outcome] += 1
        del self.open[intent.uid]
        pod = self._context.pod(intent.pod, intent.uid)
        if end.outcome is WriteOutcome.CONFIRMED:
            self._confirm(intent, pod)
        else:
            self._take_back(intent, pod, end)
        self._under_way[intent.job] -= 1
        if not self._under_way[intent.job]:
            del self._under_way[intent.job]
            if why := self._refusals.pop(intent.job, ""):
                self._partial_gangs.refused(intent.job, why)

    def _confirm(self, intent: Intent, pod: Pod | None) -> None:
        self._back_off.succeeded(intent.job)
        self._partial_gangs.confirmed(intent.job)
        if pod is not None:
            message = f"Successfully assigned {intent.pod} to {intent.node}"
            self._context.recorder.tell(pod, "Normal", "Scheduled", message)

    def _take_back(self, intent: Intent, pod: Pod | None, end: End) -> None:
        """Nothing is assumed any more; where the server would not have it, the job rests for a while."""
        what = f"bind to node {intent.node} {end.outcome.value}"
        logger.log(LEVELS.get(end.outcome, logging.WARNING), "pod %s: %s: %s", intent.pod, what, end.message)
        self._context.assume(intent.pod, intent.uid, node="")
        if end.is_namespace_ending:
            self._context.end_namespace(intent.pod.rpartition("/")[0])
        if pod is None or end.outcome not in (*TO_REST, WriteOutcome.ADOPTED):
            return
        message = f'bind to node "{intent.node}" failed: {end.message}'
        self._context.recorder.tell(pod, "Warning", "FailedScheduling", message)
        if end.outcome in TO_REST:
            self._back_off.failed(intent.job, end.retry_after)
            self._statuses.say(pod, condition=not_scheduled_condition("SchedulerError", message))
            self._refusals[intent.job] = f"the bind of {intent.pod} was refused: {end.message}"


def why_not_bind(context: WriteContext, node_usage: NodeUsage, intent: Intent) -> str:
    """What the newest facts have against the bind, or nothing."""
    pod, node = context.pod(intent.pod, intent.uid), context.store.get(Node, intent.node)
    if pod is None:
        return "the pod is gone"
    if node is None:
        return f'node "{intent.node}" is gone'
    if node.metadata.deletion_timestamp is not None or node.spec.unschedulable:
        return f'node "{intent.node}" takes no more pods'
    if pod.spec.node_name:
        return "" if pod.spec.node_name == intent.node else "another scheduler bound the pod"
    if pod.metadata.deletion_timestamp is not None or is_finished(pod):
        return "the pod is on its way out"
    if context.assumptions.of_pod(intent.uid).node:  # counted on its node already
        return ""
    shortage = node_usage.shortage(pod, intent.node)
    return f'node "{intent.node}" has {shortage}' if shortage else ""


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
        attempt = WriteAttempt(
            intent.pod,
            send=partial(self._attempts.client.post, path, body),
            end_shown_by=partial(end_of_bind, intent),
            why_not=partial(self._why_not, intent),
        )
        end = await self._attempts.end_of(attempt)
        self.on_end(intent, end, stopwatch() - began)
        return end


def end_of_bind(intent: Intent, pod: Pod) -> End | None:
    """How the intent has ended, by what the pod looks like; None where it has not."""
    if pod.metadata.uid != intent.uid:
        return End(WriteOutcome.GONE, "another pod has taken its name")
    if pod.spec.node_name:
        if pod.spec.node_name == intent.node:
            return End(WriteOutcome.CONFIRMED)
        return End(WriteOutcome.ADOPTED, f'another scheduler bound it to node "{pod.spec.node_name}"')
    if pod.metadata.deletion_timestamp is not None:
        return End(WriteOutcome.GONE, "it is on its way out")
    return None


def body_of(intent: Intent) -> dict[str, object]:
    namespace, _, name = intent.pod.rpartition("/")
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": namespace, "uid": intent.uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": intent.node},
    }
