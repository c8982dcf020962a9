"""Interest: which objects, and which changes of them, a scheduler has to know of."""

from __future__ import annotations

from collections.abc import Container, Iterable

from msgspec.structs import replace

from hekla.cluster.rooms import is_finished
from hekla.cluster.store import Store
from hekla.controllers.keys import GROUP_NAME
from hekla.objects import Manifest, Pod, PodGroup, Queue, VolcanoCommand, VolcanoJob
from hekla.objects.pod import PodStatus


class Interest:
    """What a scheduler of these names looks at."""

    def __init__(self, store: Store, scheduler_names: Container[str]) -> None:
        self._store = store
        self._names = scheduler_names

    def serves(self, pod: Pod) -> bool:
        """Whether it is this scheduler that places the pod."""
        name = pod.spec.scheduler_name
        return name in self._names or (not name and GROUP_NAME in pod.metadata.annotations)

    def awaits(self, pod: Pod) -> bool:
        """Whether the pod waits for this scheduler."""
        return pod.status.phase == "Pending" and not pod.spec.node_name and self.serves(pod)

    def concerns(self, manifest: Manifest) -> bool:
        """Leaves out orders, pods that others schedule, and ended ones of a group that is gone."""
        if not isinstance(manifest, Pod):
            return not isinstance(manifest, VolcanoCommand)
        if is_finished(manifest):
            group = manifest.metadata.annotations.get(GROUP_NAME, "")
            return self._store.pod_group(f"{manifest.metadata.namespace}/{group}") is not None
        return bool(manifest.spec.node_name) or self.serves(manifest)


def is_visible(before: Manifest | None, after: Manifest | None) -> bool:
    """Whether a change is one that a cycle would decide differently on; mere messages are not."""
    match before, after:
        case Pod(), Pod():
            return _facts_of_pod(before) != _facts_of_pod(after)
        case PodGroup(), PodGroup():
            return (before.spec, before.status.phase) != (after.spec, after.status.phase)
        case Queue(), Queue():
            return (before.spec, before.status.state) != (after.spec, after.status.state)
        case (VolcanoJob() | VolcanoCommand(), _) | (_, VolcanoJob() | VolcanoCommand()):
            return False
    return True


def says_the_same(before: Manifest | None, after: Manifest | None) -> bool:
    """Whether a pod that has its node is to a scheduler what it was: only conditions have changed."""
    if not isinstance(before, Pod) or not isinstance(after, Pod) or not before.spec.node_name:
        return False
    mine, theirs = before.metadata, after.metadata
    return (
        before.status.phase == after.status.phase
        and _without_words(before.status) == _without_words(after.status)
        and replace(mine, resource_version="") == replace(theirs, resource_version="")
        and before.spec == after.spec
    )


def _without_words(status: PodStatus) -> PodStatus:
    """Of conditions only those of a resize count: what the pod asks for depends on them."""
    counted = tuple(one for one in status.conditions if one.type.startswith("PodResize"))
    return replace(status, conditions=counted)


def _facts_of_pod(pod: Pod) -> tuple[object, ...]:
    return (
        pod.metadata.uid,
        pod.metadata.deletion_timestamp,
        pod.spec,
        pod.status.phase,
        pod.status.nominated_node_name,
    )


def relevant(objects: Iterable[Manifest], scheduler_names: Container[str]) -> list[Manifest]:
    """Those that a scheduler of these names looks at; of two with one name the last counts."""
    store = Store()
    for manifest in objects:
        store.put(manifest)
    interest = Interest(store, scheduler_names)
    return [manifest for manifest in store if interest.concerns(manifest)]
