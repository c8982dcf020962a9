"""Put aside: objects that the engine failed on, which it does not see until they change, or for a while.

Of pods that sit on a node their requests are still seen: what they take of it stays taken.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from hekla.cluster.kubernetes.context import group_of
from hekla.cluster.store import Store, is_visible
from hekla.objects import Manifest, ObjectMeta, Pod, PodGroup
from hekla.objects.pod import PodSpec

FIRST_REST = 300.0
"""Seconds until an object that did not change is tried again: what it failed on may have; then twice that."""
LONGEST_REST = 3600.0
Name = tuple[type[Manifest], str]


class PutAside:
    """`show` lets the engine see an object as it is to be seen from now on."""

    def __init__(self, store: Store, show: Callable[[Manifest], None], on_wake: Callable[[], None]) -> None:
        self._store = store
        self._show = show
        self._on_wake = on_wake
        self.reasons: dict[Name, str] = {}
        """By kind and name, what the engine failed with."""
        self._rests: dict[Name, float] = {}
        """How long an object was put aside the last time; kept until it changes."""
        self._timers: dict[Name, asyncio.TimerHandle] = {}

    def put(self, suspects: Iterable[Name], reason: str) -> Manifest | None:
        """Put the first of them aside that is there and is not yet; which one that is."""
        for name in suspects:
            manifest = self._store.get(*name)
            if manifest is not None and name not in self.reasons:
                self.reasons[name] = reason
                rest = self._rests[name] = min(2 * self._rests.get(name, FIRST_REST / 2), LONGEST_REST)
                self._timers[name] = asyncio.get_running_loop().call_later(rest, self._try_again, name)
                self._show_all_of(name)
                return manifest
        return None

    def view(self, manifest: Manifest) -> Manifest | None:
        """The object as the engine sees it; None where it does not."""
        if not self.reasons or not any(name in self.reasons for name in _names_of(manifest)):
            return manifest
        return _request_of(manifest) if isinstance(manifest, Pod) and manifest.spec.node_name else None

    def heed(self, before: Manifest | None, after: Manifest | None) -> None:
        """An object has changed: it is tried again, and so is the group that a pod has come to or left."""
        if self._rests and _is_changed(before, after):
            for manifest in filter(None, (before, after)):
                for name in _names_of(manifest):
                    self._rests.pop(name, None)
                    self._try_again(name)

    def try_all_again(self) -> None:
        """What they failed on has changed."""
        for name in list(self.reasons):
            self._try_again(name)

    def counts(self) -> Counter[str]:
        """By kind, how many there are."""
        return Counter(kind.__name__ for kind, _ in self.reasons)

    def _try_again(self, name: Name) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()
            del self.reasons[name]
            self._show_all_of(name)
            self._on_wake()

    def _show_all_of(self, name: Name) -> None:
        manifest = self._store.get(*name)
        if manifest is not None:
            self._show(manifest)
        if name[0] is PodGroup:
            for pod in self._store.pods_of_group(name[1]):
                self._show(pod)


def _names_of(manifest: Manifest) -> Iterator[Name]:
    """Of the object, and of the group that a pod belongs to."""
    yield type(manifest), manifest.key
    if isinstance(manifest, Pod):
        yield PodGroup, group_of(manifest)


def _is_changed(before: Manifest | None, after: Manifest | None) -> bool:
    """Whether another client has changed it: statuses are mostly written here."""
    if before is None or after is None or is_visible(before, after):
        return True
    mine, theirs = before.metadata, after.metadata
    return (mine.labels, mine.annotations) != (theirs.labels, theirs.annotations)


def _request_of(pod: Pod) -> Pod:
    """The pod as nothing but what it takes of its node."""
    meta, spec = pod.metadata, pod.spec
    bare = ObjectMeta(
        name=meta.name,
        namespace=meta.namespace,
        uid=meta.uid,
        creation_timestamp=meta.creation_timestamp,
        deletion_timestamp=meta.deletion_timestamp,
    )
    taken = PodSpec(
        node_name=spec.node_name,
        containers=spec.containers,
        init_containers=spec.init_containers,
        overhead=spec.overhead,
        resources=spec.resources,
    )
    return replace(pod, metadata=bare, spec=taken)
