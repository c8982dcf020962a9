"""Expansion: the PodGroup, the pods and the claims that a Job stands for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

from msgspec.structs import replace

from hekla.controllers.ports import with_host_ports, with_plugin_ports
from hekla.controllers.usage import min_resources
from hekla.objects import (
    LabelSelector,
    ObjectMeta,
    OwnerReference,
    PersistentVolumeClaim,
    Pod,
    PodGroup,
    VolcanoJob,
    keys,
)
from hekla.objects.batch import PartitionPolicy, TaskSpec
from hekla.objects.pod import ClaimSource, PodSpec, Volume
from hekla.objects.scheduling import NetworkTopology, PodGroupSpec, SubGroupPolicy


def pod_group_name(job: VolcanoJob) -> str:
    return f"{job.metadata.name}-{job.metadata.uid}"


def pod_group_key(job: VolcanoJob) -> str:
    return f"{job.metadata.namespace}/{pod_group_name(job)}"


def owner_of(job: VolcanoJob) -> OwnerReference:
    """The Job as the controller of what it makes."""
    meta = job.metadata
    return OwnerReference(
        api_version=keys.JOB_API_VERSION, kind="Job", name=meta.name, uid=meta.uid, controller=True
    )


def pod_group_of(
    job: VolcanoJob, priority_by_class: Mapping[str, int], *, requests_from_limits: bool = False
) -> PodGroup:
    """The PodGroup of a Job as it is created: its phase is empty, the scheduler admits it."""
    spec = job.spec
    return PodGroup(
        metadata=ObjectMeta(
            name=pod_group_name(job),
            namespace=job.metadata.namespace,
            labels=dict(job.metadata.labels),
            annotations=dict(job.metadata.annotations),
            owner_references=(owner_of(job),),
        ),
        spec=PodGroupSpec(
            min_member=spec.min_available,
            min_task_member={task.name: min_member_of(task) for task in spec.tasks},
            min_resources=min_resources(job, priority_by_class, requests_from_limits=requests_from_limits),
            queue=spec.queue,
            priority_class_name=spec.priority_class_name,
            network_topology=_one_tier(spec.network_topology),
            sub_group_policy=tuple(
                sub_group_of(task.name, task.partition_policy) for task in spec.tasks if task.partition_policy
            ),
        ),
    )


def min_member_of(task: TaskSpec) -> int:
    """The gang minimum of a task: as stated, else whole partitions, else all replicas."""
    if task.min_available is not None:
        return task.min_available
    partitions = task.partition_policy
    if partitions is not None and partitions.min_partitions > 0 and partitions.partition_size > 0:
        return partitions.min_partitions * partitions.partition_size
    return task.replicas


def _one_tier(topology: NetworkTopology | None) -> NetworkTopology | None:
    """The topology with one way of naming the highest tier: the number wins."""
    if topology is None or topology.highest_tier_allowed is None:
        return topology
    return replace(topology, highest_tier_name="")


def sub_group_of(task_name: str, partitions: PartitionPolicy) -> SubGroupPolicy:
    """The partitions of a task as sub-groups: pods with equal partition numbers belong together."""
    return SubGroupPolicy(
        name=task_name,
        label_selector=LabelSelector(match_labels={keys.TASK_SPEC: task_name}),
        match_label_keys=(keys.PARTITION_ID,),
        sub_group_size=partitions.partition_size,
        min_sub_groups=partitions.min_partitions,
        network_topology=partitions.network_topology,
    )


def pods_of(job: VolcanoJob, group_name: str = "") -> list[Pod]:
    """All pods of a Job, in task order, then by index; `group_name` if the PodGroup has an older name."""
    return [pod_of(job, task, index, group_name) for task in job.spec.tasks for index in range(task.replicas)]


def pod_name(job: VolcanoJob, task: TaskSpec, index: int) -> str:
    return f"{job.metadata.name}-{task.name}-{index}"


def pod_of(job: VolcanoJob, task: TaskSpec, index: int, group_name: str = "") -> Pod:
    """One pod of a task: the template, plus what tells the scheduler where the pod belongs."""
    return Pod(metadata=pod_meta(job, task, index, group_name), spec=pod_spec(job, task))


def pod_meta(job: VolcanoJob, task: TaskSpec, index: int, group_name: str = "") -> ObjectMeta:
    """What tells the pods of a Job apart."""
    template = task.template.metadata
    return ObjectMeta(
        name=pod_name(job, task, index),
        namespace=job.metadata.namespace,
        labels=template.labels | _labels(job, task, index),
        annotations=template.annotations
        | _annotations(job, task, index)
        | {keys.GROUP_NAME: group_name or pod_group_name(job)},
        owner_references=(owner_of(job),),
    )


def _shared(job: VolcanoJob, task: TaskSpec, index: int) -> dict[str, str]:
    """What stands on a pod both as label and as annotation."""
    return {
        keys.JOB_NAME: job.metadata.name,
        keys.TASK_SPEC: task.name,
        keys.TASK_INDEX: str(index),
        keys.QUEUE_NAME: job.spec.queue,
        **keys.picked(job.metadata.annotations, keys.JOB_FORWARDING),
    }


def _labels(job: VolcanoJob, task: TaskSpec, index: int) -> dict[str, str]:
    labels = _shared(job, task, index) | {keys.JOB_NAMESPACE: job.metadata.namespace}
    if task.partition_policy is not None:
        labels[keys.PARTITION_ID] = str(partition_of(index, task.partition_policy))
    return labels | keys.picked(job.metadata.labels, keys.PREEMPTABLE, keys.COOLDOWN_TIME)


def partition_of(index: int, partitions: PartitionPolicy) -> int:
    return index // partitions.partition_size if partitions.partition_size > 0 else 0


def _annotations(job: VolcanoJob, task: TaskSpec, index: int) -> dict[str, str]:
    of_job = job.metadata.annotations
    annotations = _shared(job, task, index) | {
        keys.JOB_VERSION: str(job.status.version),
        keys.JOB_RETRY_COUNT: str(job.status.retry_count),
        keys.TEMPLATE_UID: f"{job.metadata.name}-{task.name}",
    }
    if task.topology_policy:
        annotations[keys.NUMA_POLICY] = task.topology_policy
    inherited = keys.picked(of_job, keys.PREEMPTABLE, keys.COOLDOWN_TIME, keys.REVOCABLE_ZONE)
    return annotations | inherited | keys.disruption_budget(of_job)


def pod_spec(job: VolcanoJob, task: TaskSpec) -> PodSpec:
    """What all pods of a task have in common."""
    template = task.template.spec
    spec = replace(
        template,
        scheduler_name=template.scheduler_name or job.spec.scheduler_name,
        priority_class_name=template.priority_class_name or job.spec.priority_class_name,
        volumes=(*template.volumes, *_claim_volumes(job)),
    )
    return with_host_ports(with_plugin_ports(spec, job, task.name))


def claim_names(job: VolcanoJob) -> list[str]:
    """The claims of the Job's volumes, each once; a claim without a name gets one from the Job's UID."""
    return list(dict.fromkeys(claim_name(job, i) for i in range(len(job.spec.volumes))))


def claim_name(job: VolcanoJob, position: int) -> str:
    """The claim of one volume."""
    return job.spec.volumes[position].volume_claim_name or _made_up_name(job, position)


def _made_up_name(job: VolcanoJob, position: int) -> str:
    """A name that is the same at every pass, where Volcano rolls dice and writes the result down."""
    digest = sha256(f"{job.metadata.uid}/{position}".encode()).hexdigest()
    return f"{job.metadata.name}-pvc-{digest[:12]}"


def _claim_volumes(job: VolcanoJob) -> Iterable[Volume]:
    for name in claim_names(job):
        yield Volume(name=name, persistent_volume_claim=ClaimSource(claim_name=name))


def claims_of(job: VolcanoJob) -> list[PersistentVolumeClaim]:
    """The claims that the Job describes itself and therefore has to make."""
    return [
        PersistentVolumeClaim(
            metadata=ObjectMeta(
                name=_made_up_name(job, i),
                namespace=job.metadata.namespace,
                owner_references=(owner_of(job),),
            ),
            spec=volume.volume_claim,
        )
        for i, volume in enumerate(job.spec.volumes)
        if volume.volume_claim is not None and not volume.volume_claim_name
    ]


def is_admitted(pod_group: PodGroup | None) -> bool:
    """Whether the scheduler has let the PodGroup in, so that its pods may be made."""
    return pod_group is not None and pod_group.status.phase not in ("", "Pending")


def tasks_to_make(job: VolcanoJob, pods: Sequence[Pod]) -> set[str]:
    """The tasks whose pods may be made beside these."""
    return {task.name for task in job.spec.tasks if may_create_pods(job, task, pods)}


def may_create_pods(job: VolcanoJob, task: TaskSpec, pods: Sequence[Pod]) -> bool:
    """Whether the tasks this one depends on have come far enough."""
    if task.depends_on is None or not task.depends_on.name:
        return True
    tasks_by_name = {other.name: other for other in job.spec.tasks}
    ready = [
        name in tasks_by_name and is_task_ready(tasks_by_name[name], pods) for name in task.depends_on.name
    ]
    return any(ready) if task.depends_on.iteration == "any" and len(ready) > 1 else all(ready)


def is_task_ready(task: TaskSpec, pods: Sequence[Pod]) -> bool:
    """Whether enough pods of the task serve or are done; a task that names no minimum is ready at once."""
    if task.min_available is None:
        return True
    ready = sum(task_of(pod) == task.name and _serves_or_is_done(pod) for pod in pods)
    return ready >= task.min_available


def _serves_or_is_done(pod: Pod) -> bool:
    if pod.status.phase == "Succeeded":
        return True
    return pod.status.phase == "Running" and all(status.ready for status in pod.status.container_statuses)


def task_of(pod: Pod) -> str:
    return pod.metadata.annotations.get(keys.TASK_SPEC, "")
