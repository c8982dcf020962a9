"""Requests: what a change of a pod or a PodGroup means to the Job it belongs to."""

from __future__ import annotations

from collections.abc import Sequence

from hekla.controllers.expand import task_of
from hekla.controllers.kill import partition_label
from hekla.controllers.policy import Event, PolicyRequest
from hekla.controllers.world import is_marked
from hekla.objects import OwnerReference, Pod, PodGroup, VolcanoJob, keys
from hekla.objects.batch import TaskSpec
from hekla.objects.meta import Manifest
from hekla.objects.quantity import read_count

DEFAULT_TASK_RETRIES = 3


def job_owner(manifest: Manifest) -> OwnerReference | None:
    """The Job that controls the object, if one does."""
    for owner in manifest.metadata.owner_references:
        if owner.controller and owner.kind == "Job" and owner.api_version.startswith("batch.volcano.sh/"):
            return owner
    return None


def follows(pod: Pod) -> bool:
    """Whether the pod is one that the job controller made and looks after."""
    return job_owner(pod) is not None and keys.JOB_VERSION in pod.metadata.annotations


def request_of_job(job: VolcanoJob, action: str = "") -> PolicyRequest:
    event = Event.COMMAND_ISSUED if action else Event.OUT_OF_SYNC
    return PolicyRequest(job.key, event, job.metadata.uid, job.status.version, action=action)


def request_of_pod_group(pod_group: PodGroup, job: VolcanoJob) -> PolicyRequest:
    """A PodGroup has no version of its own; what it tells is about the present one."""
    event = Event.UNKNOWN if pod_group.status.phase == "Unknown" else Event.OUT_OF_SYNC
    return PolicyRequest(job.key, event, job.metadata.uid, job.status.version)


def request_of_pod(pod: Pod, event: Event) -> PolicyRequest:
    """The request of a pod; pods that the controller deletes itself have nothing to say."""
    owner = job_owner(pod)
    assert owner is not None, f"pod {pod.key} belongs to no job"
    meta = pod.metadata
    version = meta.annotations.get(keys.JOB_VERSION, "")
    return PolicyRequest(
        job=f"{meta.namespace}/{owner.name}",
        event=Event.OUT_OF_SYNC if is_marked(pod) else event,
        job_uid=owner.uid,
        version=read_count(version) or 0,
        task=task_of(pod),
        pod=meta.name,
        pod_uid=meta.uid,
        partition=partition_label(pod),
        exit_code=exit_code_of(pod) if event is Event.POD_FAILED else None,
    )


def exit_code_of(pod: Pod) -> int | None:
    """The exit code of the first container; other containers do not count. As in Volcano."""
    for status in pod.status.container_statuses[:1]:
        if status.state.terminated is not None:
            return status.state.terminated.exit_code
    return None


def event_of_change(before: Pod, after: Pod, job: VolcanoJob, pods: Sequence[Pod]) -> Event:
    """What a change of a living pod is called; `pods` are those of the Job after it."""
    phase, task = after.status.phase, _task(job, task_of(after))
    if phase != before.status.phase:
        match phase:
            case "Failed":
                return Event.POD_FAILED
            case "Running":
                return Event.POD_RUNNING
            case "Pending":
                return Event.POD_PENDING
            case "Succeeded" if task is not None and is_completed(task, pods):
                return Event.TASK_COMPLETED
    elif phase in ("Running", "Pending") and task is not None and restarts_too_often(task, pods):
        return Event.TASK_FAILED
    return Event.OUT_OF_SYNC


def _task(job: VolcanoJob, name: str) -> TaskSpec | None:
    return next((task for task in job.spec.tasks if task.name == name), None)


def is_completed(task: TaskSpec, pods: Sequence[Pod]) -> bool:
    done = sum(task_of(pod) == task.name and pod.status.phase == "Succeeded" for pod in pods)
    return 0 < task.replicas <= done


def restarts_too_often(task: TaskSpec, pods: Sequence[Pod]) -> bool:
    """Whether the containers of the task have been restarted in place more often than it may retry."""
    allowed = task.max_retry or DEFAULT_TASK_RETRIES
    restarts = sum(
        status.restart_count
        for pod in pods
        if task_of(pod) == task.name and pod.status.phase in ("Running", "Pending")
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses)
    )
    return allowed >= 0 and restarts >= allowed
