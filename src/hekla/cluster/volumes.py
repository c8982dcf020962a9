"""Volumes: claims find a volume, at once or when their first pod is bound."""

from __future__ import annotations

from collections.abc import Container, Iterator

from msgspec.structs import replace

from hekla.cluster.store import Store
from hekla.errors import InputError
from hekla.objects import Node, ObjectMeta, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass
from hekla.objects.meta import Amount, LabelRequirement, matches, requirement_holds
from hekla.objects.pod import NodeSelectorRequirement, NodeSelectorTerm
from hekla.objects.quantity import exact, read_integer
from hekla.objects.storage import ClaimReference, CSISource, PersistentVolumeSpec, PhaseStatus

WAITS = "WaitForFirstConsumer"
NO_PROVISIONER = "kubernetes.io/no-provisioner"


def bind_at_once(store: Store, claim: PersistentVolumeClaim) -> None:
    """Bind a claim whose class does not want to wait for a pod."""
    if claim.status.phase != "Bound" and not waits(store, claim):
        _bind(store, claim, None)


def bind_for(store: Store, pod: Pod, node: Node) -> None:
    """Bind the claims of a pod that waited until it was known where they are needed."""
    for claim in claims_of(store, pod):
        if claim.status.phase != "Bound":
            _bind(store, claim, node)


def claims_of(store: Store, pod: Pod) -> Iterator[PersistentVolumeClaim]:
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            key = f"{pod.metadata.namespace}/{volume.persistent_volume_claim.claim_name}"
            claim = store.get(PersistentVolumeClaim, key)
            if claim is not None:
                yield claim


def waits(store: Store, claim: PersistentVolumeClaim) -> bool:
    storage_class = store.get(StorageClass, claim.spec.storage_class_name or "")
    return storage_class is not None and storage_class.volume_binding_mode == WAITS


def volume_for(
    store: Store, claim: PersistentVolumeClaim, node: Node | None, taken: Container[str] = ()
) -> PersistentVolume | None:
    """The smallest that is large enough and not taken: the large ones are left for other claims."""
    fitting = [
        volume
        for volume in store.all_of(PersistentVolume)
        if volume.metadata.name not in taken and suits(volume, claim, node)
    ]
    return min(fitting, key=lambda volume: _size(volume.spec.capacity), default=None)


def _bind(store: Store, claim: PersistentVolumeClaim, node: Node | None) -> None:
    volume = volume_for(store, claim, node)
    if volume is None:
        volume = _provisioned(store, claim)
    if volume is None:
        return
    reference = ClaimReference(namespace=claim.metadata.namespace, name=claim.metadata.name)
    bound = PhaseStatus(phase="Bound")
    store.put(replace(volume, spec=replace(volume.spec, claim_ref=reference), status=bound))
    store.put(replace(claim, spec=replace(claim.spec, volume_name=volume.metadata.name), status=bound))


def suits(volume: PersistentVolume, claim: PersistentVolumeClaim, node: Node | None) -> bool:
    """Whether the volume is free, large enough, of the right kind, and within reach of the node."""
    spec, wanted, reference = volume.spec, claim.spec, volume.spec.claim_ref
    if wanted.volume_name:
        return volume.metadata.name == wanted.volume_name
    if reference is not None and (reference.namespace, reference.name) != (
        claim.metadata.namespace,
        claim.metadata.name,
    ):
        return False
    return (
        (volume.status.phase != "Bound" or reference is not None)
        and spec.storage_class_name == (wanted.storage_class_name or "")
        and spec.volume_mode == wanted.volume_mode
        and set(wanted.access_modes) <= set(spec.access_modes)
        and (wanted.selector is None or matches(wanted.selector, volume.metadata.labels))
        and _size(spec.capacity) >= _size(wanted.resources.requests)
        and (node is None or is_in_reach(volume, node))
    )


def _size(amounts: dict[str, Amount]) -> float:
    try:
        return float(exact(amounts.get("storage", 0)))
    except InputError:
        return 0.0


def is_in_reach(volume: PersistentVolume, node: Node) -> bool:
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return True
    return any(_term_holds(term, node) for term in affinity.required.node_selector_terms)


def _term_holds(term: NodeSelectorTerm, node: Node) -> bool:
    """A term without requirements matches nothing, as in Kubernetes."""
    if not term.match_expressions and not term.match_fields:
        return False
    fields = {"metadata.name": node.metadata.name}
    return all(_holds(each, node.metadata.labels) for each in term.match_expressions) and all(
        _holds(each, fields) for each in term.match_fields
    )


def _holds(wanted: NodeSelectorRequirement, labels: dict[str, str]) -> bool:
    if wanted.operator not in ("Gt", "Lt"):
        same = LabelRequirement(key=wanted.key, operator=wanted.operator, values=wanted.values)
        return requirement_holds(same, labels)
    value, limit = read_integer(labels.get(wanted.key, "")), read_integer("".join(wanted.values[:1]))
    if value is None or limit is None:
        return False
    return value > limit if wanted.operator == "Gt" else value < limit


def _provisioned(store: Store, claim: PersistentVolumeClaim) -> PersistentVolume | None:
    """A new volume, unless the class says that volumes are made by hand."""
    name = claim.spec.storage_class_name or ""
    storage_class = store.get(StorageClass, name)
    is_by_hand = storage_class is not None and storage_class.provisioner == NO_PROVISIONER
    if is_by_hand or claim.spec.volume_name or (name and storage_class is None):
        return None
    return PersistentVolume(
        metadata=ObjectMeta(name=f"pvc-{claim.metadata.uid}", uid=f"pvc-{claim.metadata.uid}"),
        spec=PersistentVolumeSpec(
            capacity=claim.spec.resources.requests,
            access_modes=claim.spec.access_modes,
            storage_class_name=name,
            volume_mode=claim.spec.volume_mode,
            csi=_source(storage_class, claim),
        ),
    )


def _source(storage_class: StorageClass | None, claim: PersistentVolumeClaim) -> CSISource | None:
    """A volume is of the driver that made it, so that it stays counted as one; Kubernetes' own are not."""
    if storage_class is None or storage_class.provisioner.startswith("kubernetes.io/"):
        return None
    return CSISource(driver=storage_class.provisioner, volume_handle=f"pvc-{claim.metadata.uid}")
