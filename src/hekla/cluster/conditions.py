"""Conditions of pods, written as Kubernetes writes them: one per type, in place."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from hekla.objects import Condition, Pod


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
    condition = Condition(type="PodScheduled", status="False", reason=reason, message=message)
    return with_condition(pod, condition, now)


def evicted(pod: Pod, reason: str, now: datetime) -> Pod:
    """The two conditions that Volcano writes before it deletes a pod."""
    message = f'evicted because of "{reason}"'
    pod = with_condition(pod, Condition(type="Ready", status="False", reason="Evict", message=message), now)
    target = Condition(
        type="DisruptionTarget", status="True", reason="PreemptionByScheduler", message=message
    )
    return with_condition(pod, target, now)


def ready(pod: Pod, now: datetime, *, is_ready: bool) -> Pod:
    return with_condition(pod, Condition(type="Ready", status="True" if is_ready else "False"), now)
