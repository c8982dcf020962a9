"""Store: the objects of the cluster by kind and name, and who wants to hear of every change."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar, cast

from msgspec.structs import replace

from hekla.cluster.node_usage import is_finished
from hekla.objects import (
    Manifest,
    PersistentVolumeClaim,
    Pod,
    PodGroup,
    PriorityClass,
    Queue,
    VolcanoCommand,
    VolcanoJob,
)
from hekla.objects.keys import GROUP_NAME
from hekla.objects.pod import PodStatus

M = TypeVar("M", bound=Manifest)

Watcher = Callable[[Manifest | None, Manifest | None], None]
"""Hears what an object was and what it is: nothing before when it is new, nothing after when it is gone."""


class Store:
    """Objects in the order of their arrival. It is also the world that the job controller looks at."""

    def __init__(self) -> None:
        self._by_kind: dict[type[Manifest], dict[str, Manifest]] = {}
        self._pods_by_owner: dict[str, dict[str, None]] = {}
        self._pods_by_node: dict[str, dict[str, None]] = {}
        self._pods_by_group: dict[str, dict[str, None]] = {}
        self._watchers: list[Watcher] = []

    def watch(self, watcher: Watcher) -> None:
        """Call it after every change, after those who asked before it."""
        self._watchers.append(watcher)

    def get(self, kind: type[M], key: str) -> M | None:
        return cast("M | None", self._by_kind.get(kind, {}).get(key))

    def all_of(self, kind: type[M]) -> Collection[M]:
        return cast("Collection[M]", self._by_kind.get(kind, {}).values())

    def by_key(self, kind: type[M]) -> Mapping[str, M]:
        return cast("Mapping[str, M]", self._by_kind.get(kind, {}))

    def __iter__(self) -> Iterator[Manifest]:
        for objects in self._by_kind.values():
            yield from objects.values()

    def put(self, manifest: Manifest) -> None:
        """Add the object, or replace the one of its kind and name where it stands."""
        objects = self._by_kind.setdefault(type(manifest), {})
        before = objects.get(manifest.key)
        if before == manifest:
            return
        objects[manifest.key] = manifest
        self._index(before, manifest)
        for watcher in self._watchers:
            watcher(before, manifest)

    def remove(self, manifest: Manifest) -> None:
        """Take the object out; one of another UID under its name stays."""
        objects = self._by_kind.get(type(manifest), {})
        found = objects.get(manifest.key)
        if found is None or found.metadata.uid != manifest.metadata.uid:
            return
        del objects[manifest.key]
        self._index(found, None)
        for watcher in self._watchers:
            watcher(found, None)

    def _index(self, before: Manifest | None, after: Manifest | None) -> None:
        if isinstance(before, Pod):
            for index, name in self._entries(before):
                index.get(name, {}).pop(before.key, None)
                if not index.get(name, True):
                    del index[name]
        if isinstance(after, Pod):
            for index, name in self._entries(after):
                index.setdefault(name, {})[after.key] = None

    def _entries(self, pod: Pod) -> Iterator[tuple[dict[str, dict[str, None]], str]]:
        if pod.spec.node_name:
            yield self._pods_by_node, pod.spec.node_name
        if group := pod.metadata.annotations.get(GROUP_NAME):
            yield self._pods_by_group, f"{pod.metadata.namespace}/{group}"
        for owner in pod.metadata.owner_references:
            if owner.controller:
                yield self._pods_by_owner, owner.uid

    def pods_on(self, node: str) -> list[Pod]:
        return self._pods(self._pods_by_node.get(node, {}))

    def pods_of_group(self, key: str) -> list[Pod]:
        return self._pods(self._pods_by_group.get(key, {}))

    def _pods(self, keys: Mapping[str, None]) -> list[Pod]:
        pods = self.by_key(Pod)
        return [pods[key] for key in keys]

    def queues(self) -> Mapping[str, Queue]:
        return self.by_key(Queue)

    def job(self, key: str) -> VolcanoJob | None:
        return self.get(VolcanoJob, key)

    def pods(self, job: VolcanoJob) -> Sequence[Pod]:
        return self._pods(self._pods_by_owner.get(job.metadata.uid, {}))

    def pod_group(self, key: str) -> PodGroup | None:
        return self.get(PodGroup, key)

    def queue(self, name: str) -> Queue | None:
        return self.get(Queue, name)

    def has_claim(self, key: str) -> bool:
        return self.get(PersistentVolumeClaim, key) is not None

    def priority_by_class(self) -> Mapping[str, int]:
        return {priority.metadata.name: priority.value for priority in self.all_of(PriorityClass)}


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
        """Leaves out Commands, pods of other schedulers, and ended ones of a group that is gone."""
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
