"""Pod selection: which pods a label selector means, as a value that can be counted by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hekla.engine.ledger.arrays import Counts
from hekla.engine.ledger.pods import PodLedger
from hekla.engine.model.task import Task
from hekla.objects.meta import LabelRequirement, LabelSelector, requirement_holds

Requirements = tuple[LabelRequirement, ...] | None
"""What labels must meet; an empty tuple asks for nothing, None cannot be met."""


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


@dataclass(frozen=True)
class PodSelection:
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
