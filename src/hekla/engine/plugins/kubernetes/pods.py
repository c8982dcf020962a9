"""Pods: which of them a label selector means, and the single things they hold: host ports, CPUs, cards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Generic, TypeVar

import msgspec

from hekla.engine.ledger.arrays import Counts
from hekla.engine.ledger.pods import PodLedger
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.objects.meta import LabelRequirement, LabelSelector, requirement_holds

Requirements = tuple[LabelRequirement, ...] | None
"""What labels must meet; an empty tuple asks for nothing, None cannot be met."""
ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - nothing binds to it here; it is how pods ask for every address
Thing = TypeVar("Thing")


def requirements_of(selector: LabelSelector | None) -> Requirements:
    """A selector with its two ways of asking made one."""
    if selector is None:
        return None
    equal = [LabelRequirement(key=k, operator="In", values=(v,)) for k, v in selector.match_labels.items()]
    return (*sorted(equal, key=lambda requirement: requirement.key), *selector.match_expressions)


def with_own_labels(
    requirements: Requirements, labels: Mapping[str, str], keys: Iterable[str], operator: str = "In"
) -> Requirements:
    """Narrowed to pods that have (`NotIn`: have not) the owner's own values of these labels."""
    if requirements is None:
        return None
    own = (
        LabelRequirement(key=key, operator=operator, values=(labels[key],)) for key in keys if key in labels
    )
    return (*requirements, *own)


def are_met(requirements: Requirements, labels: Mapping[str, str]) -> bool:
    return requirements is not None and all(requirement_holds(one, labels) for one in requirements)


class PodSelection(msgspec.Struct, frozen=True):
    """Pods by labels and namespace; equal selections share one count."""

    requirements: Requirements
    namespaces: frozenset[str] | None
    """None: every namespace."""

    def takes(self, task: Task) -> bool:
        if self.namespaces is not None and task.namespace not in self.namespaces:
            return False
        return are_met(self.requirements, task.pod.metadata.labels)

    @property
    def telling_label(self) -> tuple[str, str] | None:
        """A label that every selected pod carries, where there is one."""
        for one in self.requirements or ():
            if one.operator == "In" and len(one.values) == 1:
                return one.key, one.values[0]
        return None

    def count(self, pods: PodLedger) -> Counts:
        """How many selected pods are on each node, live."""
        return pods.counter(self, lambda task: int(self.takes(task)), label=self.telling_label)

    def count_staying(self, pods: PodLedger) -> Counts:
        """The same without pods that are being deleted."""
        return pods.counter(
            ("staying", self),
            lambda task: int(task.pod.metadata.deletion_timestamp is None and self.takes(task)),
            label=self.telling_label,
        )


class HostPort(msgspec.Struct, frozen=True):
    address: str
    protocol: str
    port: int

    def clashes_with(self, other: HostPort) -> bool:
        if (self.protocol, self.port) != (other.protocol, other.port):
            return False
        return self.address == other.address or ANY_ADDRESS in (self.address, other.address)


def host_ports(task: Task) -> list[HostPort]:
    """The ports a task needs for itself; init containers count only if they keep running."""
    spec = task.pod.spec
    sidecars = (container for container in spec.init_containers if container.restart_policy == "Always")
    return [
        HostPort(port.host_ip or ANY_ADDRESS, port.protocol or "TCP", port.host_port)
        for container in chain(spec.containers, sidecars)
        for port in container.ports
        if port.host_port > 0
    ]


def clashes(wanted: HostPort, pods: PodLedger) -> Counts:
    """How many pods of each node hold a port that clashes with the wanted one, live."""
    return pods.counter(wanted, lambda task: sum(wanted.clashes_with(held) for held in host_ports(task)))


class Holdings(Generic[Thing]):
    """Things by the UID of the task that holds them.

    What an evicted task held is remembered: if its eviction is undone, it gets the very same again.
    """

    def __init__(self) -> None:
        self.held: dict[str, Thing] = {}
        self._lost: dict[str, Thing | None] = {}

    def take(self, task: Task, choose: Callable[[], Thing | None]) -> Thing | None:
        """What the task holds from now on: what it lost by an eviction now undone, else what is chosen."""
        thing = self._lost.pop(task.uid) if task.uid in self._lost else choose()
        if thing is not None:
            self.held[task.uid] = thing
        return thing

    def give_back(self, task: Task) -> Thing | None:
        """What the task no longer holds; None where it held nothing."""
        thing = self.held.pop(task.uid, None)
        if task.status is Status.RELEASING:
            self._lost[task.uid] = thing
        return thing
