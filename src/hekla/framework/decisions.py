"""Decisions: what a cycle asks of the cluster."""

from __future__ import annotations

from dataclasses import dataclass, field

from hekla.model.resources import Resources
from hekla.objects.scheduling import PodGroupStatus
from hekla.objects.topology import NodeShardStatus


@dataclass(frozen=True)
class Bind:
    """Start this pod on that node, as a part of that job."""

    pod: str
    uid: str
    node: str
    job: str = field(default="", compare=False)


@dataclass(frozen=True)
class Evict:
    """Stop this pod; `beneficiary` is the job that the room is meant for, empty where it is for nobody."""

    pod: str
    uid: str
    node: str
    reason: str
    beneficiary: str = ""


@dataclass(frozen=True)
class Nominate:
    """This pod is promised room on that node once evicted pods are gone; no node withdraws a promise."""

    pod: str
    uid: str
    node: str


@dataclass(frozen=True)
class OpenGate:
    """Take the queue-allocation gate off this pod: its queue has room for it."""

    pod: str
    uid: str


@dataclass(frozen=True)
class Tell:
    """Write why this pod is not scheduled yet."""

    pod: str
    uid: str
    reason: str
    message: str


@dataclass(frozen=True)
class UpdatePodGroup:
    """Write this PodGroup's status."""

    pod_group: str
    status: PodGroupStatus


@dataclass(frozen=True)
class UpdateQueue:
    """Write what this queue's tasks hold, its descendants' included."""

    queue: str
    allocated: Resources


@dataclass(frozen=True)
class UpdateShard:
    """Write which nodes this scheduler's shard has in use."""

    shard: str
    status: NodeShardStatus


Decision = Bind | Evict | Nominate | OpenGate | Tell | UpdatePodGroup | UpdateQueue | UpdateShard
