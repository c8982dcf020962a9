"""Node: what a machine offers and which pods it turns away; HyperNodes, shards and NUMA topology of nodes."""

from __future__ import annotations

from hekla.objects.meta import Condition, LabelSelector, Manifest, Part, ResourceList


class Taint(Part):
    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Part):
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


class ContainerImage(Part):
    names: tuple[str, ...] = ()
    size_bytes: int = 0


class NodeStatus(Part):
    allocatable: ResourceList = {}
    capacity: ResourceList = {}
    images: tuple[ContainerImage, ...] = ()
    conditions: tuple[Condition, ...] = ()


class Node(Manifest):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


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


class CpuInfo(Part):
    """Where a CPU sits; a number that is left out is 0."""

    numa: int = 0
    socket: int = 0
    core: int = 0


class NumaResource(Part):
    """`allocatable` is a list of free ids such as `0,2-4`."""

    allocatable: str = ""
    capacity: int = 0


class ContainerAllocation(Part):
    name: str = ""
    allocations: dict[str, str] = {}


class PodAllocation(Part):
    """What a pod holds, as the node agent has seen it."""

    uid: str = ""
    name: str = ""
    namespace: str = ""
    container_allocations: tuple[ContainerAllocation, ...] = ()


class NumatopologySpec(Part):
    policies: dict[str, str] = {}
    res_reserved: ResourceList = {}
    numares: dict[str, NumaResource] = {}
    cpu_detail: dict[str, CpuInfo] = {}
    pod_allocations: tuple[PodAllocation, ...] = ()


class Numatopology(Manifest):
    """Named after its node; written by the agent on it."""

    spec: NumatopologySpec = NumatopologySpec()
