"""Assumptions: what was decided and sent, and is taken for granted until the API server shows it, or refuses.

The next cycle must not wait for the answers, nor decide the same again. An event that is older than what was
sent does not undo it: the assumption is laid over every version that does not show it yet.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from hekla.cluster.conditions import placed, ungated, with_condition
from hekla.objects import Condition, Manifest, NodeShard, Pod, PodGroup, Queue
from hekla.objects.keys import EVICTION_REFUSED, GATE_OF_RESTING_PODS
from hekla.objects.meta import ResourceList
from hekla.objects.node import NodeShardStatus
from hekla.objects.pod import SchedulingGate
from hekla.objects.scheduling import PodGroupStatus

T = TypeVar("T")

RESTS = SchedulingGate(name=GATE_OF_RESTING_PODS)
"""Seen by the scheduler alone: pods of a job that rests are not placed."""
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Expected:
    """What a pod will look like."""

    node: str = ""
    is_leaving: bool = False
    condition: Condition | None = None
    nominated: str | None = None
    is_open: bool = False
    """Its gate for the queue is taken away."""
    is_spared: bool = False
    """Its eviction was refused: it is no victim for now."""

    def is_nothing(self) -> bool:
        return self == Expected()


class Assumptions:
    """By pod UID, PodGroup, Queue and NodeShard, what is expected of it."""

    def __init__(self) -> None:
        self._pods: dict[str, Expected] = {}
        self._groups: dict[str, PodGroupStatus] = {}
        self._queues: dict[str, ResourceList] = {}
        self._shards: dict[str, NodeShardStatus] = {}
        self.resting: set[str] = set()
        """PodGroups whose pods are left alone for now."""
        self.ending: set[str] = set()
        """Namespaces that are being deleted: nothing is started in them."""

    def of_pod(self, uid: str) -> Expected:
        return self._pods.get(uid, Expected())

    def expect(self, uid: str, **what: object) -> None:
        """Something more, or something else, is expected of the pod."""
        expected = replace(self.of_pod(uid), **what)  # type: ignore[arg-type]
        if expected.is_nothing():
            self._pods.pop(uid, None)
        else:
            self._pods[uid] = expected

    def of_group(self, key: str) -> PodGroupStatus | None:
        return self._groups.get(key)

    def of_queue(self, name: str) -> ResourceList | None:
        return self._queues.get(name)

    def of_shard(self, name: str) -> NodeShardStatus | None:
        return self._shards.get(name)

    def expect_group(self, key: str, status: PodGroupStatus | None) -> None:
        _put(self._groups, key, status)

    def expect_queue(self, name: str, allocated: ResourceList | None) -> None:
        _put(self._queues, name, allocated)

    def expect_shard(self, name: str, status: NodeShardStatus | None) -> None:
        _put(self._shards, name, status)

    def forget(self, manifest: Manifest) -> None:
        """The object is gone."""
        match manifest:
            case Pod():
                self._pods.pop(manifest.metadata.uid, None)
            case PodGroup():
                self._groups.pop(manifest.key, None)
                self.resting.discard(manifest.key)
            case Queue():
                self._queues.pop(manifest.key, None)
            case NodeShard():
                self._shards.pop(manifest.key, None)

    def come_true(self, pod: Pod) -> None:
        """What the pod shows by itself need not be assumed any more."""
        uid = pod.metadata.uid
        expected = self._pods.get(uid)
        if expected is None:
            return
        if pod.spec.node_name:
            self.expect(uid, node="", nominated=None, condition=None, is_open=False)
        if pod.metadata.deletion_timestamp is not None:
            self.expect(uid, is_leaving=False)

    def view(self, manifest: Manifest, group: str = "") -> Manifest:
        """The object with everything that is expected of it."""
        match manifest:
            case Pod():
                return self._view_of_pod(manifest, group)
            case PodGroup() if manifest.key in self._groups:
                return msgspec.structs.replace(manifest, status=self._groups[manifest.key])
            case Queue() if manifest.key in self._queues:
                status = msgspec.structs.replace(manifest.status, allocated=self._queues[manifest.key])
                return msgspec.structs.replace(manifest, status=status)
            case NodeShard() if manifest.key in self._shards:
                return msgspec.structs.replace(manifest, status=self._shards[manifest.key])
        return manifest

    def _view_of_pod(self, pod: Pod, group: str) -> Pod:
        expected = self._pods.get(pod.metadata.uid)
        if expected is not None:
            pod = _as_expected(pod, expected)
        rests = group in self.resting or pod.metadata.namespace in self.ending
        if rests and not pod.spec.node_name:
            gates = (*pod.spec.scheduling_gates, RESTS)
            pod = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, scheduling_gates=gates))
        return pod


def _as_expected(pod: Pod, expected: Expected) -> Pod:
    replaced = msgspec.structs.replace
    if expected.is_leaving and pod.metadata.deletion_timestamp is None:
        pod = replaced(pod, metadata=replaced(pod.metadata, deletion_timestamp=LONG_AGO))
    if expected.is_spared:
        notes = {**pod.metadata.annotations, EVICTION_REFUSED: "true"}
        pod = replaced(pod, metadata=replaced(pod.metadata, annotations=notes))
    if expected.condition is not None:
        pod = with_condition(pod, expected.condition, LONG_AGO)
    if expected.nominated is not None:
        pod = replaced(pod, status=replaced(pod.status, nominated_node_name=expected.nominated))
    if expected.is_open or expected.node:
        pod = ungated(pod)
    if expected.node and not pod.spec.node_name:
        pod = placed(pod, expected.node)
    return pod


def _put(known: dict[str, T], key: str, value: T | None) -> None:
    if value is None:
        known.pop(key, None)
    else:
        known[key] = value
