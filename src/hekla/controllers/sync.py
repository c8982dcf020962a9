"""The sync: make the PodGroup and the pods of a Job what its spec says, and count them.

Pods are made only once the scheduler has admitted the PodGroup. Until then nothing is created, deleted or
counted, and the phase follows from the counters as they were: also when a PodGroup has fallen back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from msgspec.structs import replace

from hekla.controllers.commands import (
    CreateClaim,
    CreatePod,
    DeletePod,
    JobCommand,
    PutJobStatus,
    PutPodGroup,
    RecordEvent,
)
from hekla.controllers.expand import (
    claim_names,
    claims_of,
    is_admitted,
    may_create_pods,
    pod_group_of,
    pod_name,
    pod_of,
    task_of,
)
from hekla.controllers.phases import Phase, Rule, counted, has_no_retry_left, in_phase, phase_of, stamped
from hekla.controllers.ports import KNOWN_PLUGINS
from hekla.controllers.usage import same_amounts
from hekla.controllers.world import Scene, World, is_marked, is_terminating
from hekla.objects import Pod, PodGroup, VolcanoJob, keys
from hekla.objects.batch import JobStatus, TaskSpec
from hekla.objects.meta import seconds


def obstacle_to(world: World, job: VolcanoJob) -> RecordEvent | None:
    """What keeps the Job from being synced at all, or nothing."""
    if world.queue(job.spec.queue) is None:
        message = f'job {job.key} asks for queue "{job.spec.queue}", which does not exist'
        return RecordEvent(job.key, "Warning", "PodGroupError", message)
    for name in job.spec.plugins:
        if name not in KNOWN_PLUGINS:
            message = f'no job plugin "{name}"; known plugins: {", ".join(KNOWN_PLUGINS)}'
            return RecordEvent(job.key, "Warning", "PluginError", message)
    for volume in job.spec.volumes:
        name = volume.volume_claim_name
        if name and not world.has_claim(f"{job.metadata.namespace}/{name}"):
            message = f'volume "{volume.mount_path}" asks for claim "{name}", which does not exist'
            return RecordEvent(job.key, "Warning", "PVCError", message)
    return None


def sync(
    world: World, scene: Scene, rule: Rule, now: datetime, *, requests_from_limits: bool = False
) -> list[JobCommand]:
    """The commands of one pass; the status is written last, and only if it changed."""
    job, commands = scene.job, list[JobCommand]()
    status = replace(job.status, min_available=job.status.min_available or job.spec.min_available)
    if not status.state.phase:
        status = stamped(in_phase(status, Phase.PENDING), now)
    if gives_up(job):
        # A PodGroup made now would be deleted in the next pass.
        return status_changes(job, rule(job, status), now)
    if phase_of(status) == Phase.PENDING:
        status, claims = with_belongings(world, job, status)
        commands += claims
    marked = forwarded(world, job)
    wanted = pod_group_of(marked, world.priority_by_class(), requests_from_limits=requests_from_limits)
    commands += group_commands(scene, wanted)
    if scene.pod_group is not None and is_admitted(scene.pod_group):
        layout = lay_out(marked, scene.pods, scene.pod_group.metadata.name)
        commands += layout.commands()
        status = counted(status, layout.counted, len(layout.terminating) + len(layout.surplus))
        status = replace(status, min_available=job.spec.min_available)
    return [*commands, *status_changes(job, rule(job, status), now)]


def gives_up(job: VolcanoJob) -> bool:
    return phase_of(job.status) == Phase.RESTARTING and has_no_retry_left(job, job.status)


def forwarded(world: World, job: VolcanoJob) -> VolcanoJob:
    """The Job, marked if its queue spans several clusters; pods and PodGroup inherit the mark."""
    queue = world.queue(job.spec.queue)
    if queue is None or not queue.spec.extend_clusters:
        return job
    annotations = job.metadata.annotations | {keys.JOB_FORWARDING: "true"}
    return replace(job, metadata=replace(job.metadata, annotations=annotations))


def with_belongings(world: World, job: VolcanoJob, status: JobStatus) -> tuple[JobStatus, list[CreateClaim]]:
    """The status with plugins and claims noted, and the claims that still have to be made."""
    noted = {f"plugin-{name}": name for name in sorted(job.spec.plugins)}
    noted |= {f"volume-pvc-{name}": name for name in claim_names(job)}
    missing = [CreateClaim(claim) for claim in claims_of(job) if not world.has_claim(claim.key)]
    return replace(status, controlled_resources=status.controlled_resources | noted), missing


def group_commands(scene: Scene, wanted: PodGroup) -> Iterator[JobCommand]:
    """Create the PodGroup, or refresh what may change in it; say so while it cannot be scheduled."""
    if scene.is_group_leaving:
        return
    if scene.pod_group is None:
        yield PutPodGroup(wanted)
        return
    refreshed = refreshed_group(scene.pod_group, wanted)
    if refreshed != scene.pod_group:
        yield PutPodGroup(refreshed)
    yield from _reason_for_waiting(scene)


def refreshed_group(pod_group: PodGroup, wanted: PodGroup) -> PodGroup:
    """The PodGroup with the minimums of today; queue, topology, labels and annotations stay as created."""
    spec = replace(
        pod_group.spec,
        min_member=wanted.spec.min_member,
        min_task_member=wanted.spec.min_task_member,
        priority_class_name=wanted.spec.priority_class_name,
        sub_group_policy=wanted.spec.sub_group_policy,
    )
    if not same_amounts(spec.min_resources, wanted.spec.min_resources):
        spec = replace(spec, min_resources=wanted.spec.min_resources)
    return replace(pod_group, spec=spec)


def _reason_for_waiting(scene: Scene) -> Iterator[RecordEvent]:
    assert scene.pod_group is not None
    true = [condition for condition in scene.pod_group.status.conditions if condition.status == "True"]
    newest = max(true, key=lambda condition: seconds(condition.last_transition_time), default=None)
    if newest is not None and newest.type != "Scheduled":
        message = f"{newest.type}: {newest.message}"
        yield RecordEvent(scene.job.key, "Warning", "PodGroupPending", message)


@dataclass
class Layout:
    """The pods of a Job, sorted by what has to be done with them."""

    missing: list[Pod] = field(default_factory=list)
    surplus: list[Pod] = field(default_factory=list)
    terminating: list[Pod] = field(default_factory=list)
    counted: list[Pod] = field(default_factory=list)

    def commands(self) -> Iterator[JobCommand]:
        yield from (CreatePod(pod) for pod in self.missing)
        # Marked before they go: a scale-down that raised PodEvicted could restart the whole Job.
        yield from (DeletePod(pod.key, pod.metadata.uid) for pod in self.surplus)


def lay_out(job: VolcanoJob, pods: tuple[Pod, ...], group_name: str) -> Layout:
    layout = Layout()
    for task in job.spec.tasks:
        _lay_out_task(layout, job, task, pods, group_name)
    return layout


def _lay_out_task(
    layout: Layout, job: VolcanoJob, task: TaskSpec, pods: tuple[Pod, ...], group_name: str
) -> None:
    pods_by_name = {pod.metadata.name: pod for pod in pods if task_of(pod) == task.name}
    may_create = may_create_pods(job, task, pods)
    for index in range(task.replicas):
        pod = pods_by_name.pop(pod_name(job, task, index), None)
        if pod is not None:
            _lay_out_pod(layout, pod)
        elif may_create:
            created = pod_of(job, task, index, group_name)
            layout.missing.append(created)
            layout.counted.append(created)
    for pod in pods_by_name.values():
        (layout.terminating if is_terminating(pod) else layout.surplus).append(pod)


def _lay_out_pod(layout: Layout, pod: Pod) -> None:
    if is_terminating(pod):
        layout.terminating.append(pod)
        return
    layout.counted.append(pod)
    if is_marked(pod):
        layout.surplus.append(pod)


def status_changes(job: VolcanoJob, status: JobStatus, now: datetime) -> list[JobCommand]:
    if status == job.status:
        return []
    return [PutJobStatus(job.key, stamped(status, now))]
