"""Feed: what happens in the cluster, in order, and what of it is the other scheduler's deed."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass

from hekla.clock import Clock
from hekla.cluster.interest import Interest, is_visible
from hekla.cluster.rooms import is_finished
from hekla.cluster.store import Store
from hekla.objects import Condition, Manifest, Pod, PodGroup

EVICTED_BY_SCHEDULER = ("Evict", "PreemptionByScheduler")
"""Reasons of the conditions that Volcano writes before it deletes a pod."""


@dataclass(frozen=True)
class Deed:
    """The other scheduler put a pod on a node, or took it off."""

    pod: Pod
    """As it was before."""
    node: str
    at: float
    eviction: str = ""
    """Why it was evicted, in the other scheduler's words; empty for a bind."""


@dataclass(frozen=True)
class Change:
    """An object as it is now, or one that is gone."""

    manifest: Manifest
    is_there: bool
    is_news: bool
    """Whether a cycle might decide differently from now on, for another reason than a deed."""
    deed: Deed | None = None


class Feed:
    """Watches a store; changes wait here until somebody takes them, which may be another thread."""

    def __init__(self, store: Store, scheduler_names: Collection[str], clock: Clock) -> None:
        self._store = store
        self._interest = Interest(store, scheduler_names)
        self._clock = clock
        self._changes: deque[Change] = deque()
        store.watch(self.heed)

    def __len__(self) -> int:
        return len(self._changes)

    def next(self) -> Change | None:
        return self._changes.popleft() if self._changes else None

    def heed(self, before: Manifest | None, after: Manifest | None) -> None:
        deed = self._deed(before, after)
        self._pass_on(before, after, is_news=deed is None and _is_news(before, after), deed=deed)
        group = after or before
        if isinstance(group, PodGroup) and (before is None or after is None):
            # Whether ended pods count depends on whether their group is there.
            for pod in filter(is_finished, self._store.pods_of_group(group.key)):
                self._pass_on(pod, pod, is_news=False)

    def _pass_on(
        self, before: Manifest | None, after: Manifest | None, *, is_news: bool, deed: Deed | None = None
    ) -> None:
        if after is not None and self._interest.concerns(after):
            self._changes.append(Change(after, True, is_news, deed))
        elif before is not None:
            self._changes.append(Change(before, False, is_news, deed))

    def _deed(self, before: Manifest | None, after: Manifest | None) -> Deed | None:
        if not isinstance(before, Pod) or not self._interest.serves(before):
            return None
        now = self._clock.now()
        if isinstance(after, Pod) and after.spec.node_name and not before.spec.node_name:
            return Deed(before, after.spec.node_name, now)
        leaves = after is None or (isinstance(after, Pod) and after.metadata.deletion_timestamp is not None)
        if leaves and before.metadata.deletion_timestamp is None and not is_finished(before):
            said = _eviction(after if isinstance(after, Pod) else before)
            if said is not None:
                return Deed(before, before.spec.node_name, now, said.message or said.reason)
        return None


def _eviction(pod: Pod) -> Condition | None:
    """The condition by which a scheduler says that it evicts the pod; pods that others delete have none."""
    found = [condition for condition in pod.status.conditions if condition.reason in EVICTED_BY_SCHEDULER]
    return found[0] if found else None


def _is_news(before: Manifest | None, after: Manifest | None) -> bool:
    if isinstance(before, Pod) and isinstance(after, Pod) and _starts(before, after):
        return False
    return is_visible(before, after)


def _starts(before: Pod, after: Pod) -> bool:
    """A bound pod begins to run: it holds what it held before."""
    return (
        bool(before.spec.node_name)
        and before.spec == after.spec
        and (before.status.phase, after.status.phase) == ("Pending", "Running")
        and before.metadata.deletion_timestamp == after.metadata.deletion_timestamp
    )
