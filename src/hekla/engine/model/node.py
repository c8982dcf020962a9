"""Node: one machine, in canonical units; how busy it is, and which nodes are a scheduler's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hekla.engine.model.requests import offered_attachments
from hekla.engine.model.resources import CPU, MEMORY, PODS, Resources, add, countable, read_resources
from hekla.objects import CSINode, NodeShard
from hekla.objects import node as manifest
from hekla.objects.keys import OVERSUBSCRIBED_CPU, OVERSUBSCRIBED_MEMORY
from hekla.objects.node import NodeShardStatus
from hekla.objects.quantity import read_count

DEFAULT_NAME = "volcano"
"""Of a shard."""
OVERSUBSCRIBED = {CPU: OVERSUBSCRIBED_CPU, MEMORY: OVERSUBSCRIBED_MEMORY}


@dataclass(eq=False, slots=True)
class NodeInfo:
    """`allocatable` includes what may be oversubscribed; `reported` is the kubelet's own figure."""

    name: str
    allocatable: Resources
    capacity: Resources
    reported: Resources
    labels: dict[str, str]
    manifest: manifest.Node

    @property
    def pod_limit(self) -> int:
        return self.reported.get(PODS, 0)


def node_of(source: manifest.Node, csi_node: CSINode | None = None) -> NodeInfo:
    """The machine, with the volumes that can be attached to it."""
    # An API server fills in what a node can give from what it has, where only the latter is said.
    reported = read_resources(source.status.allocatable or source.status.capacity)
    extra = oversubscription(source.metadata.annotations)
    volumes = offered_attachments(csi_node)
    return NodeInfo(
        name=source.metadata.name,
        allocatable={**add(reported, extra), **volumes},
        capacity={**add(read_resources(source.status.capacity), extra), **volumes},
        reported=reported,
        labels=source.metadata.labels,
        manifest=source,
    )


def oversubscription(annotations: dict[str, str]) -> Resources:
    """Extra cpu (millicores) and memory (bytes) that the node agent lends out."""
    extra: Resources = {}
    for name, key in OVERSUBSCRIBED.items():
        amount = read_count(annotations.get(key, ""))
        if amount is not None:
            extra[name] = amount
    return countable(extra)


@dataclass(frozen=True)
class NodeLoad:
    """Average use over the last minutes, in percent of what the node has; `at` is when it was measured."""

    cpu: float
    memory: float
    at: float


@dataclass(frozen=True)
class Shard:
    """The nodes this scheduler may use: `hard` alone, `soft` before all other nodes, `none` all alike."""

    mode: str = "none"
    nodes: frozenset[str] = frozenset()
    name: str = ""


def shard_of(manifests: Sequence[NodeShard], mode: str, name: str = DEFAULT_NAME) -> Shard:
    """The shard of that name: what is wanted for it, less what other shards still have in use."""
    if mode == "none":
        return Shard()
    desired = {
        node for shard in manifests if shard.metadata.name == name for node in shard.spec.nodes_desired
    }
    taken = {node for shard in manifests if shard.metadata.name != name for node in shard.status.nodes_in_use}
    return Shard(mode, frozenset(desired - taken), name)


def status_of_shard(manifest: NodeShard, shard: Shard) -> NodeShardStatus:
    """What the shard's owner reports: the nodes it uses, those it waits for, those it should leave."""
    desired = set(manifest.spec.nodes_desired)
    return NodeShardStatus(
        nodes_in_use=tuple(sorted(shard.nodes)),
        nodes_to_add=tuple(sorted(desired - shard.nodes)),
        nodes_to_remove=tuple(sorted(shard.nodes - desired)),
    )
