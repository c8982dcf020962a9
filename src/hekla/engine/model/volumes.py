"""Attachable volumes: a pod asks for one attachment per claim, of the claim's driver.

A node offers as many of a driver as its CSINode says, and none of a driver that is not listed there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from hekla.engine.model.resources import Resources
from hekla.objects import CSINode, Manifest, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass
from hekla.objects.keys import STORAGE_CLASS

STORAGE = (PersistentVolumeClaim, PersistentVolume, StorageClass)
"""The kinds that say which driver a claim is of."""
ATTACHABLE = "attachable-volumes-csi-"
VOLUME = 1000
"""One volume, in thousandths like every other such resource."""
UNLIMITED = 2**31 - 1
"""How many volumes a node takes of a driver that states no limit."""

M = TypeVar("M", bound=Manifest)
Source = tuple[type[Manifest], str]
"""An object by kind and key."""


class Find(Protocol):
    """The object of this kind and key, if it exists."""

    def __call__(self, kind: type[M], key: str, /) -> M | None: ...


@dataclass(frozen=True)
class ClaimName:
    """A claim as a pod names it; one for an ephemeral volume is made with the pod."""

    namespace: str
    name: str
    is_ephemeral: bool

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


def claim_names(pod: Pod) -> Iterator[ClaimName]:
    namespace = pod.metadata.namespace
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield ClaimName(namespace, volume.persistent_volume_claim.claim_name, is_ephemeral=False)
        elif volume.ephemeral is not None:
            yield ClaimName(namespace, f"{pod.metadata.name}-{volume.name}", is_ephemeral=True)


def has_claims(pod: Pod) -> bool:
    # Most pods have no volumes at all, and this is asked of every pod.
    return bool(pod.spec.volumes) and any(
        volume.persistent_volume_claim is not None or volume.ephemeral is not None
        for volume in pod.spec.volumes
    )


def class_name(claim: PersistentVolumeClaim) -> str:
    return claim.metadata.annotations.get(STORAGE_CLASS, claim.spec.storage_class_name or "")


def attachable(driver: str) -> str:
    """The resource that volumes of the driver are counted as."""
    return ATTACHABLE + driver.replace("/", "-")


def offered_attachments(csi_node: CSINode | None) -> Resources:
    """What a node with this CSINode offers of each driver."""
    drivers = csi_node.spec.drivers if csi_node is not None else ()
    limits = {driver.name: driver.allocatable.count if driver.allocatable else None for driver in drivers}
    return {
        attachable(name): VOLUME * (UNLIMITED if count is None else count) for name, count in limits.items()
    }


class VolumeRequests:
    """What pods ask of drivers, and the pods for which a changed storage object may change that."""

    def __init__(self, find: Find, ignored: Collection[str] = ()) -> None:
        self._find = find
        self._ignored = frozenset(ignored)
        self._sources_of_pod: dict[str, dict[Source, None]] = {}
        self._pods_of_source: dict[Source, dict[str, None]] = {}

    def request_of(self, pod: Pod) -> Resources:
        """One attachment per claim; none at all while a claim does not exist."""
        self.forget(pod.key)
        sources: dict[Source, None] = {}
        request: Resources = {}
        is_complete = True
        for name in claim_names(pod):
            sources[PersistentVolumeClaim, name.key] = None
            claim = self._find(PersistentVolumeClaim, name.key)
            if claim is None:
                is_complete = False
                continue
            driver = self._driver_of(claim, sources)
            if driver and driver not in self._ignored:
                request[attachable(driver)] = request.get(attachable(driver), 0) + VOLUME
        self._remember(pod.key, sources)
        return request if is_complete else {}

    def _driver_of(self, claim: PersistentVolumeClaim, sources: dict[Source, None]) -> str:
        if volume_name := claim.spec.volume_name:
            sources[PersistentVolume, volume_name] = None
            volume = self._find(PersistentVolume, volume_name)
            if volume is not None:
                return volume.spec.csi.driver if volume.spec.csi is not None else ""
        # A volume that is not there yet will be made by the class's provisioner.
        sources[StorageClass, class_name(claim)] = None
        entry = self._find(StorageClass, class_name(claim))
        return entry.provisioner if entry is not None else ""

    def _remember(self, pod: str, sources: dict[Source, None]) -> None:
        if sources:
            self._sources_of_pod[pod] = sources
        for source in sources:
            self._pods_of_source.setdefault(source, {})[pod] = None

    def forget(self, pod: str) -> None:
        """The pod is gone, or asked about anew."""
        for source in self._sources_of_pod.pop(pod, {}):
            pods = self._pods_of_source[source]
            del pods[pod]
            if not pods:
                del self._pods_of_source[source]

    def pods_of(self, kind: type[Manifest], keys: Iterable[str]) -> list[str]:
        """The keys of the pods whose request was read off one of these objects."""
        return [pod for key in keys for pod in self._pods_of_source.get((kind, key), ())]
