"""Volcano's Job: tasks with replicas, and what to do when something happens to them."""

from __future__ import annotations

from datetime import datetime

from hekla.objects.meta import Manifest, ObjectMeta, OwnerReference, Part
from hekla.objects.pod import PodSpec
from hekla.objects.scheduling import NetworkTopology
from hekla.objects.storage import PersistentVolumeClaimSpec


class LifecyclePolicy(Part):
    action: str = ""
    event: str = ""
    events: tuple[str, ...] = ()
    exit_code: int | None = None
    timeout: str | None = None


class DependsOn(Part):
    name: tuple[str, ...] = ()
    iteration: str = ""


class PartitionPolicy(Part):
    total_partitions: int
    partition_size: int
    min_partitions: int = 0
    network_topology: NetworkTopology | None = None


class PodTemplate(Part):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class TaskSpec(Part):
    name: str = ""
    replicas: int = 0
    min_available: int | None = None
    max_retry: int = 0
    topology_policy: str = ""
    depends_on: DependsOn | None = None
    partition_policy: PartitionPolicy | None = None
    policies: tuple[LifecyclePolicy, ...] = ()
    template: PodTemplate = PodTemplate()


class JobVolume(Part):
    mount_path: str
    volume_claim_name: str = ""
    volume_claim: PersistentVolumeClaimSpec | None = None


class JobSpec(Part):
    scheduler_name: str = ""
    min_available: int = 0
    min_success: int | None = None
    max_retry: int = 0
    queue: str = ""
    priority_class_name: str = ""
    ttl_seconds_after_finished: int | None = None
    running_estimate: str | None = None
    plugins: dict[str, tuple[str, ...]] = {}
    network_topology: NetworkTopology | None = None
    policies: tuple[LifecyclePolicy, ...] = ()
    volumes: tuple[JobVolume, ...] = ()
    tasks: tuple[TaskSpec, ...] = ()


class JobState(Part):
    phase: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class JobCondition(Part):
    status: str
    last_transition_time: datetime | None = None


class TaskState(Part):
    phase: dict[str, int] = {}


class JobStatus(Part):
    state: JobState = JobState()
    min_available: int = 0
    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    unknown: int = 0
    terminating: int = 0
    task_status_count: dict[str, TaskState] = {}
    version: int = 0
    retry_count: int = 0
    running_duration: str | None = None
    controlled_resources: dict[str, str] = {}
    conditions: tuple[JobCondition, ...] = ()


class VolcanoJob(Manifest):
    """Kind `Job` of `batch.volcano.sh/v1alpha1`; named apart from a scheduler's job, which is a PodGroup."""

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class VolcanoCommand(Manifest):
    """Kind `Command` of `bus.volcano.sh/v1alpha1`: an order to a Job or a queue; it has no spec."""

    action: str = ""
    target: OwnerReference = OwnerReference()
