"""Statuses: what the scheduler writes on objects so that people and controllers know.

What is to be written is expected from now on, so that no cycle says it twice. Once it is written the facts
speak for themselves. What cannot be written stays expected, and is tried again later, after longer and
longer rests; on objects that are being deleted nothing is written any more.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from hekla.cluster.kubernetes.api.client import Refused
from hekla.cluster.kubernetes.backoff import BackOff
from hekla.cluster.kubernetes.context import WriteContext
from hekla.cluster.kubernetes.outbox import WriteRank
from hekla.cluster.kubernetes.writer import NotLeading
from hekla.engine.framework.decisions import OpenGate, UpdatePodGroup, UpdateQueue, UpdateShard
from hekla.engine.model.benefit import BenefitStage, told_futile
from hekla.engine.model.resources import as_quantities
from hekla.errors import ClusterError
from hekla.objects import Condition, Manifest, NodeShard, Pod, PodGroup, Queue
from hekla.objects.scheduling import PodGroupStatus

logger = logging.getLogger("hekla.cluster")
WAITING_PHASES = ("Pending", "Inqueue", "Unknown")
Write = Callable[[], Awaitable[None]]


class Subject(NamedTuple):
    """What is written on: the status of an object, or the gate of a pod."""

    rank: WriteRank
    kind: type[Manifest]
    key: str
    uid: str = ""
    """Only of pods: another one may come under the same name."""

    def __str__(self) -> str:
        return f"{self.kind.__name__.lower()} {self.key}"

    @property
    def is_gate(self) -> bool:
        return self.kind is Pod and self.rank is WriteRank.OBJECT


class Statuses:
    """Writes statuses of pods, PodGroups, queues and shards."""

    def __init__(self, context: WriteContext, first_back_off: float, longest_back_off: float) -> None:
        self._context = context
        self._back_off = BackOff[Subject](first_back_off, longest_back_off, lambda _: None, self._send)
        self._notes: dict[str, Condition] = {}
        """By PodGroup a condition that no cycle knows of, and that none may take away."""
        self._withdrawn: dict[str, Condition] = {}
        """By PodGroup a condition that is no longer true; a cycle that was under way may still say it."""
        self.failed = 0

    def say(self, pod: Pod, *, condition: Condition | None = None, nominated: str | None = None) -> None:
        """Why the pod waits, or which node it is promised; both may be waiting to be written at once."""
        key, uid = pod.key, pod.metadata.uid
        if condition is not None:
            self._context.assume(key, uid, condition=condition)
        if nominated is not None:
            self._context.assume(key, uid, nominated=nominated)
        self._send(Subject(WriteRank.POD, Pod, key, uid))

    def open_gate(self, decision: OpenGate) -> None:
        if self._context.pod(decision.pod, decision.uid) is not None:
            self._context.assume(decision.pod, decision.uid, is_open=True)
            self._send(Subject(WriteRank.OBJECT, Pod, decision.pod, decision.uid))

    def update_pod_group(self, decision: UpdatePodGroup) -> None:
        group = self._context.store.pod_group(decision.pod_group)
        if group is None:
            return
        if not self._context.is_leaving(group):
            self._announce(group, decision.status)
        self._put_group(group, decision.status)

    def note(self, group: PodGroup, condition: Condition) -> None:
        """Write a condition that no cycle knows of."""
        self._notes[group.key] = condition
        self._put_group(group, self._context.assumptions.of_group(group.key) or group.status)

    def withdraw(self, group: PodGroup, type_: str) -> None:
        """Take back the condition of this type: what it says has not come true."""
        status = self._context.assumptions.of_group(group.key) or group.status
        for condition in status.conditions:
            if condition.type == type_:
                self._withdrawn[group.key] = condition
                self._put_group(group, status)

    def _put_group(self, group: PodGroup, status: PodGroupStatus) -> None:
        note, withdrawn = self._notes.get(group.key), self._withdrawn.get(group.key)
        kept = tuple(one for one in status.conditions if one != withdrawn)
        if note is not None:
            kept = (*(one for one in kept if one.type != note.type), note)
        status = replace(status, conditions=kept)
        self._context.assumptions.expect_group(group.key, status)
        self._context.show(group)
        self._send(Subject(WriteRank.POD_GROUP, PodGroup, group.key))

    def _announce(self, group: PodGroup, status: PodGroupStatus) -> None:
        if message := told_futile(group.status, status):
            self._context.recorder.tell(group, "Warning", BenefitStage.FUTILE.value, message)
        if status.phase not in WAITING_PHASES:
            if group.status.phase != status.phase:
                self._context.recorder.tell(group, "Normal", "Scheduled", "pod group is ready")
            return
        for condition in status.conditions:
            if condition.type == "Unschedulable":
                self._context.recorder.tell(group, "Warning", "Unschedulable", condition.message)

    def update_queue(self, decision: UpdateQueue) -> None:
        queue = self._context.store.queue(decision.queue)
        if queue is not None:
            self._context.assumptions.expect_queue(decision.queue, as_quantities(decision.allocated))
            self._context.show(queue)
            self._send(Subject(WriteRank.QUEUE, Queue, decision.queue))

    def update_shard(self, decision: UpdateShard) -> None:
        shard = self._context.store.get(NodeShard, decision.shard)
        if shard is not None:
            self._context.assumptions.expect_shard(decision.shard, decision.status)
            self._context.show(shard)
            self._send(Subject(WriteRank.QUEUE, NodeShard, decision.shard))

    def forget(self, manifest: Manifest) -> None:
        """The object is gone."""
        uid = manifest.metadata.uid if isinstance(manifest, Pod) else ""
        for rank in (WriteRank.OBJECT, WriteRank.POD, WriteRank.POD_GROUP, WriteRank.QUEUE):
            self._back_off.forget(Subject(rank, type(manifest), manifest.key, uid))
        if isinstance(manifest, PodGroup):
            self._notes.pop(manifest.key, None)
            self._withdrawn.pop(manifest.key, None)

    # Writing

    def _send(self, subject: Subject) -> None:
        """Have it written; what rests is written when its rest is over."""
        known = self._known(subject)
        if known is not None and not self._context.is_leaving(known) and not self._back_off.rests(subject):
            self._context.outbox.put(subject.rank, _name(subject), partial(self._write, subject))

    async def _write(self, subject: Subject) -> None:
        write = self._what_is_expected(subject)
        try:
            if write is not None:
                await write()
            self._back_off.succeeded(subject)
        except NotLeading:
            pass
        except ClusterError as error:
            if not self._is_over(subject, error):
                self._rest(subject, error)
                return
            logger.debug("%s: status not written: %s", subject, error)
        if not self._context.outbox.holds(_name(subject)):
            self._let_facts_speak(subject)

    def _what_is_expected(self, subject: Subject) -> Write | None:
        known, key, writer = self._known(subject), subject.key, self._context.writer
        assumptions = self._context.assumptions
        match known:
            case Pod() if subject.is_gate:
                return partial(writer.open_gate, key)
            case Pod():
                expected = assumptions.of_pod(subject.uid)
                has_more = expected.condition is not None or expected.nominated is not None
                if has_more and not (expected.node or known.spec.node_name):
                    return partial(
                        writer.pod_status, key, subject.uid, expected.condition, expected.nominated
                    )
            case PodGroup() if (status := assumptions.of_group(key)) is not None:
                return partial(writer.pod_group_status, key, known.metadata.uid, status)
            case Queue() if (allocated := assumptions.of_queue(key)) is not None:
                return partial(writer.queue_allocated, key, allocated, known.status.allocated)
            case NodeShard() if (shares := assumptions.of_shard(key)) is not None:
                return partial(writer.shard_status, key, shares)
        return None

    def _let_facts_speak(self, subject: Subject) -> None:
        assumptions, key = self._context.assumptions, subject.key
        if subject.is_gate:
            self._context.assume(key, subject.uid, is_open=False)
        elif subject.kind is Pod:
            self._context.assume(key, subject.uid, condition=None, nominated=None)
        elif subject.kind is PodGroup:
            assumptions.expect_group(key, None)
        elif subject.kind is Queue:
            assumptions.expect_queue(key, None)
        else:
            assumptions.expect_shard(key, None)
        if subject.kind is not Pod:
            self._context.show_again(subject.kind, key)

    def _rest(self, subject: Subject, error: ClusterError) -> None:
        """What was expected stays so: no cycle has to say it again."""
        self.failed += 1
        level = logging.DEBUG if self._back_off.has_failed(subject) else logging.WARNING
        logger.log(level, "%s: status not written, tried again later: %s", subject, error)
        self._back_off.failed(subject, error.retry_after if isinstance(error, Refused) else 0.0)

    def _is_over(self, subject: Subject, error: ClusterError) -> bool:
        """Whether there is nothing left to write on."""
        known = self._known(subject)
        is_missing = isinstance(error, Refused) and error.status == 404
        return is_missing or known is None or self._context.is_leaving(known)

    def _known(self, subject: Subject) -> Manifest | None:
        if subject.uid:
            return self._context.pod(subject.key, subject.uid)
        return self._context.store.get(subject.kind, subject.key)


def _name(subject: Subject) -> str:
    """The key of its write in the outbox."""
    return f"{subject.rank.name} {subject} {subject.uid}"
