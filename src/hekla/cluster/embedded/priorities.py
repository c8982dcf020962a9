"""Priorities: what a PriorityClass means for a pod, as Kubernetes resolves it at admission."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from hekla.objects import ObjectMeta, Pod, PriorityClass

BUILT_IN = (
    PriorityClass(metadata=ObjectMeta(name="system-cluster-critical"), value=2_000_000_000),
    PriorityClass(metadata=ObjectMeta(name="system-node-critical"), value=2_000_001_000),
)
PREEMPTS = "PreemptLowerPriority"
_PLAIN = PriorityClass()


def with_priority(pod: Pod, classes: Collection[PriorityClass]) -> tuple[Pod, str]:
    """The pod with the priority of its class, and what is wrong if there is no such class."""
    name = pod.spec.priority_class_name
    found = _class_of(name, classes)
    problem = ""
    if found is None:
        known = ", ".join(sorted(each.metadata.name for each in (*classes, *BUILT_IN)))
        problem = (
            f'spec.priorityClassName: no priority class "{name}"; known classes: {known}; it counts as 0'
        )
    value = found or _PLAIN
    spec = replace(
        pod.spec,
        priority=value.value if pod.spec.priority is None else pod.spec.priority,
        preemption_policy=pod.spec.preemption_policy or value.preemption_policy or PREEMPTS,
    )
    return replace(pod, spec=spec), problem


def _class_of(name: str, classes: Collection[PriorityClass]) -> PriorityClass | None:
    """The class of this name; without a name the one that is everybody's default, else a plain one."""
    if not name:
        return next((each for each in classes if each.global_default), _PLAIN)
    return next((each for each in (*classes, *BUILT_IN) if each.metadata.name == name), None)
