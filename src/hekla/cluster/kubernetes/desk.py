"""Desk: what everybody needs who carries out a decision; and how something is taken for granted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hekla.cluster.kubernetes.assumptions import Assumptions
from hekla.cluster.kubernetes.outbox import Outbox
from hekla.cluster.kubernetes.recorder import Recorder
from hekla.cluster.kubernetes.writer import Writer
from hekla.cluster.store import Store
from hekla.controllers.keys import GROUP_NAME
from hekla.objects import Manifest, Pod


@dataclass(frozen=True)
class Desk:
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
