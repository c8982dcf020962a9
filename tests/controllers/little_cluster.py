"""A cluster small enough for a story: it carries out commands and tells the controller what changed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count

from msgspec.structs import replace

from hekla.cluster.admission import default_job
from hekla.controllers import (
    CreateClaim,
    CreatePod,
    DeleteJob,
    DeletePod,
    DeletePodGroup,
    JobCommand,
    JobController,
    JobOptions,
    PutJobStatus,
    PutPodGroup,
    RecordEvent,
)
from hekla.objects import ObjectMeta, Pod, PodGroup, Queue, VolcanoJob, keys
from hekla.objects.batch import JobSpec, JobStatus, LifecyclePolicy, PodTemplate, TaskSpec
from hekla.objects.pod import (
    Container,
    ContainerState,
    ContainerStatus,
    PodSpec,
    ResourceRequirements,
    Terminated,
)

START = datetime(2026, 1, 1, tzinfo=UTC)


def task(name: str, replicas: int, cpu: str | int = 1, **fields: object) -> TaskSpec:
    container = Container(name="main", resources=ResourceRequirements(requests={"cpu": cpu}))
    template = fields.pop("template", PodTemplate(spec=PodSpec(containers=(container,))))
    return TaskSpec(name=name, replicas=replicas, template=template, **fields)


def job(name: str, *tasks: TaskSpec, uid: str = "u1", **fields: object) -> VolcanoJob:
    return VolcanoJob(
        metadata=ObjectMeta(name=name, namespace="default", uid=uid, creation_timestamp=START),
        spec=JobSpec(tasks=tasks, **fields),
    )


def policy(event: str, action: str, timeout: str | None = None) -> LifecyclePolicy:
    return LifecyclePolicy(event=event, action=action, timeout=timeout)


def open_queue_named(name: str, **fields: object) -> Queue:
    queue = Queue(metadata=ObjectMeta(name=name))
    return replace(queue, spec=replace(queue.spec, **fields), status=replace(queue.status, state="Open"))


class LittleCluster:
    """Pods die at once, or linger until `bury` when deletion is graceful."""

    def __init__(self, options: JobOptions | None = None, *, graceful: bool = False) -> None:
        self.controller = JobController(options)
        self.now = START
        self.graceful = graceful
        self.jobs: dict[str, VolcanoJob] = {}
        self.pods_by_key: dict[str, Pod] = {}
        self.pod_groups: dict[str, PodGroup] = {}
        self.queues = {"default": open_queue_named("default")}
        self.claims: set[str] = set()
        self.classes: dict[str, int] = {}
        self.events: list[RecordEvent] = []
        self.history: list[JobStatus] = []
        self.refuses_pod_groups = False
        self._news: deque[Callable[[], list[JobCommand]]] = deque()
        self._uids = count(1)

    def job(self, key: str) -> VolcanoJob | None:
        return self.jobs.get(key)

    def pods(self, job: VolcanoJob) -> Sequence[Pod]:
        owned = (pod for pod in self.pods_by_key.values() if pod.metadata.owner_references)
        return [pod for pod in owned if pod.metadata.owner_references[0].uid == job.metadata.uid]

    def pod_group(self, key: str) -> PodGroup | None:
        return self.pod_groups.get(key)

    def queue(self, name: str) -> Queue | None:
        return self.queues.get(name)

    def has_claim(self, key: str) -> bool:
        return key in self.claims

    def priority_by_class(self) -> Mapping[str, int]:
        return self.classes

    def submit(self, job: VolcanoJob) -> None:
        job = default_job(job)
        self.jobs[job.key] = job
        self.tell(lambda: self.controller.job_changed(self, None, job, self.now))

    def edit(self, key: str, **fields: object) -> None:
        before = self.jobs[key]
        after = self.jobs[key] = replace(before, spec=replace(before.spec, **fields))
        self.tell(lambda: self.controller.job_changed(self, before, after, self.now))

    def command(self, key: str, action: str) -> None:
        self.tell(lambda: self.controller.command(self, key, action, self.now))

    def move_group(self, phase: str) -> None:
        """The scheduler moves the only PodGroup to another phase."""
        [(key, before)] = self.pod_groups.items()
        after = self.pod_groups[key] = replace(before, status=replace(before.status, phase=phase))
        self.tell(lambda: self.controller.pod_group_changed(self, before, after, self.now))

    def move_pods(self, phase: str, *names: str, exit_code: int = 1) -> None:
        """Pods (all, or those named) reach another phase."""
        for key in [f"default/{name}" for name in names] or list(self.pods_by_key):
            before = self.pods_by_key[key]
            state = ContainerState(terminated=Terminated(exit_code=exit_code) if phase == "Failed" else None)
            status = replace(
                before.status,
                phase=phase,
                start_time=before.status.start_time or self.now,
                container_statuses=(ContainerStatus(name="main", ready=phase == "Running", state=state),),
            )
            self._change_pod(before, replace(before, status=status))

    def restart_containers(self, name: str, times: int) -> None:
        before = self.pods_by_key[f"default/{name}"]
        statuses = (ContainerStatus(name="main", ready=True, restart_count=times),)
        self._change_pod(before, replace(before, status=replace(before.status, container_statuses=statuses)))

    def evict(self, name: str) -> None:
        """A client other than the controller deletes a pod."""
        self._delete_pod(self.pods_by_key[f"default/{name}"])
        self.tell(list)

    def bury(self) -> None:
        """Lingering pods are gone for good."""
        for key, pod in list(self.pods_by_key.items()):
            if pod.metadata.deletion_timestamp is not None:
                del self.pods_by_key[key]
                self.tell(lambda pod=pod: self.controller.pod_deleted(self, pod, self.now))

    def wait(self, **span: float) -> None:
        """Let time pass, stopping wherever the controller has something to do."""
        end = self.now + timedelta(**span)
        while (due := self.controller.next_due()) is not None and due <= end:
            self.now = max(self.now, due)
            self.tell(lambda: self.controller.fire(self, self.now))
        self.now = end

    def status(self, key: str = "default/train") -> JobStatus:
        return self.jobs[key].status

    def phase(self, key: str = "default/train") -> str:
        return self.status(key).state.phase

    def pod_phases(self) -> dict[str, str]:
        return {pod.metadata.name: pod.status.phase for pod in self.pods_by_key.values()}

    def trace(self) -> list[tuple[str, int, int]]:
        """Phase, version and retries of every status written, repetitions left out."""
        rows = [(status.state.phase, status.version, status.retry_count) for status in self.history]
        return [row for i, row in enumerate(rows) if i == 0 or row != rows[i - 1]]

    def tell(self, news: Callable[[], list[JobCommand]]) -> None:
        self._news.append(news)
        while self._news:
            for command in self._news.popleft()():
                self.carry_out(command)

    def carry_out(self, command: JobCommand) -> None:
        match command:
            case CreatePod(pod):
                self._create_pod(pod)
            case DeletePod(key, uid):
                self._delete_own_pod(key, uid)
            case PutPodGroup(pod_group):
                self._put_pod_group(pod_group)
            case DeletePodGroup(key):
                gone = self.pod_groups.pop(key)
                self._news.append(lambda: self.controller.pod_group_deleted(self, gone, self.now))
            case CreateClaim(claim):
                self.claims.add(claim.key)
            case PutJobStatus(key, status):
                self._put_status(key, status)
            case DeleteJob(key):
                self.controller.job_deleted(self.jobs.pop(key))
            case RecordEvent():
                self.events.append(command)

    def _uid(self) -> str:
        return f"uid-{next(self._uids)}"

    def _create_pod(self, pod: Pod) -> None:
        if pod.key in self.pods_by_key:
            return
        made = replace(pod, metadata=replace(pod.metadata, uid=self._uid(), creation_timestamp=self.now))
        self.pods_by_key[pod.key] = made
        self._news.append(lambda: self.controller.pod_added(self, made, self.now))

    def _change_pod(self, before: Pod, after: Pod) -> None:
        self.pods_by_key[after.key] = after
        self.tell(lambda: self.controller.pod_changed(self, before, after, self.now))

    def _delete_own_pod(self, key: str, uid: str) -> None:
        pod = self.pods_by_key.get(key)
        if pod is not None and pod.metadata.uid == uid:
            self._delete_pod(_marked(pod))

    def _delete_pod(self, pod: Pod) -> None:
        if not self.graceful:
            del self.pods_by_key[pod.key]
            self._news.append(lambda: self.controller.pod_deleted(self, pod, self.now))
            return
        after = replace(pod, metadata=replace(pod.metadata, deletion_timestamp=self.now))
        self.pods_by_key[pod.key] = after
        self._news.append(lambda: self.controller.pod_changed(self, pod, after, self.now))

    def _put_pod_group(self, pod_group: PodGroup) -> None:
        if pod_group.metadata.uid:
            self.pod_groups[pod_group.key] = pod_group
        elif self.refuses_pod_groups:
            self._news.append(lambda: self.controller.failed(self, "default/train", self.now))
        else:
            meta = replace(pod_group.metadata, uid=self._uid(), creation_timestamp=self.now)
            self.pod_groups[pod_group.key] = replace(pod_group, metadata=meta)

    def _put_status(self, key: str, status: JobStatus) -> None:
        before = self.jobs[key]
        after = self.jobs[key] = replace(before, status=status)
        self.history.append(status)
        self._news.append(lambda: self.controller.job_changed(self, before, after, self.now))


def _marked(pod: Pod) -> Pod:
    annotations = pod.metadata.annotations | {keys.OUT_OF_SYNC: "true"}
    return replace(pod, metadata=replace(pod.metadata, annotations=annotations))
