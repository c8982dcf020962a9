"""Intake: what a file asks for, checked as a cluster would check it, and as the objects it comes to.

A job's pods are supposed to exist as soon as it does: controllers make them once it is admitted, which may be
in the same cycle.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from msgspec.structs import replace

from hekla.clock import VirtualClock
from hekla.cluster import volumes
from hekla.cluster.admission import (
    Problem,
    admitted_group,
    admitted_pod,
    default_job,
    default_pod_group,
    made_up_uid,
    problems_of_job,
    problems_of_pod,
    problems_of_pod_group,
    with_priority,
)
from hekla.cluster.embedded import EmbeddedCluster, Options
from hekla.cluster.embedded.intake import MOST_REPLICAS
from hekla.cluster.embedded.timeline import called
from hekla.cluster.store import Store, relevant
from hekla.controllers import pod_group_for
from hekla.controllers.expand import claims_of, may_create_pods, pod_group_key, pod_of
from hekla.controllers.podgroup import group_name_for
from hekla.errors import InputError
from hekla.insight.plan.request import GroupRequest, JobRequest, PlanRequest
from hekla.insight.plan.whatif import WhatIfCluster
from hekla.objects import (
    KINDS,
    Manifest,
    Namespace,
    ObjectMeta,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodGroup,
    PriorityClass,
    Queue,
    StorageClass,
    VolcanoJob,
    seconds,
)
from hekla.objects.batch import JobStatus
from hekla.objects.complaint import Complaint
from hekla.objects.keys import GROUP_NAME
from hekla.objects.pod import PodSpec, PodStatus
from hekla.objects.scheduling import PodGroupStatus

DAY = 86_400.0
SCHEDULER_NAMES = ("volcano", "hekla")
PLANNED = "planned"
"""In the UIDs of what is only planned."""
_WORK = (VolcanoJob, PodGroup, Pod)

M = TypeVar("M", bound=Manifest)


@dataclass(frozen=True)
class PlannedState:
    """The objects of a cluster as its scheduler sees them, and what in them cannot be used."""

    objects: list[Manifest]
    complaints: list[Complaint] = field(default_factory=list)


def admitted_state(objects: Iterable[Manifest], names: Sequence[str] = SCHEDULER_NAMES) -> PlannedState:
    """The cluster that these manifests describe, defaults filled in, Jobs expanded, nothing scheduled yet."""
    cluster = EmbeddedCluster(
        objects, VirtualClock(), options=Options(run_seconds=float("inf"), scheduler_names=tuple(names))
    )
    found = [manifest for kind in KINDS.values() for manifest in cluster.all_of(kind)]
    return PlannedState(relevant(with_first_pods(found), names), cluster.complaints)


def with_first_pods(objects: Sequence[Manifest], *, but_admitted: bool = False) -> list[Manifest]:
    """The objects, and the PodGroups and pods that controllers have not made yet for Jobs that wait.

    `but_admitted` leaves out pods of Jobs that are admitted: that these have none is a fact of its own.
    """
    owning_pods = {owner.uid for pod in _all_of(Pod, objects) for owner in pod.metadata.owner_references}
    groups = {
        owner.uid: group for group in _all_of(PodGroup, objects) for owner in group.metadata.owner_references
    }
    classes = _all_of(PriorityClass, objects)
    namespaces = {each.metadata.name: each for each in _all_of(Namespace, objects)}
    made: list[Manifest] = []
    for job in map(default_job, _all_of(VolcanoJob, objects)):
        if job.status.state.phase not in ("", "Pending"):
            continue
        uid, created = job.metadata.uid, job.metadata.creation_timestamp
        group = groups.get(uid)
        if group is None:
            group = admitted_group(job, classes, namespaces)
            made.append(replace(group, metadata=replace(group.metadata, creation_timestamp=created)))
        is_admitted = group.status.phase not in ("", "Pending")
        if uid not in owning_pods and not (but_admitted and is_admitted):
            made += [_entering(pod, classes, created) for pod in first_pods_of(job)]
    return [*objects, *made]


def _all_of(kind: type[M], objects: Iterable[Manifest]) -> list[M]:
    return [each for each in objects if isinstance(each, kind)]


def moment_after(objects: Iterable[Manifest]) -> float:
    """The time of a plan on files: a day after everything that they tell of."""
    return DAY + max((seconds(thing.metadata.creation_timestamp) for thing in objects), default=0.0)


def first_pods_of(job: VolcanoJob) -> list[Pod]:
    """The pods that a Job begins with; tasks that depend on other tasks come later."""
    return [
        pod_of(job, task, index)
        for task in job.spec.tasks
        if may_create_pods(job, task, ())
        for index in range(task.replicas)
    ]


class PlanIntake:
    """Takes jobs in, on the grounds of what is in the cluster."""

    def __init__(self, cluster: WhatIfCluster, names: Sequence[str] = SCHEDULER_NAMES) -> None:
        self._cluster = cluster
        self._names = names
        self.queues: Mapping[str, Queue] = cluster.by_key(Queue)
        self.classes = cluster.all_of(PriorityClass)
        self._moment = datetime.fromtimestamp(cluster.setting.now, UTC)

    def requests_in(self, manifests: Sequence[Manifest]) -> list[PlanRequest]:
        """The jobs among the manifests, in their order; raises InputError where one cannot be taken in."""
        self._refuse_known(manifests)
        groups = {m.key: m for m in manifests if isinstance(m, PodGroup)}
        pods_of_group, requests = self._sorted_pods(manifests, groups), list[PlanRequest]()
        for manifest in manifests:
            if isinstance(manifest, VolcanoJob):
                requests.append(self._job(manifest))
            elif isinstance(manifest, PodGroup):
                requests.append(self._group(manifest, pods_of_group.pop(manifest.key, [])))
        requests += [self._loose(pods) for pods in pods_of_group.values()]
        if not requests:
            raise InputError("no job to plan; give a Job of batch.volcano.sh, a PodGroup with pods, or a Pod")
        return requests

    def _refuse_known(self, manifests: Iterable[Manifest]) -> None:
        jobs = {
            f"{group.metadata.namespace}/{owner.name}"
            for group in self._cluster.all_of(PodGroup)
            for owner in group.metadata.owner_references
            if owner.kind == "Job" and owner.controller
        }
        for manifest in manifests:
            known = jobs if isinstance(manifest, VolcanoJob) else self._cluster.by_key(type(manifest))
            if isinstance(manifest, _WORK) and manifest.key in known:
                raise InputError(
                    f"{called(manifest)} is in the cluster already; give it another name to plan one more,"
                    f' or ask "hekla plan --job {manifest.key}" what lets it start'
                )

    def _sorted_pods(
        self, manifests: Iterable[Manifest], groups: Mapping[str, PodGroup]
    ) -> dict[str, list[Pod]]:
        """Pods by the group they name, or by the one that a controller would make for them."""
        found: dict[str, list[Pod]] = {}
        for pod in manifests:
            if not isinstance(pod, Pod):
                continue
            name = pod.metadata.annotations.get(GROUP_NAME, "")
            key = f"{pod.metadata.namespace}/{name}"
            if name and key not in groups:
                raise InputError(f'pod {pod.key}: names pod group "{key}", which is not in the file; add it')
            fresh = self._fresh_pod(pod)
            if not name:
                _, joined = pod_group_for(fresh, (), scheduler_names=self._names)
                key = f"{pod.metadata.namespace}/{joined.metadata.annotations.get(GROUP_NAME, '')}"
            found.setdefault(key, []).append(fresh)
        return found

    def _fresh_pod(self, pod: Pod) -> Pod:
        """The pod as it is handed in; what a cluster wrote on it before counts for nothing."""
        _require(pod, problems_of_pod(pod, self._names))
        if pod.spec.scheduler_name not in self._names and (
            pod.spec.scheduler_name or not pod.metadata.annotations.get(GROUP_NAME)
        ):
            wanted = f'write "{self._names[0]}" to have it scheduled here'
            raise InputError(
                f'pod {pod.key}: spec.schedulerName: "{pod.spec.scheduler_name}" schedules it; {wanted}'
                if pod.spec.scheduler_name
                else f"pod {pod.key}: spec.schedulerName: names no scheduler; {wanted}"
            )
        return _unplaced(pod)

    def request_of(
        self, job: VolcanoJob | None, group: PodGroup | None, pods: Sequence[Pod]
    ) -> PlanRequest | None:
        """A job that was let in before, as its user would submit it anew; none without pods."""
        if job is not None:
            return JobRequest(as_submitted(job), self._names[0])
        if group is None or not pods:
            return None
        fresh = replace(group, metadata=_fresh(group), status=PodGroupStatus())
        is_made_up = group.metadata.name == group_name_for(pods[0])
        return GroupRequest(fresh, tuple(map(_unplaced, pods)), is_made_up)

    def _job(self, manifest: VolcanoJob) -> JobRequest:
        request = JobRequest(as_submitted(manifest), self._names[0])
        job = request.job
        _require(job, problems_of_job(job, self.queues))
        _require_size(job, sum(task.replicas for task in job.spec.tasks), "spec.tasks: replicas")
        self._require_class(job, job.spec.priority_class_name)
        for task in job.spec.tasks:
            self._require_class(job, task.template.spec.priority_class_name)
        return request

    def _group(self, manifest: PodGroup, pods: Sequence[Pod]) -> GroupRequest:
        fresh = replace(manifest, metadata=_fresh(manifest), status=PodGroupStatus())
        group = default_pod_group(fresh, self._cluster.by_key(Namespace))
        _require(group, problems_of_pod_group(group, self.queues))
        _require_size(group, len(pods), "pods that name it")
        if group.spec.min_member > len(pods):
            message = f'"{group.spec.min_member}" is above the "{len(pods)}" pods of the file'
            raise InputError(f"podgroup {group.key}: spec.minMember: {message}")
        self._require_class(group, group.spec.priority_class_name)
        for pod in pods:
            self._require_class(pod, pod.spec.priority_class_name)
        return GroupRequest(group, tuple(pods))

    def _loose(self, pods: Sequence[Pod]) -> GroupRequest:
        group, _ = pod_group_for(pods[0], (), scheduler_names=self._names)
        assert group is not None, f"pod {pods[0].key} has a group of its own"
        joined = [pod_group_for(pod, (), scheduler_names=self._names)[1] for pod in pods]
        return dataclasses.replace(self._group(group, joined), is_made_up=True)

    def _require_class(self, manifest: Manifest, name: str) -> None:
        _, problem = with_priority(Pod(spec=PodSpec(priority_class_name=name)), self.classes)
        if problem:
            raise InputError(f"{called(manifest)}: {problem.removesuffix('; it counts as 0')}")

    def objects_of(self, request: PlanRequest) -> tuple[list[Manifest], str]:
        """What the job comes to in the cluster, and the key of its PodGroup."""
        if isinstance(request, JobRequest):
            return self._objects_of_job(request.job)
        assert isinstance(request, GroupRequest)
        pods = [_entering(pod, self.classes, self._moment) for pod in request.pods]
        return [self._created(request.group), *pods], request.group.key

    def _objects_of_job(self, job: VolcanoJob) -> tuple[list[Manifest], str]:
        group = admitted_group(job, self.classes, self._cluster.by_key(Namespace))
        pods = [_entering(pod, self.classes, self._moment) for pod in first_pods_of(job)]
        return [*self._claims(job), self._created(group), *pods], pod_group_key(job)

    def _claims(self, job: VolcanoJob) -> list[Manifest]:
        """The claims that the Job makes, each with a volume where its class does not wait for a pod."""
        there = self._cluster.by_key(PersistentVolumeClaim)
        claims = [self._created(claim) for claim in claims_of(job) if claim.key not in there]
        if not claims:
            return []
        store, changed = Store(), dict[tuple[type[Manifest], str], Manifest]()
        for kind in (PersistentVolume, StorageClass, PersistentVolumeClaim):
            for manifest in self._cluster.all_of(kind):
                store.put(manifest)
        store.watch(
            lambda _, after: changed.update({} if after is None else {(type(after), after.key): after})
        )
        for claim in claims:
            store.put(claim)
            volumes.bind_at_once(store, claim)
        return list(changed.values())

    def _created(self, manifest: M) -> M:
        return replace(manifest, metadata=replace(manifest.metadata, creation_timestamp=self._moment))


def _entering(pod: Pod, classes: Sequence[PriorityClass], created: datetime | None) -> Pod:
    """The pod as it enters the cluster, with the priority of its class."""
    meta = pod.metadata
    uid = meta.uid or made_up_uid(pod)
    entering = replace(pod, metadata=replace(meta, uid=uid, creation_timestamp=created))
    return admitted_pod(entering, classes)[0]


def as_submitted(job: VolcanoJob) -> VolcanoJob:
    """The Job as its user hands it in; what a cluster wrote on it before counts for nothing."""
    return replace(job, metadata=_fresh(job), status=JobStatus())


def _unplaced(pod: Pod) -> Pod:
    """The same of a pod."""
    return replace(pod, metadata=_fresh(pod), spec=replace(pod.spec, node_name=""), status=PodStatus())


def _fresh(manifest: Manifest) -> ObjectMeta:
    """What users write of the metadata; the rest is a cluster's."""
    meta = manifest.metadata
    uid = PLANNED if isinstance(manifest, VolcanoJob) else f"{PLANNED}-{meta.namespace}-{meta.name}"
    return ObjectMeta(
        name=meta.name,
        namespace=meta.namespace,
        uid=uid,
        labels=meta.labels,
        annotations=meta.annotations,
        owner_references=meta.owner_references,
    )


def _require(manifest: Manifest, problems: Sequence[Problem]) -> None:
    """Raise what a cluster would refuse the object for."""
    if problems:
        raise InputError(f"{called(manifest)} would be refused: " + "; ".join(map(str, problems)))


def _require_size(manifest: Manifest, pods: int, what: str) -> None:
    if pods < 1:
        raise InputError(f"{called(manifest)}: {what}: none; there is nothing to start")
    if pods > MOST_REPLICAS:
        raise InputError(
            f'{called(manifest)}: {what}: "{pods}" are too many; at most "{MOST_REPLICAS}" are taken'
        )
