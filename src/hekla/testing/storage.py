"""Storage for tests: classes, claims, volumes, and the drivers of nodes."""

from __future__ import annotations

from msgspec.structs import replace

from hekla.objects import CSINode, ObjectMeta, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass
from hekla.objects.pod import ClaimSource, Volume
from hekla.objects.storage import (
    CSIDriverLimit,
    CSINodeDriver,
    CSINodeSpec,
    CSISource,
    PersistentVolumeClaimSpec,
    PersistentVolumeSpec,
    PhaseStatus,
)

NAMESPACE = "default"


def claim(name: str, *, of: str = "", volume: str = "") -> PersistentVolumeClaim:
    """A claim of a storage class, bound to a volume where one is named."""
    return PersistentVolumeClaim(
        metadata=ObjectMeta(name=name, namespace=NAMESPACE, uid=name),
        spec=PersistentVolumeClaimSpec(storage_class_name=of, volume_name=volume),
        status=PhaseStatus(phase="Bound" if volume else "Pending"),
    )


def volume(name: str, *, driver: str = "") -> PersistentVolume:
    """A volume of a CSI driver, or of none."""
    source = CSISource(driver=driver, volume_handle=name) if driver else None
    return PersistentVolume(metadata=ObjectMeta(name=name, uid=name), spec=PersistentVolumeSpec(csi=source))


def storage_class(name: str, provisioner: str) -> StorageClass:
    """A class whose claims wait for their first pod."""
    meta = ObjectMeta(name=name, uid=name)
    return StorageClass(metadata=meta, provisioner=provisioner, volume_binding_mode="WaitForFirstConsumer")


def csi_node(name: str, **limits: int | None) -> CSINode:
    """How many volumes of each driver the node takes; None: as many as there are."""
    drivers = tuple(
        CSINodeDriver(name=driver, allocatable=None if count is None else CSIDriverLimit(count=count))
        for driver, count in limits.items()
    )
    return CSINode(metadata=ObjectMeta(name=name, uid=f"csi-{name}"), spec=CSINodeSpec(drivers=drivers))


def using(pod: Pod, *claims: str) -> Pod:
    """The pod with these claims as its volumes."""
    volumes = tuple(
        Volume(name=name, persistent_volume_claim=ClaimSource(claim_name=name)) for name in claims
    )
    return replace(pod, spec=replace(pod.spec, volumes=volumes))
