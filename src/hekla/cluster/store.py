"""Store: the objects of the cluster by kind and name, and who wants to hear of every change."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TypeVar, cast

from hekla.controllers.keys import GROUP_NAME
from hekla.objects import (
    Manifest,
    PersistentVolumeClaim,
    Pod,
    PodGroup,
    PriorityClass,
    Queue,
    VolcanoJob,
)

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
