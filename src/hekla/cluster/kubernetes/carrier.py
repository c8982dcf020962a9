"""Carrier: decisions become assumptions at once, and writes in their turn.

Before anything is sent, the whole gang is checked against the newest facts: a node may be gone or full, a
pod deleted. A gang that would be left below its minimum is not started in part.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Protocol

from hekla.cluster import conditions
from hekla.cluster.kubernetes.assumptions import Assumptions
from hekla.cluster.kubernetes.backoff import BackOff
from hekla.cluster.kubernetes.binder import Binder, End, Intent, Outcome
from hekla.cluster.kubernetes.outbox import Outbox, Rank
from hekla.cluster.kubernetes.recorder import Recorder
from hekla.cluster.kubernetes.writer import Writer
from hekla.cluster.rooms import Rooms, is_finished
from hekla.cluster.store import Store
from hekla.controllers.keys import GROUP_NAME
from hekla.errors import ClusterError
from hekla.framework.decisions import (
    Bind,
    Decision,
    Evict,
    Nominate,
    OpenGate,
    Tell,
    UpdatePodGroup,
    UpdateQueue,
    UpdateShard,
)
from hekla.model.resources import as_quantities
from hekla.objects import Condition, Manifest, Node, NodeShard, Pod, PodGroup, Queue
from hekla.objects.scheduling import PodGroupStatus

logger = logging.getLogger("hekla.cluster")
WAITING_PHASES = ("Pending", "Inqueue", "Unknown")


class Stage(Protocol):
    """Where assumptions become visible."""

    def show(self, manifest: Manifest) -> None:
        """What is expected of the object has changed."""


class Carrier:
    """Carries out decisions."""

    def __init__(
        self,
        store: Store,
        rooms: Rooms,
        assumptions: Assumptions,
        stage: Stage,
        outbox: Outbox,
        writer: Writer,
        recorder: Recorder,
        back_off: BackOff,
    ) -> None:
        self._store = store
        self._rooms = rooms
        self._assumptions = assumptions
        self._stage = stage
        self._outbox = outbox
        self._writer = writer
        self._recorder = recorder
        self._back_off = back_off
        self.binder: Binder | None = None
        self.open: dict[str, Intent] = {}
        """Binds that have no end yet, by pod UID."""
        self.forbidden = ""
        """What the server does not let this scheduler do, as it says it."""

    def carry_out(self, decision: Decision) -> None:
        """Anything but a bind."""
        match decision:
            case Evict():
                self._evict(decision)
            case Nominate():
                self._say(decision, nominated=decision.node)
            case Tell():
                condition = conditions.not_scheduled_condition(decision.reason, decision.message)
                pod = self._say(decision, condition=condition)
                if pod is not None:
                    self._recorder.tell(pod, "Warning", "FailedScheduling", decision.message)
            case OpenGate():
                self._open_gate(decision)
            case UpdatePodGroup():
                self._update_pod_group(decision)
            case UpdateQueue():
                self._update_queue(decision)
            case UpdateShard():
                self._update_shard(decision)
            case Bind():
                self.bind_all([decision])

    # Binds

    def bind_all(self, decisions: Sequence[Bind]) -> None:
        """The binds of one job: all that still make sense, or none where that leaves it below its minimum."""
        intents = [self._intent_of(decision) for decision in decisions]
        sound = [intent for intent in intents if self._note_refusal(intent, self.why_not(intent))]
        job = intents[0].job
        if len(sound) < len(intents) and self._placed(job) + len(sound) < self._minimum(job):
            logger.info("%s: not started, its minimum cannot be reached any more", job)
            return
        for intent in sound:
            self.open[intent.uid] = intent
            self._assume(intent.pod, node=intent.node)
            self._outbox.put(Rank.BIND, f"bind {intent.uid}", partial(self._bind, intent))

    def job_of(self, decision: Bind) -> str:
        pod = self._store.get(Pod, decision.pod)
        name = pod.metadata.annotations.get(GROUP_NAME, "") if pod is not None else ""
        return f"{pod.metadata.namespace}/{name}" if pod is not None and name else ""

    def _intent_of(self, decision: Bind) -> Intent:
        return Intent(decision.pod, decision.uid, decision.node, self.job_of(decision))

    def _note_refusal(self, intent: Intent, why_not: str) -> bool:
        if why_not:
            logger.info("pod %s: not bound to %s: %s", intent.pod, intent.node, why_not)
        return not why_not

    def why_not(self, intent: Intent) -> str:
        """What the newest facts have against the bind, or nothing."""
        pod, node = self._store.get(Pod, intent.pod), self._store.get(Node, intent.node)
        if pod is None or pod.metadata.uid != intent.uid:
            return "the pod is gone"
        if node is None:
            return f'node "{intent.node}" is gone'
        if node.metadata.deletion_timestamp is not None or node.spec.unschedulable:
            return f'node "{intent.node}" takes no more pods'
        if pod.spec.node_name:
            return "" if pod.spec.node_name == intent.node else "somebody else bound the pod"
        if pod.metadata.deletion_timestamp is not None or is_finished(pod):
            return "the pod is on its way out"
        if self._assumptions.of_pod(intent.uid).node:  # counted already
            return ""
        shortage = self._rooms.shortage(pod, intent.node)
        return f'node "{intent.node}" has {shortage}' if shortage else ""

    def _placed(self, job: str) -> int:
        return sum(
            bool(pod.spec.node_name or self._assumptions.of_pod(pod.metadata.uid).node)
            for pod in self._store.pods_of_group(job)
        )

    def _minimum(self, job: str) -> int:
        group = self._store.pod_group(job)
        return group.spec.min_member if group is not None else 0

    async def _bind(self, intent: Intent) -> None:
        assert self.binder is not None
        end = await self.binder.bind(intent)
        self.open.pop(intent.uid, None)
        pod = self._store.get(Pod, intent.pod)
        if pod is not None and pod.metadata.uid != intent.uid:
            pod = None
        if end.outcome is Outcome.CONFIRMED:
            self.forbidden = ""
            self._back_off.succeeded(intent.job)
            if pod is not None:
                message = f"Successfully assigned {intent.pod} to {intent.node}"
                self._recorder.tell(pod, "Normal", "Scheduled", message)
            return
        self._give_up(intent, pod, end)

    def _give_up(self, intent: Intent, pod: Pod | None, end: End) -> None:
        """Take the bind back; where the server would not have it, the job rests before it is tried again."""
        logger.warning("pod %s: bind to %s %s: %s", intent.pod, intent.node, end.outcome.value, end.message)
        self._assume(intent.pod, node="", uid=intent.uid)
        if end.outcome is Outcome.FORBIDDEN:
            self.forbidden = end.message
        if end.outcome in (Outcome.REFUSED, Outcome.FORBIDDEN, Outcome.EXPIRED):
            self._back_off.failed(intent.job)
            if pod is not None:
                message = f'bind to node "{intent.node}" failed: {end.message}'
                condition = conditions.not_scheduled_condition("SchedulerError", message)
                self._say_to(pod, condition=condition)
                self._recorder.tell(pod, "Warning", "FailedScheduling", message)
        elif end.outcome is Outcome.ADOPTED and pod is not None:
            self._recorder.tell(pod, "Warning", "FailedScheduling", end.message)

    # Everything else

    def _evict(self, decision: Evict) -> None:
        pod = self._pod_of(decision)
        if pod is None or pod.metadata.deletion_timestamp is not None or is_finished(pod):
            return
        self._assume(decision.pod, is_leaving=True)
        message = f'evicted because of "{decision.reason}"'
        if decision.beneficiary:
            message += f' in favour of "{decision.beneficiary}"'
        self._recorder.tell(pod, "Warning", "Evict", message)
        group = self._store.pod_group(self._group_of(pod))
        if group is not None:
            self._recorder.tell(group, "Normal", "Evict", f"{decision.reason}: pod {pod.metadata.name}")
        self._outbox.put(Rank.EVICTION, f"evict {decision.uid}", partial(self._carry_out_eviction, decision))

    async def _carry_out_eviction(self, decision: Evict) -> None:
        said = conditions.eviction_conditions(decision.reason)
        try:
            await self._writer.evict(decision.pod, decision.uid, said)
        except ClusterError as error:
            logger.warning("pod %s: eviction failed: %s", decision.pod, error)
            self._assume(decision.pod, is_leaving=False, uid=decision.uid)

    def _say(
        self, decision: Tell | Nominate, *, condition: Condition | None = None, nominated: str | None = None
    ) -> Pod | None:
        pod = self._pod_of(decision)
        if pod is None or pod.spec.node_name or decision.uid in self.open:
            return None
        self._say_to(pod, condition=condition, nominated=nominated)
        return pod

    def _say_to(self, pod: Pod, *, condition: Condition | None = None, nominated: str | None = None) -> None:
        if condition is not None:
            self._assume(pod.key, condition=condition)
        if nominated is not None:
            self._assume(pod.key, nominated=nominated)
        uid = pod.metadata.uid
        self._outbox.put(Rank.POD, f"pod {uid}", partial(self._write_pod, pod.key, uid))

    async def _write_pod(self, key: str, uid: str) -> None:
        """Write what is expected of the pod at this moment; afterwards it need not be assumed."""
        pod, expected = self._store.get(Pod, key), self._assumptions.of_pod(uid)
        if pod is None or pod.metadata.uid != uid or (expected.condition, expected.nominated) == (None, None):
            return
        if expected.node or pod.spec.node_name:
            self._assume(key, condition=None, nominated=None, uid=uid)
            return
        try:
            await self._writer.pod_status(key, expected.condition, expected.nominated)
        except ClusterError as error:
            self._note_failure(f"pod {key}", error)
        if not self._outbox.holds(f"pod {uid}"):
            self._assume(key, condition=None, nominated=None, uid=uid)

    def _open_gate(self, decision: OpenGate) -> None:
        if self._pod_of(decision) is not None:
            self._assume(decision.pod, is_open=True)
            self._outbox.put(Rank.OBJECT, f"gate {decision.uid}", partial(self._write_gate, decision))

    async def _write_gate(self, decision: OpenGate) -> None:
        try:
            await self._writer.open_gate(decision.pod)
        except ClusterError as error:
            self._note_failure(f"pod {decision.pod}", error)
        self._assume(decision.pod, is_open=False, uid=decision.uid)

    def _update_pod_group(self, decision: UpdatePodGroup) -> None:
        group = self._store.pod_group(decision.pod_group)
        if group is None:
            return
        self._announce(group, decision.status)
        self._assumptions.expect_group(group.key, decision.status)
        self._stage.show(group)
        self._outbox.put(
            Rank.POD_GROUP,
            f"podgroup {group.key}",
            partial(self._write_pod_group, group.key, decision.status),
        )

    def _announce(self, group: PodGroup, status: PodGroupStatus) -> None:
        if status.phase not in WAITING_PHASES:
            if group.status.phase != status.phase:
                self._recorder.tell(group, "Normal", "Scheduled", "pod group is ready")
            return
        for condition in status.conditions:
            if condition.type == "Unschedulable":
                self._recorder.tell(group, "Warning", "Unschedulable", condition.message)

    async def _write_pod_group(self, key: str, status: PodGroupStatus) -> None:
        try:
            await self._writer.pod_group_status(key, status)
        except ClusterError as error:
            self._note_failure(f"podgroup {key}", error)
        if not self._outbox.holds(f"podgroup {key}"):
            self._assumptions.expect_group(key, None)
            self._reshow(PodGroup, key)

    def _update_queue(self, decision: UpdateQueue) -> None:
        queue = self._store.queue(decision.queue)
        if queue is None:
            return
        self._assumptions.expect_queue(decision.queue, as_quantities(decision.allocated))
        self._stage.show(queue)
        self._outbox.put(
            Rank.QUEUE, f"queue {decision.queue}", partial(self._write_queue, decision.queue, decision)
        )

    async def _write_queue(self, name: str, decision: UpdateQueue) -> None:
        queue = self._store.queue(name)
        try:
            if queue is not None:
                before = queue.status.allocated
                await self._writer.queue_allocated(name, as_quantities(decision.allocated), before)
        except ClusterError as error:
            self._note_failure(f"queue {name}", error)
        if not self._outbox.holds(f"queue {name}"):
            self._assumptions.expect_queue(name, None)
            self._reshow(Queue, name)

    def _update_shard(self, decision: UpdateShard) -> None:
        shard = self._store.get(NodeShard, decision.shard)
        if shard is not None:
            self._assumptions.expect_shard(decision.shard, decision.status)
            self._stage.show(shard)
            self._outbox.put(Rank.QUEUE, f"shard {decision.shard}", partial(self._write_shard, decision))

    async def _write_shard(self, decision: UpdateShard) -> None:
        try:
            await self._writer.shard_status(decision.shard, decision.status)
        except ClusterError as error:
            self._note_failure(f"nodeshard {decision.shard}", error)
        if not self._outbox.holds(f"shard {decision.shard}"):
            self._assumptions.expect_shard(decision.shard, None)
            self._reshow(NodeShard, decision.shard)

    def _note_failure(self, subject: str, error: ClusterError) -> None:
        self._writer.failed += 1
        logger.warning("%s: status not written: %s", subject, error)

    # Assumptions

    def _assume(self, key: str, *, uid: str = "", **what: object) -> None:
        pod = self._store.get(Pod, key)
        uid = uid or (pod.metadata.uid if pod is not None else "")
        self._assumptions.expect(uid, **what)
        if pod is not None and pod.metadata.uid == uid:
            self._stage.show(pod)

    def _reshow(self, kind: type[Manifest], key: str) -> None:
        manifest = self._store.get(kind, key)
        if manifest is not None:
            self._stage.show(manifest)

    def _pod_of(self, decision: Evict | Nominate | OpenGate | Tell) -> Pod | None:
        pod = self._store.get(Pod, decision.pod)
        return pod if pod is not None and pod.metadata.uid == decision.uid else None

    def _group_of(self, pod: Pod) -> str:
        return f"{pod.metadata.namespace}/{pod.metadata.annotations.get(GROUP_NAME, '')}"


def by_job(carrier: Carrier, decisions: Iterable[Bind]) -> Iterable[list[Bind]]:
    """The binds of each job together, in the order of their first."""
    groups: dict[str, list[Bind]] = {}
    for decision in decisions:
        groups.setdefault(carrier.job_of(decision), []).append(decision)
    return groups.values()
