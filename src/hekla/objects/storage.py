"""Volumes and quotas, as far as scheduling reads them."""

from __future__ import annotations

from hekla.objects.meta import LabelSelector, Manifest, Part, ResourceList
from hekla.objects.pod import NodeSelector, ResourceRequirements


class VolumeNodeAffinity(Part):
    required: NodeSelector | None = None


class ClaimReference(Part):
    namespace: str = ""
    name: str = ""


class CSISource(Part):
    driver: str = ""
    volume_handle: str = ""


class PersistentVolumeSpec(Part):
    capacity: ResourceList = {}
    access_modes: tuple[str, ...] = ()
    storage_class_name: str = ""
    volume_mode: str = "Filesystem"
    node_affinity: VolumeNodeAffinity | None = None
    claim_ref: ClaimReference | None = None
    csi: CSISource | None = None


class PhaseStatus(Part):
    phase: str = ""


class PersistentVolume(Manifest):
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PhaseStatus = PhaseStatus()


class PersistentVolumeClaimSpec(Part):
    access_modes: tuple[str, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    storage_class_name: str | None = None
    volume_name: str = ""
    volume_mode: str = "Filesystem"
    selector: LabelSelector | None = None


class PersistentVolumeClaim(Manifest):
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PhaseStatus = PhaseStatus()


class TopologyRequirement(Part):
    key: str = ""
    values: tuple[str, ...] = ()


class AllowedTopology(Part):
    match_label_expressions: tuple[TopologyRequirement, ...] = ()


class StorageClass(Manifest):
    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    allowed_topologies: tuple[AllowedTopology, ...] = ()


class CSIDriverLimit(Part):
    count: int | None = None


class CSINodeDriver(Part):
    name: str = ""
    node_id: str = ""
    allocatable: CSIDriverLimit | None = None


class CSINodeSpec(Part):
    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(Manifest):
    spec: CSINodeSpec = CSINodeSpec()


class ResourceQuotaSpec(Part):
    hard: ResourceList = {}


class ResourceQuotaStatus(Part):
    hard: ResourceList = {}
    used: ResourceList = {}


class ResourceQuota(Manifest):
    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()


class PodDisruptionBudgetSpec(Part):
    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class PodDisruptionBudgetStatus(Part):
    disruptions_allowed: int = 0
    disrupted_pods: dict[str, str] = {}


class PodDisruptionBudget(Manifest):
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class Namespace(Manifest):
    """Read for its labels (namespace selectors) and its default queue."""
