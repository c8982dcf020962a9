"""HyperNode and NodeShard: network domains, and whose nodes are whose."""

from __future__ import annotations

from hekla.objects.meta import LabelSelector, Manifest, Part


class ExactMatch(Part):
    name: str


class RegexMatch(Part):
    pattern: str


class MemberSelector(Part):
    exact_match: ExactMatch | None = None
    regex_match: RegexMatch | None = None
    label_match: LabelSelector | None = None


class Member(Part):
    type: str
    selector: MemberSelector = MemberSelector()


class HyperNodeSpec(Part):
    tier: int
    tier_name: str = ""
    members: tuple[Member, ...] = ()


class HyperNode(Manifest, kw_only=True):
    spec: HyperNodeSpec


class NodeShardSpec(Part):
    nodes_desired: tuple[str, ...]


class NodeShardStatus(Part):
    nodes_in_use: tuple[str, ...] = ()
    nodes_to_add: tuple[str, ...] = ()
    nodes_to_remove: tuple[str, ...] = ()


class NodeShard(Manifest, kw_only=True):
    spec: NodeShardSpec
    status: NodeShardStatus = NodeShardStatus()
