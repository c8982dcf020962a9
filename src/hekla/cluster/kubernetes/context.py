"""Context: what carrying out a decision takes: facts, assumptions, and the ways to write and to tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hekla.cluster.kubernetes.assumptions import Assumptions
from hekla.cluster.kubernetes.outbox import Outbox
from hekla.cluster.kubernetes.recorder import Recorder
from hekla.cluster.kubernetes.writer import Writer
from hekla.cluster.store import Store
from hekla.objects import Manifest, Pod
from hekla.objects.keys import GROUP_NAME

Tell = Callable[[Manifest, str, str, str], None]
"""An object, Normal or Warning, a reason, a message."""


@dataclass(frozen=True)
class WriteContext:
    """The facts, what is assumed beyond them, and the ways to write; `show` lets the engine see a change."""

    store: Store
    assumptions: Assumptions
    outbox: Outbox
    writer: Writer
    recorder: Recorder
    show: Callable[[Manifest], None]

    def pod(self, key: str, uid: str) -> Pod | None:
        """The pod of this name, if it is still the one with this UID."""
        pod = self.store.get(Pod, key)
        return pod if pod is not None and pod.metadata.uid == uid else None

    def placed(self, job: str) -> list[Pod]:
        """The pods of a PodGroup that have a node or are about to get one; not those that failed or leave."""
        return [pod for pod in self.store.pods_of_group(job) if self._is_placed(pod)]

    def _is_placed(self, pod: Pod) -> bool:
        expected = self.assumptions.of_pod(pod.metadata.uid)
        is_leaving = expected.is_leaving or pod.metadata.deletion_timestamp is not None
        return bool(pod.spec.node_name or expected.node) and not is_leaving and pod.status.phase != "Failed"

    def minimum(self, job: str) -> int:
        """How many pods the PodGroup needs."""
        group = self.store.pod_group(job)
        return group.spec.min_member if group is not None else 0

    def is_leaving(self, manifest: Manifest) -> bool:
        """Whether the object, or its namespace, is being deleted: nothing is written on it any more."""
        meta = manifest.metadata
        return meta.deletion_timestamp is not None or meta.namespace in self.assumptions.ending

    def end_namespace(self, name: str) -> None:
        """The namespace is being deleted: its pods are not started any more."""
        if name not in self.assumptions.ending:
            self.assumptions.ending.add(name)
            self._show_namespace(name)

    def reopen_namespace(self, name: str) -> None:
        """The namespace is gone, or has been made anew."""
        if name in self.assumptions.ending:
            self.assumptions.ending.discard(name)
            self._show_namespace(name)

    def _show_namespace(self, name: str) -> None:
        for pod in self.store.all_of(Pod):
            if pod.metadata.namespace == name:
                self.show(pod)

    def assume(self, key: str, uid: str, **what: object) -> None:
        """From now on this is expected of the pod."""
        self.assumptions.expect(uid, **what)
        pod = self.pod(key, uid)
        if pod is not None:
            self.show(pod)

    def show_again(self, kind: type[Manifest], key: str) -> None:
        manifest = self.store.get(kind, key)
        if manifest is not None:
            self.show(manifest)


def group_of(pod: Pod) -> str:
    """The key of the pod's PodGroup; empty where it has none."""
    name = pod.metadata.annotations.get(GROUP_NAME, "")
    return f"{pod.metadata.namespace}/{name}" if name else ""


@dataclass(frozen=True)
class ControllerContext:
    """What controllers write and tell with; `is_current` says whether this process still may."""

    outbox: Outbox
    writer: Writer
    tell: Tell
    is_current: Callable[[], bool]
