"""Pod: what one task asks for, where it may run, and what became of it."""

from __future__ import annotations

from datetime import datetime

import msgspec

from hekla.objects.meta import Condition, LabelSelector, Manifest, Part, ResourceList


class ResourceRequirements(Part):
    requests: ResourceList = {}
    limits: ResourceList = {}


class ContainerPort(Part):
    container_port: int = 0
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = "TCP"


class Container(Part):
    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""


class NodeSelectorRequirement(Part):
    key: str
    operator: str
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Part):
    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(Part):
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(Part):
    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Part):
    required: NodeSelector | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: tuple[PreferredSchedulingTerm, ...] = msgspec.field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class PodAffinityTerm(Part):
    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Part):
    weight: int = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Part):
    """Both affinity and anti-affinity have this shape."""

    required: tuple[PodAffinityTerm, ...] = msgspec.field(
        default=(), name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: tuple[WeightedPodAffinityTerm, ...] = msgspec.field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(Part):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Toleration(Part):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class TopologySpreadConstraint(Part):
    max_skew: int = 1
    topology_key: str = ""
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: tuple[str, ...] = ()


class SchedulingGate(Part):
    name: str = ""


class ClaimSource(Part):
    claim_name: str = ""


class Ephemeral(Part):
    """An ephemeral volume: its claim is made with the pod, named `<pod>-<volume>`."""


class ImageSource(Part):
    reference: str = ""


class Volume(Part):
    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: Ephemeral | None = None
    image: ImageSource | None = None


class PodResourceClaim(Part):
    name: str = ""


class PodSpec(Part):
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    scheduler_name: str = ""
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    overhead: ResourceList = {}
    resources: ResourceRequirements | None = None
    volumes: tuple[Volume, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    host_network: bool = False
    restart_policy: str = ""
    termination_grace_period_seconds: int | None = None


class Terminated(Part):
    exit_code: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None


class ContainerState(Part):
    terminated: Terminated | None = None


class ContainerStatus(Part):
    name: str = ""
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList = {}


class PodStatus(Part):
    phase: str = "Pending"
    nominated_node_name: str = ""
    conditions: tuple[Condition, ...] = ()
    start_time: datetime | None = None
    resize: str = ""
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Manifest):
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
