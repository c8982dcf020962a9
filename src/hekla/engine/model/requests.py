"""What a pod asks for: containers, init containers, overhead, the pod itself; and volumes to be attached.

A pod asks for one attachment per claim, of the claim's driver. A node offers as many of a driver as its
CSINode says, and none of a driver that is not listed there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from hekla.engine.model.resources import (
    CPU,
    MEMORY,
    PODS,
    Resources,
    add,
    canonical,
    countable,
    largest,
    read_resources,
    total,
)
from hekla.objects import CSINode, Manifest, PersistentVolume, PersistentVolumeClaim, StorageClass
from hekla.objects.meta import Amount
from hekla.objects.pod import Container, ContainerStatus, Pod, PodSpec, ResourceRequirements

USUAL = {CPU: 100, MEMORY: 200 * 1024 * 1024}
"""What Kubernetes' scores count for a container that names no cpu or memory."""
NOTHING: Resources = {}

CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
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

Scored = tuple[int, int]
"""cpu and memory as Kubernetes' scores see them."""


class Demand(NamedTuple):
    """What a pod asks for, and what scores see of that: before it has a node, and on one."""

    request: Resources
    scored: Scored
    scored_on_node: Scored


def demand_of(pod: Pod) -> Demand:
    """Do not change it: pods that ask for the same share it."""
    spec = pod.spec
    if (
        len(spec.containers) == 1
        and not spec.init_containers
        and not pod.status.container_statuses
        and spec.resources is None
        and not spec.overhead
    ):
        return _demand_of_one_container(tuple(spec.containers[0].resources.requests.items()))
    return Demand(request_of(pod), scored_request_of(pod), scored_on_node(pod))


@lru_cache(maxsize=4096)
def _demand_of_one_container(asked: tuple[tuple[str, Amount], ...]) -> Demand:
    named = read_resources(dict(asked))
    scored = _scored({**USUAL, **named})
    return Demand(countable({**named, PODS: named.get(PODS, 0) + 1}), scored, scored)


def request_of(pod: Pod) -> Resources:
    """The request that fitting and accounting use; it always holds `pods: 1`."""
    spec = pod.spec
    if not spec.init_containers and len(spec.containers) == 1 and not pod.status.container_statuses:
        request = read_resources(spec.containers[0].resources.requests)
    else:
        request = _of_containers(pod, NOTHING)
    request[PODS] = request.get(PODS, 0) + 1
    return _of_pod(spec, request)


def scored_request_of(pod: Pod) -> Scored:
    """For a pod that is to be placed: a container that names none gets a small share."""
    return _scored(_of_pod(pod.spec, _of_containers(pod, USUAL)))


def scored_on_node(pod: Pod) -> Scored:
    """The same for a pod on its node, which gets no share of what the pod as a whole names."""
    named = {} if pod.spec.resources is None else read_resources(pod.spec.resources.requests)
    if not any(map(_is_pod_level, named)):
        return scored_request_of(pod)
    whole = request_of(pod)
    missing = {name: share for name, share in USUAL.items() if name not in whole}
    return _scored(_of_pod(pod.spec, _of_containers(pod, missing)))


def _scored(request: Resources) -> Scored:
    return request.get(CPU, 0), request.get(MEMORY, 0)


def _of_pod(spec: PodSpec, request: Resources) -> Resources:
    """What containers ask for together, but for what the pod as a whole says, and its overhead."""
    if spec.resources is not None:
        named = read_resources(spec.resources.requests)
        request = {**request, **{name: named[name] for name in named if _is_pod_level(name)}}
    return countable(add(request, read_resources(spec.overhead)) if spec.overhead else request)


def _of_containers(pod: Pod, missing: Resources) -> Resources:
    """The most that containers hold at any time; `missing` is what one gets of what it does not name."""
    resized = {status.name: status for status in pod.status.container_statuses}
    resized_init = {status.name: status for status in pod.status.init_container_statuses}
    is_infeasible = _resize_is_infeasible(pod)
    running = total(
        {**missing, **_current(one, resized.get(one.name), is_infeasible)} for one in pod.spec.containers
    )
    sidecars: Resources = {}
    starting: Resources = {}
    for container in pod.spec.init_containers:
        if container.restart_policy == "Always":
            held = _current(container, resized_init.get(container.name), is_infeasible)
            asked = {**missing, **held}
            running, sidecars = add(running, asked), add(sidecars, asked)
            starting = largest(starting, sidecars)
        else:
            asked = {**missing, **read_resources(container.resources.requests)}
            starting = largest(starting, add(asked, sidecars))
    return largest(running, starting)


def _current(container: Container, status: ContainerStatus | None, is_infeasible: bool) -> Resources:
    """While a container is being resized, the most it may hold counts."""
    asked = read_resources(container.resources.requests)
    if status is None or status.resources is None:
        return asked
    held = largest(read_resources(status.resources.requests), read_resources(status.allocated_resources))
    return held if is_infeasible else largest(asked, held)


def _resize_is_infeasible(pod: Pod) -> bool:
    return pod.status.resize == "Infeasible" or any(
        condition.type == "PodResizePending" and condition.reason == "Infeasible"
        for condition in pod.status.conditions
    )


def _is_pod_level(name: str) -> bool:
    return name in (CPU, MEMORY) or name.startswith("hugepages-")


def is_guaranteed(pod: Pod) -> bool:
    """Whether Kubernetes would put the pod into its Guaranteed class of service."""
    if pod.spec.resources is not None and (pod.spec.resources.limits or pod.spec.resources.requests):
        return _is_exact(pod.spec.resources)
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    return bool(containers) and all(_is_exact(container.resources) for container in containers)


def whole_cpus(resources: ResourceRequirements) -> int:
    """How many whole CPUs are asked for; 0 where none are, or parts of one."""
    asked = resources.requests.get(CPU, resources.limits.get(CPU, 0))
    cpus, parts = divmod(canonical(CPU, asked), 1000)
    return 0 if parts else cpus


def _is_exact(resources: ResourceRequirements) -> bool:
    for name in (CPU, MEMORY):
        limit = canonical(name, resources.limits.get(name, 0))
        # A request that is left out is as large as the limit.
        if limit == 0 or canonical(name, resources.requests.get(name, resources.limits[name])) != limit:
            return False
    return True


class Find(Protocol):
    """The object of this kind and key, if it exists."""

    def __call__(self, kind: type[M], key: str, /) -> M | None: ...


class ClaimName(msgspec.Struct, frozen=True):
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
    return claim.metadata.annotations.get(CLASS_ANNOTATION, claim.spec.storage_class_name or "")


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
        self.forget((pod.key,))
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

    def forget(self, pods: Iterable[str]) -> None:
        """The pods of these keys are gone, or asked about anew."""
        for pod in pods:
            for source in self._sources_of_pod.pop(pod, ()):
                others = self._pods_of_source[source]
                del others[pod]
                if not others:
                    del self._pods_of_source[source]

    def pods_of(self, kind: type[Manifest], keys: Iterable[str]) -> list[str]:
        """The keys of the pods whose request was read off one of these objects."""
        return [pod for key in keys for pod in self._pods_of_source.get((kind, key), ())]
