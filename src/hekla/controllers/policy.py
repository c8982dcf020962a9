"""Policies: which action answers what happened to a Job.

Task policies come first, then those of the Job; the first match wins. Nothing matches: the Job is synced.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from enum import StrEnum

import msgspec

from hekla.objects import VolcanoJob
from hekla.objects.batch import LifecyclePolicy
from hekla.objects.quantity import read_duration


class Event(StrEnum):
    """What can happen to a Job, in Volcano's words."""

    ANY = "*"
    POD_PENDING = "PodPending"
    POD_RUNNING = "PodRunning"
    POD_FAILED = "PodFailed"
    POD_EVICTED = "PodEvicted"
    UNKNOWN = "Unknown"
    TASK_COMPLETED = "TaskCompleted"
    TASK_FAILED = "TaskFailed"
    JOB_UPDATED = "JobUpdated"
    OUT_OF_SYNC = "OutOfSync"
    COMMAND_ISSUED = "CommandIssued"


class PolicyAction(StrEnum):
    """What can be done about it."""

    ABORT = "AbortJob"
    RESTART = "RestartJob"
    RESTART_TASK = "RestartTask"
    RESTART_POD = "RestartPod"
    RESTART_PARTITION = "RestartPartition"
    TERMINATE = "TerminateJob"
    COMPLETE = "CompleteJob"
    RESUME = "ResumeJob"
    SYNC = "SyncJob"


TARGETED = frozenset({PolicyAction.RESTART_TASK, PolicyAction.RESTART_POD, PolicyAction.RESTART_PARTITION})
INTERNAL = frozenset({Event.OUT_OF_SYNC, Event.COMMAND_ISSUED, Event.POD_RUNNING})


class PolicyRequest(msgspec.Struct, frozen=True):
    """One thing that happened, and to which task or pod."""

    job: str
    event: Event
    job_uid: str
    version: int = 0
    task: str = ""
    pod: str = ""
    pod_uid: str = ""
    partition: str = ""
    exit_code: int | None = None
    action: str = ""


class Answer(msgspec.Struct, frozen=True):
    """The action to take, at once or after a while."""

    action: str
    delay: timedelta = timedelta(0)


SYNC = Answer(PolicyAction.SYNC)


def answer_to(job: VolcanoJob, request: PolicyRequest) -> Answer:
    """What the policies of the Job, and of the task it happened to, say to the request."""
    if request.action:
        return Answer(request.action)
    if request.event in INTERNAL or request.job_uid != job.metadata.uid:
        return SYNC
    if request.version < job.status.version:
        return SYNC  # The pod belongs to a run that has been killed since.
    policy = next((policy for policy in _policies(job, request.task) if matches(policy, request)), None)
    if policy is None or not has_target(policy.action, request):
        return SYNC
    return Answer(policy.action, read_duration(policy.timeout) if policy.timeout else timedelta(0))


def _policies(job: VolcanoJob, task_name: str) -> Iterable[LifecyclePolicy]:
    for task in job.spec.tasks:
        if task_name and task.name == task_name:
            yield from task.policies
    yield from job.spec.policies


def matches(policy: LifecyclePolicy, request: PolicyRequest) -> bool:
    events = events_of(policy)
    if request.event in events or Event.ANY in events:
        # A pending pod is no news: only one that stays pending is.
        return request.event != Event.POD_PENDING or policy.timeout is not None
    return policy.exit_code is not None and policy.exit_code == request.exit_code


def events_of(policy: LifecyclePolicy) -> tuple[str, ...]:
    return (policy.event, *policy.events) if policy.event else policy.events


def has_target(action: str, request: PolicyRequest) -> bool:
    """Whether the request names what a targeted restart would restart; other actions take the whole Job."""
    match action:
        case PolicyAction.RESTART_TASK:
            return bool(request.task)
        case PolicyAction.RESTART_POD:
            return bool(request.pod)
        case PolicyAction.RESTART_PARTITION:
            return bool(request.partition)
    return True
