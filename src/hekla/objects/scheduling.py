"""PodGroup, Queue, PriorityClass: Volcano's words for gangs, tenants and importance."""

from __future__ import annotations

import msgspec

from hekla.objects.meta import Condition, LabelSelector, Manifest, Part, ResourceList


class NetworkTopology(Part):
    mode: str = "hard"
    highest_tier_allowed: int | None = None
    highest_tier_name: str = ""


class SubGroupPolicy(Part):
    name: str = ""
    label_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    sub_group_size: int | None = None
    min_sub_groups: int | None = None
    network_topology: NetworkTopology | None = None


class PodGroupSpec(Part):
    min_member: int = 0
    min_task_member: dict[str, int] = {}
    min_resources: ResourceList | None = None
    queue: str = ""
    priority_class_name: str = ""
    network_topology: NetworkTopology | None = None
    sub_group_policy: tuple[SubGroupPolicy, ...] = ()


class PodGroupStatus(Part):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    running: int = 0
    succeeded: int = 0
    failed: int = 0


class PodGroup(Manifest):
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


class Guarantee(Part):
    resource: ResourceList = {}


class NodeGroupAffinity(Part):
    required: tuple[str, ...] = msgspec.field(
        default=(), name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: tuple[str, ...] = msgspec.field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class QueueAffinity(Part):
    node_group_affinity: NodeGroupAffinity | None = None
    node_group_anti_affinity: NodeGroupAffinity | None = None


class ExtendCluster(Part):
    name: str = ""
    weight: int = 0
    capacity: ResourceList = {}


class QueueSpec(Part):
    weight: int = 1
    capability: ResourceList = {}
    deserved: ResourceList = {}
    guarantee: Guarantee = Guarantee()
    reclaimable: bool | None = None
    parent: str = ""
    priority: int = 0
    affinity: QueueAffinity | None = None
    type: str = ""
    dequeue_strategy: str = "traverse"
    extend_clusters: tuple[ExtendCluster, ...] = ()


class QueueStatus(Part):
    state: str = ""
    allocated: ResourceList = {}


class Queue(Manifest):
    spec: QueueSpec = QueueSpec()
    status: QueueStatus = QueueStatus()


class PriorityClass(Manifest):
    value: int = 0
    global_default: bool = False
    preemption_policy: str = ""
