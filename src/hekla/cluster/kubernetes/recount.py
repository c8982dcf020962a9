"""Recount: what is taken of every node, added up anew from the objects alone.

This is not how the engine counts, and on purpose: sums are checked by code that did not keep them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from hekla.engine.model.resources import canonical, is_counted
from hekla.errors import InputError
from hekla.objects import CSINode, Manifest, Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass
from hekla.objects.keys import OVERSUBSCRIBED_CPU, OVERSUBSCRIBED_MEMORY, STORAGE_CLASS
from hekla.objects.meta import ResourceList
from hekla.objects.pod import Container, ContainerStatus
from hekla.objects.quantity import read_count

Sums = Counter[str]
EXTRA = (("cpu", OVERSUBSCRIBED_CPU), ("memory", OVERSUBSCRIBED_MEMORY))


class Disks:
    """The objects that say of which driver a claim is, and how many volumes of a driver a node takes."""

    def __init__(self, objects: Iterable[Manifest], ignored: Collection[str] = ()) -> None:
        self._by_kind: dict[type[Manifest], dict[str, Any]] = {}
        for one in objects:
            self._by_kind.setdefault(type(one), {})[one.key] = one
        self._ignored = ignored

    def attached(self, pod: Pod) -> Sums:
        """One volume per claim of the pod; none where a claim is unknown."""
        claims = self._by_kind.get(PersistentVolumeClaim, {})
        names = [
            disk.persistent_volume_claim.claim_name
            if disk.persistent_volume_claim is not None
            else f"{pod.metadata.name}-{disk.name}"
            for disk in pod.spec.volumes
            if disk.persistent_volume_claim is not None or disk.ephemeral is not None
        ]
        keys = [f"{pod.metadata.namespace}/{name}" for name in names]
        if not claims.keys() >= set(keys):
            return Counter()
        drivers = (self._driver(claims[key]) for key in keys)
        counted = (driver for driver in drivers if driver and driver not in self._ignored)
        return Counter({_attachable(name): 1000 * count for name, count in Counter(counted).items()})

    def _driver(self, claim: PersistentVolumeClaim) -> str:
        volume = self._by_kind.get(PersistentVolume, {}).get(claim.spec.volume_name)
        if volume is not None:
            return volume.spec.csi.driver if volume.spec.csi is not None else ""
        usual = claim.spec.storage_class_name or ""
        named = claim.metadata.annotations.get(STORAGE_CLASS, usual)
        entry = self._by_kind.get(StorageClass, {}).get(named)
        return entry.provisioner if entry is not None else ""

    def limits(self, node: str) -> Sums:
        """How many volumes of each driver the node takes."""
        csi_node = self._by_kind.get(CSINode, {}).get(node)
        limits: Sums = Counter()
        for driver in csi_node.spec.drivers if csi_node is not None else ():
            stated = driver.allocatable.count if driver.allocatable is not None else None
            limits[_attachable(driver.name)] = 1000 * (2**31 - 1 if stated is None else stated)
        return limits


def _attachable(driver: str) -> str:
    return "attachable-volumes-csi-" + driver.replace("/", "-")


def taken_by_node(pods: Iterable[Pod], disks: Disks) -> dict[str, Sums]:
    """By node, the sum over the pods that sit on it and have not ended."""
    taken: dict[str, Sums] = {}
    for pod in pods:
        if pod.spec.node_name and pod.status.phase not in ("Succeeded", "Failed"):
            taken.setdefault(pod.spec.node_name, Counter()).update(readable(pod, disks))
    return taken


def offered(node: Node, disks: Disks) -> Sums:
    """What the node has to give."""
    sums = _sums(node.status.allocatable or node.status.capacity)
    sums.update(disks.limits(node.metadata.name))
    for name, key in EXTRA:
        sums[name] += read_count(node.metadata.annotations.get(key, "")) or 0
    return sums


def readable(pod: Pod, disks: Disks) -> Sums:
    """The pod's request; what cannot be read is complained of elsewhere, and takes no room."""
    try:
        return request(pod) + disks.attached(pod)
    except InputError:
        return Counter()


def request(pod: Pod) -> Sums:
    """The most that the pod holds at any time of its life, its overhead, and one pod."""
    held = {status.name: status for status in (*pod.status.container_statuses,)}
    held_early = {status.name: status for status in pod.status.init_container_statuses}
    refuses = _refuses_to_resize(pod)
    peak: Sums = Counter()
    beside: Sums = Counter()
    for container in pod.spec.init_containers:
        if container.restart_policy == "Always":
            beside.update(_holds(container, held_early.get(container.name), refuses))
            peak |= beside
        else:
            peak |= beside + _sums(container.resources.requests)
    running = Counter(beside)
    for container in pod.spec.containers:
        running.update(_holds(container, held.get(container.name), refuses))
    total = peak | running
    total["pods"] += 1
    if pod.spec.resources is not None:
        for name, amount in _sums(pod.spec.resources.requests).items():
            if name in ("cpu", "memory") or name.startswith("hugepages-"):
                total[name] = amount
    total.update(_sums(pod.spec.overhead))
    return total


def _holds(container: Container, status: ContainerStatus | None, refuses: bool) -> Sums:
    """A container that is being resized holds the larger of what it has and what it is to have."""
    wanted = _sums(container.resources.requests)
    if status is None or status.resources is None:
        return wanted
    has = _sums(status.resources.requests) | _sums(status.allocated_resources)
    return has if refuses else wanted | has


def _refuses_to_resize(pod: Pod) -> bool:
    pending = (one.reason for one in pod.status.conditions if one.type == "PodResizePending")
    return pod.status.resize == "Infeasible" or "Infeasible" in pending


def _sums(amounts: ResourceList) -> Sums:
    return Counter({name: canonical(name, amount) for name, amount in amounts.items() if is_counted(name)})


def differences(
    mine: Mapping[str, Mapping[str, int]], theirs: Mapping[str, Mapping[str, int]]
) -> Iterator[str]:
    """Every node on which two counts differ, with the resources that they differ in."""
    for node in sorted(mine.keys() | theirs.keys()):
        left, right = mine.get(node, {}), theirs.get(node, {})
        parts = [
            f"{name} {right.get(name, 0)} instead of {left.get(name, 0)}"
            for name in sorted(left.keys() | right.keys())
            if left.get(name, 0) != right.get(name, 0)
        ]
        if parts:
            yield f"{node}: {', '.join(parts)}"
