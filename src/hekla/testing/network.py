"""Networks in a few words: domains over nodes, what jobs ask of them, and whose nodes are whose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hekla.objects import HyperNode, LabelSelector, NodeShard
from hekla.objects.node import (
    ExactMatch,
    HyperNodeSpec,
    Member,
    MemberSelector,
    NodeShardSpec,
    NodeShardStatus,
    RegexMatch,
)
from hekla.objects.scheduling import NetworkTopology, SubGroupPolicy
from hekla.testing.pods import metadata

Wish = NetworkTopology | tuple[str, int | str]
"""What a job asks of the network: `("hard", 1)`, or by the name of a tier `("hard", "rack")`."""


def hypernode(
    name: str,
    *,
    tier: int = 1,
    nodes: Sequence[str] = (),
    hypernodes: Sequence[str] = (),
    regex: str | None = None,
    labels: Mapping[str, str] | LabelSelector | None = None,
    tier_name: str = "",
) -> HyperNode:
    """A network domain: nodes by name, by a pattern or by labels, and smaller domains by name."""
    selectors = [("Node", MemberSelector(exact_match=ExactMatch(name=node))) for node in nodes]
    selectors += [("HyperNode", MemberSelector(exact_match=ExactMatch(name=child))) for child in hypernodes]
    if regex is not None:
        selectors.append(("Node", MemberSelector(regex_match=RegexMatch(pattern=regex))))
    if labels is not None:
        wanted = labels if isinstance(labels, LabelSelector) else LabelSelector(match_labels={**labels})
        selectors.append(("Node", MemberSelector(label_match=wanted)))
    members = tuple(Member(type=kind, selector=selector) for kind, selector in selectors)
    return HyperNode(
        metadata=metadata(name), spec=HyperNodeSpec(tier=tier, tier_name=tier_name, members=members)
    )


def racks(**nodes_of: Sequence[str]) -> list[HyperNode]:
    """Domains of the first tier: `racks(s0=["n1", "n2"], s1=["n3"])`."""
    return [hypernode(name, nodes=nodes) for name, nodes in nodes_of.items()]


def topology(wish: Wish | None) -> NetworkTopology | None:
    if wish is None or isinstance(wish, NetworkTopology):
        return wish
    mode, tier = wish
    if isinstance(tier, str):
        return NetworkTopology(mode=mode, highest_tier_name=tier)
    return NetworkTopology(mode=mode, highest_tier_allowed=tier)


def sub_group(
    name: str,
    *,
    by: Sequence[str] = ("group",),
    size: int | None = None,
    minimum: int | None = None,
    wish: Wish | None = None,
    labels: Mapping[str, str] | None = None,
) -> SubGroupPolicy:
    """Tasks with equal values of the labels `by` belong together; at least `minimum` such groups start."""
    return SubGroupPolicy(
        name=name,
        label_selector=None if labels is None else LabelSelector(match_labels={**labels}),
        match_label_keys=tuple(by),
        sub_group_size=size,
        min_sub_groups=minimum,
        network_topology=topology(wish),
    )


def node_shard(
    name: str,
    desired: Sequence[str],
    *,
    in_use: Sequence[str] = (),
    to_add: Sequence[str] = (),
    to_remove: Sequence[str] = (),
) -> NodeShard:
    """The nodes that one of several schedulers should use, and those it says it uses."""
    status = NodeShardStatus(
        nodes_in_use=tuple(in_use), nodes_to_add=tuple(to_add), nodes_to_remove=tuple(to_remove)
    )
    return NodeShard(metadata=metadata(name), spec=NodeShardSpec(nodes_desired=tuple(desired)), status=status)
