"""Decisions: what a cycle asks of the cluster."""

from __future__ import annotations

import msgspec

from hekla.engine.model.resources import Resources
from hekla.objects.node import NodeShardStatus
from hekla.objects.scheduling import PodGroupStatus


class Bind(msgspec.Struct, frozen=True, eq=False):
    """Start this pod on that node. The job that it is a part of is told along, and tells no two apart."""

    pod: str
    uid: str
    node: str
    job: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bind) and self._what() == other._what()

    def __hash__(self) -> int:
        return hash(self._what())

    def _what(self) -> tuple[str, str, str]:
        return self.pod, self.uid, self.node


class Evict(msgspec.Struct, frozen=True):
    """Stop this pod; `beneficiary` is the job that the room is meant for, empty where it is for none."""

    pod: str
    uid: str
    node: str
    reason: str
    beneficiary: str = ""


class Nominate(msgspec.Struct, frozen=True):
    """This pod is promised room on that node once evicted pods are gone; no node withdraws a promise."""

    pod: str
    uid: str
    node: str


class OpenGate(msgspec.Struct, frozen=True):
    """Take the queue-allocation gate off this pod: its queue has room for it."""

    pod: str
    uid: str


class Tell(msgspec.Struct, frozen=True):
    """Write why this pod is not scheduled yet."""

    pod: str
    uid: str
    reason: str
    message: str


class UpdatePodGroup(msgspec.Struct, frozen=True):
    """Write this PodGroup's status."""

    pod_group: str
    status: PodGroupStatus


class UpdateQueue(msgspec.Struct, frozen=True):
    """Write what this queue's tasks hold, its descendants' included."""

    queue: str
    allocated: Resources


class UpdateShard(msgspec.Struct, frozen=True):
    """Write which nodes this scheduler's shard has in use."""

    shard: str
    status: NodeShardStatus


Decision = Bind | Evict | Nominate | OpenGate | Tell | UpdatePodGroup | UpdateQueue | UpdateShard
