"""Pods after something was done to them; conditions as Kubernetes writes them, one per type."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from hekla.objects import Condition, Pod
from hekla.objects.keys import QUEUE_ALLOCATION_GATE


def with_condition(pod: Pod, condition: Condition, now: datetime) -> Pod:
    """The pod with the condition; the time is that of the last change of its status."""
    conditions = list(pod.status.conditions)
    for place, known in enumerate(conditions):
        if known.type == condition.type:
            since = known.last_transition_time if known.status == condition.status else now
            conditions[place] = replace(condition, last_transition_time=since)
            break
    else:
        conditions.append(replace(condition, last_transition_time=now))
    return replace(pod, status=replace(pod.status, conditions=tuple(conditions)))


def scheduled(pod: Pod, now: datetime) -> Pod:
    return with_condition(pod, Condition(type="PodScheduled", status="True"), now)


def not_scheduled(pod: Pod, reason: str, message: str, now: datetime) -> Pod:
    return with_condition(pod, not_scheduled_condition(reason, message), now)


def not_scheduled_condition(reason: str, message: str) -> Condition:
    return Condition(type="PodScheduled", status="False", reason=reason, message=message)


def evicted(pod: Pod, reason: str, now: datetime) -> Pod:
    for condition in eviction_conditions(reason):
        pod = with_condition(pod, condition, now)
    return pod


def eviction_conditions(reason: str) -> tuple[Condition, Condition]:
    """The two conditions that Volcano writes before it deletes a pod."""
    message = f'evicted because of "{reason}"'
    return (
        Condition(type="Ready", status="False", reason="Evict", message=message),
        Condition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler", message=message),
    )


def ready(pod: Pod, now: datetime, *, is_ready: bool) -> Pod:
    return with_condition(pod, Condition(type="Ready", status="True" if is_ready else "False"), now)


def placed(pod: Pod, node: str) -> Pod:
    spec = replace(ungated(pod).spec, node_name=node)
    return replace(pod, spec=spec, status=replace(pod.status, nominated_node_name=""))


def ungated(pod: Pod) -> Pod:
    """The pod without the gate that the scheduler itself opens; other gates stay."""
    gates = tuple(gate for gate in pod.spec.scheduling_gates if gate.name != QUEUE_ALLOCATION_GATE)
    return replace(pod, spec=replace(pod.spec, scheduling_gates=gates))
