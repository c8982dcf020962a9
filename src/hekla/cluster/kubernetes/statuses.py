"""Statuses: what the scheduler writes on objects so that people and controllers know.

What is to be written is expected from now on, so that no cycle says it twice. Once it is written, or could
not be, the facts speak for themselves.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial

from hekla.cluster.kubernetes.desk import Desk
from hekla.cluster.kubernetes.outbox import Rank
from hekla.errors import ClusterError
from hekla.framework.decisions import OpenGate, UpdatePodGroup, UpdateQueue, UpdateShard
from hekla.model.benefit import Stage, told_futile
from hekla.model.resources import as_quantities
from hekla.objects import Condition, NodeShard, Pod, PodGroup, Queue
from hekla.objects.scheduling import PodGroupStatus

logger = logging.getLogger("hekla.cluster")
WAITING_PHASES = ("Pending", "Inqueue", "Unknown")


class Statuses:
    """Writes statuses of pods, PodGroups, queues and shards."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.failed = 0

    def say(self, pod: Pod, *, condition: Condition | None = None, nominated: str | None = None) -> None:
        """Why the pod waits, or which node it is promised; both may be waiting to be written at once."""
        key, uid = pod.key, pod.metadata.uid
        if condition is not None:
            self._desk.assume(key, uid, condition=condition)
        if nominated is not None:
            self._desk.assume(key, uid, nominated=nominated)
        self._desk.outbox.put(Rank.POD, f"pod {uid}", partial(self._write_pod, key, uid))

    async def _write_pod(self, key: str, uid: str) -> None:
        pod, expected = self._desk.pod(key, uid), self._desk.assumptions.of_pod(uid)
        has_more = expected.condition is not None or expected.nominated is not None
        if pod is not None and has_more and not (expected.node or pod.spec.node_name):
            write = partial(self._desk.writer.pod_status, key, uid, expected.condition, expected.nominated)
            await self._try(f"pod {key}", write)
        if not self._desk.outbox.holds(f"pod {uid}"):
            self._desk.assume(key, uid, condition=None, nominated=None)

    def open_gate(self, decision: OpenGate) -> None:
        if self._desk.pod(decision.pod, decision.uid) is not None:
            self._desk.assume(decision.pod, decision.uid, is_open=True)
            self._desk.outbox.put(Rank.OBJECT, f"gate {decision.uid}", partial(self._write_gate, decision))

    async def _write_gate(self, decision: OpenGate) -> None:
        await self._try(f"pod {decision.pod}", partial(self._desk.writer.open_gate, decision.pod))
        self._desk.assume(decision.pod, decision.uid, is_open=False)

    def update_pod_group(self, decision: UpdatePodGroup) -> None:
        key, status = decision.pod_group, decision.status
        group = self._desk.store.pod_group(key)
        if group is None:
            return
        self._announce(group, status)
        self._desk.assumptions.expect_group(key, status)
        self._desk.show(group)
        write = partial(self._write_group, key, group.metadata.uid, status)
        self._desk.outbox.put(Rank.POD_GROUP, f"podgroup {key}", write)

    def _announce(self, group: PodGroup, status: PodGroupStatus) -> None:
        if message := told_futile(group.status, status):
            self._desk.recorder.tell(group, "Warning", Stage.FUTILE.value, message)
        if status.phase not in WAITING_PHASES:
            if group.status.phase != status.phase:
                self._desk.recorder.tell(group, "Normal", "Scheduled", "pod group is ready")
            return
        for condition in status.conditions:
            if condition.type == "Unschedulable":
                self._desk.recorder.tell(group, "Warning", "Unschedulable", condition.message)

    async def _write_group(self, key: str, uid: str, status: PodGroupStatus) -> None:
        await self._try(f"podgroup {key}", partial(self._desk.writer.pod_group_status, key, uid, status))
        if not self._desk.outbox.holds(f"podgroup {key}"):
            self._desk.assumptions.expect_group(key, None)
            self._desk.show_again(PodGroup, key)

    def update_queue(self, decision: UpdateQueue) -> None:
        queue = self._desk.store.queue(decision.queue)
        if queue is not None:
            self._desk.assumptions.expect_queue(decision.queue, as_quantities(decision.allocated))
            self._desk.show(queue)
            self._desk.outbox.put(Rank.QUEUE, f"queue {decision.queue}", partial(self._write_queue, decision))

    async def _write_queue(self, decision: UpdateQueue) -> None:
        name, queue = decision.queue, self._desk.store.queue(decision.queue)
        if queue is not None:
            amounts, before = as_quantities(decision.allocated), queue.status.allocated
            await self._try(
                f"queue {name}", partial(self._desk.writer.queue_allocated, name, amounts, before)
            )
        if not self._desk.outbox.holds(f"queue {name}"):
            self._desk.assumptions.expect_queue(name, None)
            self._desk.show_again(Queue, name)

    def update_shard(self, decision: UpdateShard) -> None:
        shard = self._desk.store.get(NodeShard, decision.shard)
        if shard is not None:
            self._desk.assumptions.expect_shard(decision.shard, decision.status)
            self._desk.show(shard)
            self._desk.outbox.put(Rank.QUEUE, f"shard {decision.shard}", partial(self._write_shard, decision))

    async def _write_shard(self, decision: UpdateShard) -> None:
        name = decision.shard
        await self._try(f"nodeshard {name}", partial(self._desk.writer.shard_status, name, decision.status))
        if not self._desk.outbox.holds(f"shard {name}"):
            self._desk.assumptions.expect_shard(name, None)
            self._desk.show_again(NodeShard, name)

    async def _try(self, subject: str, write: Callable[[], Awaitable[None]]) -> None:
        """A status that cannot be written is found missing by the next cycle, which says it again."""
        try:
            await write()
        except ClusterError as error:
            self.failed += 1
            logger.warning("%s: status not written: %s", subject, error)
