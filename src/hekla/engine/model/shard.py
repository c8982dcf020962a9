"""Shard: which nodes are this scheduler's own, where several schedulers share a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hekla.objects.node import NodeShard, NodeShardStatus

DEFAULT_NAME = "volcano"


@dataclass(frozen=True)
class Shard:
    """The nodes this scheduler may use: `hard` alone, `soft` before the others, `none` all alike."""

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
