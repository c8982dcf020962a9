"""The kill: delete pods of a Job, settle its phase, and give up its place in the queue.

A kill of the whole Job starts a new version of it and deletes the PodGroup; a targeted one does neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from hekla.controllers.commands import DeletePod, DeletePodGroup, JobCommand, PutJobStatus
from hekla.controllers.expand import task_of
from hekla.controllers.phases import Phase, PhasePlan, PodScope, counted, phase_of, stamped
from hekla.controllers.policy import PolicyAction, PolicyRequest
from hekla.controllers.world import Scene, is_terminating
from hekla.objects import Pod, keys
from hekla.objects.batch import JobStatus
from hekla.objects.quantity import write_duration

_FINISHED_PODS = frozenset({"Succeeded", "Failed"})


def kill(
    scene: Scene, plan: PhasePlan, targets: Sequence[Pod], now: datetime, *, zero_counters: bool = False
) -> list[JobCommand]:
    """The commands of a kill; `targets` are the pods in question, the whole Job's or some of it."""
    victims = victims_of(plan, targets)
    status = status_after(scene, plan, targets, victims, now, zero_counters=zero_counters)
    commands: list[JobCommand] = [DeletePod(pod.key, pod.metadata.uid) for pod in victims]
    if status != scene.job.status:
        commands.append(PutJobStatus(scene.job.key, status))
    if plan.scope is PodScope.ALL and scene.pod_group is not None:
        commands.append(DeletePodGroup(scene.pod_group.key))
    return commands


def targets_of(scene: Scene, action: str, request: PolicyRequest) -> list[Pod]:
    """The pods an action is about."""
    match action:
        case PolicyAction.RESTART_TASK:
            return [pod for pod in scene.pods if task_of(pod) == request.task]
        case PolicyAction.RESTART_POD:
            return [pod for pod in scene.pods if pod.metadata.name == request.pod]
        case PolicyAction.RESTART_PARTITION:
            in_task = (pod for pod in scene.pods if task_of(pod) == request.task)
            return [pod for pod in in_task if partition_label(pod) == request.partition]
    return list(scene.pods)


def partition_label(pod: Pod) -> str:
    return pod.metadata.labels.get(keys.PARTITION_ID, "")


def victims_of(plan: PhasePlan, targets: Sequence[Pod]) -> list[Pod]:
    """A whole-job kill may spare what has ended; a targeted one takes what was named."""
    spared = _FINISHED_PODS if plan.scope is PodScope.ALL and plan.spares_finished else frozenset()
    return [pod for pod in targets if not is_terminating(pod) and pod.status.phase not in spared]


def status_after(
    scene: Scene,
    plan: PhasePlan,
    targets: Sequence[Pod],
    victims: Sequence[Pod],
    now: datetime,
    *,
    zero_counters: bool,
) -> JobStatus:
    job = scene.job
    terminating = sum(map(is_terminating, targets)) + len(victims)
    gone = {pod.key for pod in victims}
    staying = [pod for pod in scene.pods if pod.key not in gone and not is_terminating(pod)]
    status = in_next_version(job.status) if plan.scope is PodScope.ALL else job.status
    status = plan.rule(job, counted(without_plugins(status), staying, terminating))
    # A new run starts from zero: what an earlier one has achieved must not make it Running.
    if zero_counters or phase_of(status) in (Phase.RESTARTING, Phase.PENDING):
        status = counted(status, (), terminating)
    if status.state.phase != job.status.state.phase:
        status = stamped(status, now)
    return replace(status, running_duration=running_duration(scene, status))


def in_next_version(status: JobStatus) -> JobStatus:
    """Events of pods that were made before are stale from now on."""
    return replace(status, version=status.version + 1)


def without_plugins(status: JobStatus) -> JobStatus:
    """The objects of the job plugins go with every kill."""
    kept = {name: what for name, what in status.controlled_resources.items() if name.startswith("volume-")}
    return replace(status, controlled_resources=kept)


def running_duration(scene: Scene, status: JobStatus) -> str | None:
    """From the start of the first pod to the last change of phase; what was known, if none ever started."""
    starts = [pod.status.start_time for pod in scene.pods if pod.status.start_time is not None]
    end = status.state.last_transition_time
    if not starts or end is None:
        return status.running_duration
    return write_duration(max(end - min(starts), timedelta(0)))
