"""Binding: whole gangs are checked against the newest facts, taken for granted, and sent.

A node may be gone or full since the cycle decided, a pod deleted. A gang that would be left below its
minimum is not started in part.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial

from hekla.cluster.conditions import not_scheduled_condition
from hekla.cluster.kubernetes.backoff import BackOff
from hekla.cluster.kubernetes.binder import Binder, Intent
from hekla.cluster.kubernetes.desk import Desk
from hekla.cluster.kubernetes.intents import TO_REST, End, Outcome
from hekla.cluster.kubernetes.outbox import Rank
from hekla.cluster.kubernetes.partial_gangs import PartialGangs
from hekla.cluster.kubernetes.statuses import Statuses
from hekla.cluster.kubernetes.volumes import Volumes
from hekla.cluster.rooms import Rooms, is_finished
from hekla.engine.framework.decisions import Bind
from hekla.objects import Node, Pod

logger = logging.getLogger("hekla.cluster")
LEVELS = {Outcome.GONE: logging.DEBUG, Outcome.SUPERSEDED: logging.INFO}
"""How loudly ends are told that nobody has to do anything about; all others are warnings."""


class Binding:
    """Carries out binds; `open` holds those that have no end yet, by pod UID."""

    def __init__(
        self,
        desk: Desk,
        rooms: Rooms,
        binder: Binder,
        volumes: Volumes,
        *,
        back_off: BackOff[str],
        statuses: Statuses,
        partial_gangs: PartialGangs,
    ) -> None:
        self._desk = desk
        self._volumes = volumes
        self._preparing: set[asyncio.Task[None]] = set()
        self._rooms = rooms
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
        self.ends: Counter[Outcome] = Counter()

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
                    self._desk.assume(intent.pod, intent.uid, node="")

    def _is_enough(self, job: str) -> bool:
        """Whether the job reaches its minimum with what has a place."""
        is_enough = len(self._desk.placed(job)) >= self._desk.minimum(job)
        if not is_enough:
            logger.info("podgroup %s: not started, its minimum cannot be reached any more", job)
        return is_enough

    def _send(self, intent: Intent) -> None:
        pod = self._desk.pod(intent.pod, intent.uid)
        if pod is not None and pod.spec.volumes and self._volumes.unbound(pod):
            task = asyncio.create_task(self._after_volumes(intent, pod))
            self._preparing.add(task)
            task.add_done_callback(self._preparing.discard)
        else:
            self._desk.outbox.put(Rank.BIND, f"bind {intent.uid}", partial(self._carry_out, intent))
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
            self._end(intent, End(Outcome.REFUSED, problem))
        else:
            self._desk.outbox.put(Rank.BIND, f"bind {intent.uid}", partial(self._carry_out, intent))

    def _is_taken(self, intent: Intent) -> bool:
        """Whether the facts allow it; then it is taken for granted, for the next one to reckon with."""
        why_not = why_not_bind(self._desk, self._rooms, intent)
        if why_not or intent.uid in self.open:
            logger.info(
                "pod %s: not bound to node %s: %s", intent.pod, intent.node, why_not or "it is already"
            )
            return False
        self._desk.assume(intent.pod, intent.uid, node=intent.node)
        return True

    async def _carry_out(self, intent: Intent) -> None:
        try:
            end = await self._binder.bind(intent)
        except Exception as error:
            logger.exception("pod %s: bind failed in an unforeseen way", intent.pod)
            end = End(Outcome.REFUSED, f"{type(error).__name__}: {error}")
        self._end(intent, end)

    def _end(self, intent: Intent, end: End) -> None:
        self.ends[end.outcome] += 1
        del self.open[intent.uid]
        pod = self._desk.pod(intent.pod, intent.uid)
        if end.outcome is Outcome.CONFIRMED:
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
            self._desk.recorder.tell(pod, "Normal", "Scheduled", message)

    def _take_back(self, intent: Intent, pod: Pod | None, end: End) -> None:
        """Nothing is assumed any more; where the server would not have it, the job rests for a while."""
        what = f"bind to node {intent.node} {end.outcome.value}"
        logger.log(LEVELS.get(end.outcome, logging.WARNING), "pod %s: %s: %s", intent.pod, what, end.message)
        self._desk.assume(intent.pod, intent.uid, node="")
        if end.is_namespace_ending:
            self._desk.end_namespace(intent.pod.rpartition("/")[0])
        if pod is None or end.outcome not in (*TO_REST, Outcome.ADOPTED):
            return
        message = f'bind to node "{intent.node}" failed: {end.message}'
        self._desk.recorder.tell(pod, "Warning", "FailedScheduling", message)
        if end.outcome in TO_REST:
            self._back_off.failed(intent.job, end.retry_after)
            self._statuses.say(pod, condition=not_scheduled_condition("SchedulerError", message))
            self._refusals[intent.job] = f"the bind of {intent.pod} was refused: {end.message}"


def why_not_bind(desk: Desk, rooms: Rooms, intent: Intent) -> str:
    """What the newest facts have against the bind, or nothing."""
    pod, node = desk.pod(intent.pod, intent.uid), desk.store.get(Node, intent.node)
    if pod is None:
        return "the pod is gone"
    if node is None:
        return f'node "{intent.node}" is gone'
    if node.metadata.deletion_timestamp is not None or node.spec.unschedulable:
        return f'node "{intent.node}" takes no more pods'
    if pod.spec.node_name:
        return "" if pod.spec.node_name == intent.node else "somebody else bound the pod"
    if pod.metadata.deletion_timestamp is not None or is_finished(pod):
        return "the pod is on its way out"
    if desk.assumptions.of_pod(intent.uid).node:  # counted on its node already
        return ""
    shortage = rooms.shortage(pod, intent.node)
    return f'node "{intent.node}" has {shortage}' if shortage else ""
