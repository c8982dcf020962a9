"""Device share: hand out the GPU cards inside a node: whole, by memory, or cut into virtual ones.

A placement takes certain cards, and undoing it gives exactly those back. In Volcano that happens in
the events of the predicates plugin; here the plugin that chooses the cards keeps the books, too.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from hekla.conf import argument
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import NODE_ORDER, PREDICATE, AnyPoint, Scope, answers
from hekla.engine.ledger.arrays import Floats, Rows
from hekla.engine.model.diagnosis import Refusal
from hekla.engine.model.status import TERMINATED_SET, Status
from hekla.engine.model.task import NOWHERE, Task
from hekla.engine.plugins.deviceshare.gpu_cards import SharedByMemory, WholeCards
from hekla.engine.plugins.deviceshare.vgpu_sharing import VirtualCards
from hekla.engine.plugins.kubernetes.pods import Holdings
from hekla.errors import ConfError

ASCEND = "no effect: Ascend devices are not known here"
HARDWARE = "no effect: hardware partitions are not known here"


@dataclass(frozen=True)
class DeviceShareArguments:
    """What is marked as having no effect is accepted because Volcano's files may hold it."""

    gpu_sharing: bool = argument(
        False, key="deviceshare.GPUSharingEnable", help="share one card by its memory (volcano.sh/gpu-memory)"
    )
    gpu_number: bool = argument(
        False, key="deviceshare.GPUNumberEnable", help="hand out whole cards (volcano.sh/gpu-number)"
    )
    vgpu: bool = argument(
        False, key="deviceshare.VGPUEnable", help="hand out parts of cards (volcano.sh/vgpu-number)"
    )
    policy: str = argument(
        "", key="deviceshare.SchedulePolicy", help='"binpack" fills cards up, "spread" avoids shared ones'
    )
    weight: int = argument(
        0, key="deviceshare.ScheduleWeight", help="how much the score counts; 0 turns it off"
    )
    exclusive_rules: tuple[Mapping[str, str], ...] = argument(
        (),
        key="deviceshare.GPUExclusiveRules",
        help="labels of pods that do not share a virtual card with each other",
    )
    ascend_mindcluster: bool = argument(False, key="deviceshare.AscendMindClusterVNPUEnable", help=ASCEND)
    ascend_hami: bool = argument(False, key="deviceshare.AscendHAMiVNPUEnable", help=ASCEND)
    node_lock: bool = argument(
        False, key="deviceshare.NodeLockEnable", help="no effect: a cycle has the cards to itself"
    )
    geometries: str = argument(
        "volcano-vgpu-device-config", key="deviceshare.KnownGeometriesCMName", help=HARDWARE
    )
    geometries_namespace: str = argument(
        "kube-system", key="deviceshare.KnownGeometriesCMNamespace", help=HARDWARE
    )

    def __post_init__(self) -> None:
        modes = {
            "deviceshare.GPUSharingEnable": self.gpu_sharing,
            "deviceshare.GPUNumberEnable": self.gpu_number,
            "deviceshare.VGPUEnable": self.vgpu,
        }
        chosen = [key for key, is_on in modes.items() if is_on]
        if len(chosen) > 1:
            raise ConfError(
                f"{' and '.join(chosen)} exclude each other: cards are shared in one way; keep one"
            )


class Devices(Protocol):
    """Cards of one kind on all nodes; a holding says what of them one pod has."""

    def wants(self, task: Task) -> bool: ...

    def looks_at(self, task: Task) -> Hashable: ...

    def refusal(self, task: Task, rows: Rows) -> Refusal: ...

    def scores(self, task: Task, rows: Rows) -> Floats | None: ...

    def held_by(self, task: Task) -> Any: ...

    def choose(self, task: Task, row: int) -> Any: ...

    def add(self, held: Any) -> None: ...

    def remove(self, held: Any) -> None: ...


class DeviceShare(Plugin):
    name = "deviceshare"
    hands_out_devices = True
    Arguments = DeviceShareArguments

    def on_open(self) -> None:
        self.devices = self._devices()
        self._holdings: Holdings[Any] = Holdings()
        if self.devices is not None:
            self._count_what_is_held(self.devices)

    def _count_what_is_held(self, devices: Devices) -> None:
        for task in self.session.tasks:
            if task.node != NOWHERE and task.status not in TERMINATED_SET:
                held = devices.held_by(task)
                if held is not None:
                    self._holdings.held[task.uid] = held
                    devices.add(held)

    def _devices(self) -> Devices | None:
        told = self.arguments
        if told.gpu_sharing:
            return SharedByMemory(self.session)
        if told.gpu_number:
            return WholeCards(self.session)
        return VirtualCards(self.session, told.policy, told.exclusive_rules) if told.vgpu else None

    def silent_on(self) -> Collection[AnyPoint]:
        devices = self.devices
        if devices is None or not any(map(devices.wants, self.session.tasks)):
            return (PREDICATE, NODE_ORDER)
        return () if self.arguments.weight > 0 else (NODE_ORDER,)

    def distinguishes(self, task: Task) -> Hashable:
        return None if self.devices is None else self.devices.looks_at(task)

    # Answers

    def asks_for_cards(self, task: Task) -> bool:
        return self.devices is not None and self.devices.wants(task)

    @answers(PREDICATE, Scope.ROW, concerns=asks_for_cards)
    def refuse_nodes_without_cards(self, task: Task, rows: Rows) -> list[Refusal] | None:
        if self.devices is None or not self.devices.wants(task):
            return None
        refusal = self.devices.refusal(task, rows)
        return [refusal] if refusal.nodes.any() else None

    @answers(NODE_ORDER, Scope.ROW, concerns=asks_for_cards)
    def prefer_cards_that_fit_well(self, task: Task, rows: Rows) -> Floats | None:
        if self.devices is None or not self.devices.wants(task):
            return None
        scores = self.devices.scores(task, rows)
        return None if scores is None else np.floor(scores + 0.5) * self.arguments.weight

    # Events

    def on_allocate(self, task: Task) -> str | None:
        devices = self.devices
        if devices is None or not devices.wants(task):
            return None
        held = self._holdings.take(task, lambda: devices.choose(task, task.node))
        if held is None:
            return "no cards are left for it"
        devices.add(held)
        return None

    def on_release(self, task: Task) -> None:
        held = self._holdings.give_back(task)
        if held is not None and self.devices is not None:
            self.devices.remove(held)

    @property
    def assignments(self) -> dict[str, Any]:
        """The cards decided in this session, by the UID of the task."""
        waited = {task.uid for task in self.session.tasks if not task.pod.spec.node_name}
        return {uid: held for uid, held in self._holdings.held.items() if uid in waited}

    def on_close(self) -> None:
        assignments = self.assignments
        for task in self.session.tasks:
            if task.status is Status.BINDING and task.uid in assignments:
                said = f"{task.name} gets {assignments[task.uid]} on {task.node_name}"
                self.session.trace.of_job(task.job, said, speaker=self.name)
