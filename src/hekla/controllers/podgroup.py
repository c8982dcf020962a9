"""Pods that come without a PodGroup get one, shared with all pods of the same controller."""

from __future__ import annotations

from collections.abc import Container, Mapping

from msgspec.structs import replace

from hekla.controllers.usage import times, usage_of, written
from hekla.objects import ObjectMeta, OwnerReference, Pod, PodGroup, keys
from hekla.objects.keys import DEFAULT_SCHEDULER
from hekla.objects.quantity import read_count
from hekla.objects.scheduling import NetworkTopology, PodGroupSpec, PodGroupStatus

Annotations = Mapping[str, str]

_WORKLOADS = ("ReplicaSet", "DaemonSet", "StatefulSet", "Job")


def pod_group_for(
    pod: Pod,
    existing: Container[str] = (),
    annotations_by_owner: Mapping[str, Annotations] | None = None,
    scheduler_names: Container[str] = (DEFAULT_SCHEDULER,),
) -> tuple[PodGroup | None, Pod]:
    """The PodGroup to create, if it does not exist yet, and the pod that points to it.

    `existing` holds the keys of known PodGroups, `annotations_by_owner` the annotations of workloads by
    their UID (none: nothing is inherited). A pod that names a PodGroup, or that another scheduler serves,
    comes back as it was.
    """
    annotations = pod.metadata.annotations
    if pod.spec.scheduler_name not in scheduler_names or annotations.get(keys.GROUP_NAME):
        return None, pod
    name = group_name_for(pod)
    joined = replace(pod, metadata=replace(pod.metadata, annotations=annotations | {keys.GROUP_NAME: name}))
    if f"{pod.metadata.namespace}/{name}" in existing:
        return None, joined
    return new_pod_group(pod, name, inherited(pod, annotations_by_owner or {})), joined


def group_name_for(pod: Pod) -> str:
    owner = controller_of(pod)
    return f"podgroup-{pod.metadata.uid if owner is None else owner.uid}"


def controller_of(pod: Pod) -> OwnerReference | None:
    return next((owner for owner in pod.metadata.owner_references if owner.controller), None)


def inherited(pod: Pod, annotations_by_owner: Mapping[str, Annotations]) -> dict[str, str]:
    """The annotations of the pod's workloads; the first workload that has a key wins."""
    merged: dict[str, str] = {}
    for owner in pod.metadata.owner_references:
        if owner.kind in _WORKLOADS:
            merged = {**annotations_by_owner.get(owner.uid, {}), **merged}
    return merged


def new_pod_group(pod: Pod, name: str, of_owners: Annotations) -> PodGroup:
    min_member = min_member_in(of_owners)
    usage = times(usage_of(pod.spec), min_member)
    return PodGroup(
        metadata=ObjectMeta(
            name=name,
            namespace=pod.metadata.namespace,
            labels=keys.picked(pod.metadata.labels, keys.PREEMPTABLE, keys.COOLDOWN_TIME),
            annotations=group_annotations(pod, of_owners),
            owner_references=_owners(pod),
        ),
        spec=PodGroupSpec(
            min_member=min_member,
            min_resources=written(usage),
            # Left empty without an annotation: admission then asks the namespace.
            queue=pod.metadata.annotations.get(keys.QUEUE_OF_POD, ""),
            priority_class_name=pod.spec.priority_class_name,
            network_topology=topology_in(pod.metadata.annotations),
        ),
        status=PodGroupStatus(phase="Pending"),
    )


def min_member_in(of_owners: Annotations) -> int:
    """The gang minimum a workload asks for; what is no such number counts as one."""
    text = of_owners.get(keys.GROUP_MIN_MEMBER, "").removeprefix("+")
    number = read_count(text)
    return 1 if number is None else number


def group_annotations(pod: Pod, of_owners: Annotations) -> dict[str, str]:
    """What the workloads say under `volcano.sh/`, then what the pod says itself."""
    own = pod.metadata.annotations
    said = keys.picked(own, keys.PREEMPTABLE, keys.COOLDOWN_TIME, keys.REVOCABLE_ZONE)
    by_owners = {key: value for key, value in of_owners.items() if key.startswith(keys.VOLCANO_PREFIX)}
    return by_owners | said | keys.disruption_budget(own)


def _owners(pod: Pod) -> tuple[OwnerReference, ...]:
    if controller_of(pod) is not None:
        return pod.metadata.owner_references
    meta = pod.metadata
    return (OwnerReference(api_version="v1", kind="Pod", name=meta.name, uid=meta.uid, controller=True),)


def topology_in(annotations: Annotations) -> NetworkTopology | None:
    """The topology that annotations ask for; an unknown mode is hard, a tier that is none is left out."""
    mode, tier = annotations.get(keys.TOPOLOGY_MODE), annotations.get(keys.TOPOLOGY_TIER)
    if mode is None and tier is None:
        return None
    is_soft = mode is not None and mode.lower() == "soft"
    return NetworkTopology(
        mode="soft" if is_soft else "hard", highest_tier_allowed=None if tier is None else read_count(tier)
    )
