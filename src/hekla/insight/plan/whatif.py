"""WhatIfCluster: a cluster on which things are supposed and taken back again, without building it anew.

Decisions are carried out the short way: a bound pod runs at once, an evicted one is gone at once and waits
again as its workload would make it anew, and what is being deleted already has left by the next cycle.
Nothing else ends. Taking back costs what was supposed, not what is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar, cast

from msgspec.structs import replace

from hekla.cluster.conditions import placed, ungated
from hekla.cluster.node_usage import is_finished
from hekla.conf import Conf
from hekla.engine.framework.decisions import Bind, Decision, Evict, Nominate, OpenGate, UpdatePodGroup
from hekla.engine.framework.registry import Registry
from hekla.engine.model.benefit import Benefit, benefit_of
from hekla.engine.model.node import NodeLoad, Shard
from hekla.engine.state.live import LiveState
from hekla.engine.state.snapshot import Snapshot, snapshot_of
from hekla.objects import Manifest, Pod, PodGroup
from hekla.objects.keys import GROUP_NAME
from hekla.objects.pod import PodStatus
from hekla.objects.scheduling import PodGroupStatus
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import CycleReport, run_cycle
from hekla.scheduler.load.read import LoadReader

M = TypeVar("M", bound=Manifest)

PERIOD = 1.0
"""Seconds from one cycle to the next."""


@dataclass(frozen=True)
class Setting:
    """How cycles decide, when the first of them runs, and what it remembers of those before."""

    conf: Conf
    now: float
    registry: Registry = BUILTIN
    shard: Shard = field(default_factory=Shard)
    memory: Mapping[str, float] = field(default_factory=dict)


class WhatIfCluster:
    """The objects of a cluster, and what is supposed on top of them."""

    def __init__(self, objects: Iterable[Manifest], setting: Setting) -> None:
        self.setting = setting
        self._state = LiveState()
        self._before: dict[tuple[type[Manifest], str], Manifest | None] = {}
        """What stood where something is supposed now; nothing where it is new."""
        self._supposed: dict[tuple[type[Manifest], str], Manifest] = {}
        """What stands there now, taken in or not."""
        self._load: Mapping[str, NodeLoad] = {}
        for manifest in objects:
            self._state.note(manifest)
        self.complaints = self._first_look().complaints
        self._settle()

    def _first_look(self) -> Snapshot:
        """Load is measured once: a plan is about one moment."""
        snapshot = snapshot_of(self._state, self.setting.shard)
        LoadReader(self.setting.conf, self.setting.registry).put_into(snapshot, self.setting.now)
        self._load = snapshot.load
        self._leaving = {
            key for key, pod in self.by_key(Pod).items() if pod.metadata.deletion_timestamp is not None
        }
        return snapshot

    def _settle(self) -> None:
        """Write conditions and counts that a file may lack: jobs at rest need not be looked at then.

        What decisions depend on stays as it is.
        """
        for decision in self.cycle(1, self.fresh_memory()).decisions:
            if isinstance(decision, UpdatePodGroup):
                group = self.by_key(PodGroup)[decision.pod_group]
                if _decided_on(group.status) == _decided_on(decision.status):
                    self._state.note(replace(group, status=recorded(decision.status)))

    @property
    def leaving_pods(self) -> int:
        """How many pods are on their way out, which makes room by the next cycle."""
        return len(self._leaving & self.by_key(Pod).keys())

    def by_key(self, kind: type[M]) -> Mapping[str, M]:
        """The objects of a kind as the latest cycle saw them."""
        return cast("Mapping[str, M]", self._state.manifests.get(kind, {}))

    def all_of(self, kind: type[M]) -> list[M]:
        return list(self.by_key(kind).values())

    def pods_by_group(self) -> dict[str, list[Pod]]:
        """Pods that have not ended, by the PodGroup that they name."""
        found: dict[str, list[Pod]] = {}
        for pod in self.all_of(Pod):
            if not is_finished(pod):
                found.setdefault(group_key(pod), []).append(pod)
        return found

    def pods_on_nodes(self, group: str) -> list[Pod]:
        """Those of one PodGroup that have a node and stay there."""
        return [
            pod
            for pod in self.pods_by_group().get(group, ())
            if pod.spec.node_name and pod.metadata.deletion_timestamp is None
        ]

    def put(self, manifest: Manifest) -> None:
        """Suppose that the object is there, or looks like this."""
        self._remember(manifest)
        self._supposed[type(manifest), manifest.key] = manifest
        self._state.note(manifest)

    def remove(self, manifest: Manifest) -> None:
        """Suppose that the object is gone."""
        self._remember(manifest)
        self._state.forget(manifest)

    def _remember(self, manifest: Manifest) -> None:
        place = (type(manifest), manifest.key)
        if place not in self._before:
            self._before[place] = self.by_key(type(manifest)).get(manifest.key)

    def take_back(self) -> None:
        """Everything is again as it was before something was supposed."""
        for place, before in self._before.items():
            if before is not None:
                self._state.note(before)
            elif place in self._supposed:
                self._state.forget(self._supposed[place])
        self.keep()

    def keep(self) -> None:
        """What is supposed stays: later plans build on it."""
        self._before.clear()
        self._supposed.clear()
        self._state.take_in()

    def fresh_memory(self) -> dict[str, float]:
        """What a first cycle remembers; every trial goes on from its own copy."""
        return dict(self.setting.memory)

    def cycle(self, number: int, memory: dict[str, float]) -> CycleReport:
        """One cycle on what is supposed; its decisions are only told."""
        snapshot = snapshot_of(self._state, self.setting.shard)
        snapshot.load = self._load
        return run_cycle(
            snapshot,
            self.setting.conf,
            registry=self.setting.registry,
            now=self.setting.now + (number - 1) * PERIOD,
            uid=f"cycle-{number}",
            memory=memory,
        )

    def carry_out(self, decisions: Sequence[Decision]) -> None:
        """Suppose that the decisions have been carried out, and that leaving pods have left."""
        for key in self._leaving & self.by_key(Pod).keys():
            self.remove(self.by_key(Pod)[key])
        for decision in decisions:
            match decision:
                case UpdatePodGroup():
                    self._set_status(decision)
                case Bind() | Evict() | Nominate() | OpenGate():
                    self._change_pod(decision)

    def _set_status(self, decision: UpdatePodGroup) -> None:
        """Most conditions, and counts, are for people: they are left out."""
        group = self.by_key(PodGroup).get(decision.pod_group)
        if group is not None and _decided_on(group.status) != _decided_on(decision.status):
            self.put(replace(group, status=recorded(decision.status)))

    def _change_pod(self, decision: Bind | Evict | Nominate | OpenGate) -> None:
        pod = self._latest(decision.pod)
        if pod is None:
            return
        match decision:
            case Bind(node=node):
                bound = placed(pod, node)
                self.put(replace(bound, status=replace(bound.status, phase="Running")))
            case Evict():
                self.put(made_anew(pod, self.setting.now))
            case Nominate(node=node):
                self.put(replace(pod, status=replace(pod.status, nominated_node_name=node)))
            case OpenGate():
                self.put(ungated(pod))

    def _latest(self, key: str) -> Pod | None:
        """The pod with what earlier decisions of the same cycle did to it."""
        supposed = self._supposed.get((Pod, key))
        return supposed if isinstance(supposed, Pod) else self.by_key(Pod).get(key)


def group_key(pod: Pod) -> str:
    """The PodGroup that a pod names."""
    return f"{pod.metadata.namespace}/{pod.metadata.annotations.get(GROUP_NAME, '')}"


def recorded(status: PodGroupStatus) -> PodGroupStatus:
    """The status without a word on which cycle wrote it: the cycles of every trial have the same names."""
    conditions = tuple(replace(condition, transition_id="") for condition in status.conditions)
    return replace(status, conditions=conditions)


def made_anew(pod: Pod, now: float) -> Pod:
    """The pod as its workload makes it again after an eviction: pending, and younger than the other pods.

    It keeps its UID, so that it has its old place when the eviction is taken back.
    """
    meta = replace(pod.metadata, creation_timestamp=datetime.fromtimestamp(now, UTC))
    return replace(pod, metadata=meta, spec=replace(pod.spec, node_name=""), status=PodStatus())


def _decided_on(status: PodGroupStatus) -> tuple[str, Benefit | None]:
    """What of a PodGroup's status later cycles go by."""
    return status.phase, benefit_of(status)
