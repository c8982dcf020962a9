"""JobFactory: a submission becomes the PodGroup and the pods that Volcano's Job controller would make of it.

What jobs have in common (requests, minimums, priorities) is worked out once for all that look alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from hekla.cluster.admission import admitted_group, admitted_pod, made_up_uid
from hekla.controllers.expand import owner_of, pod_group_name, pod_meta, pod_spec
from hekla.engine.model.requests import demand_of
from hekla.engine.model.resources import total
from hekla.objects import Namespace, ObjectMeta, Pod, PodGroup, PriorityClass, VolcanoJob
from hekla.objects.batch import JobSpec, TaskSpec
from hekla.objects.keys import GROUP_NAME, JOB_NAME, TASK_SPEC
from hekla.objects.pod import PodSpec
from hekla.objects.scheduling import NetworkTopology, PodGroupSpec
from hekla.simulation.event_log import RunLog
from hekla.simulation.jobs import Doing, SimJob, SimPod, needed_of
from hekla.simulation.workloads import GivenGroup, Role, Submission

SCHEDULER = "volcano"

Look = tuple[tuple[int, ...], int, str, str, NetworkTopology | None, int, int]


class JobPart(msgspec.Struct, frozen=True):
    """What the pods of one role have in common."""

    role: Role
    spec: PodSpec
    shape: int


class Alike(msgspec.Struct, frozen=True):
    """What jobs that look alike have in common."""

    spec: PodGroupSpec
    parts: tuple[JobPart, ...]
    size: int
    """Into the log's sizes."""
    pods: int
    minimum: int
    needed: int
    submission: Submission
    """The first of them; kept so that identities of its roles stay theirs."""
    kind: object = msgspec.field(default_factory=object)


class JobFactory:
    """Makes jobs of submissions; needs to know the priority classes first."""

    def __init__(
        self, log: RunLog, classes: Collection[PriorityClass], namespaces: Iterable[Namespace] = ()
    ) -> None:
        self._log = log
        self._namespaces = {each.metadata.name: each for each in namespaces}
        self._classes = classes
        self._known: dict[Look, Alike] = {}

    def job_of(self, submission: Submission, now: float, stamp: datetime) -> SimJob:
        alike = self._alike_of(submission)
        whole = _named(submission) if submission.job else None
        key = submission.key
        job = SimJob(
            key=key,
            row=self._enter(key, submission, alike, now),
            group=_group_of(key, submission, whole, alike, stamp),
            restart=submission.restart,
            checkpoint=submission.checkpoint_seconds,
            needed=alike.needed,
            fails_after=submission.fails_after,
            has_controller=whole is not None,
            manifest=whole,
            kind=alike.kind,
        )
        if whole is not None:
            job.pods = list(_pods_to_make(job, whole, alike))
        elif submission.group is not None:
            job.pods = list(_pods_given(job, submission.group, alike, stamp))
        else:
            job.pods = list(_pods_of(job, submission, alike, stamp))
        return job

    def _alike_of(self, submission: Submission) -> Alike:
        look: Look = (
            tuple(map(id, submission.roles)),
            submission.minimum,
            submission.queue,
            submission.priority_class,
            submission.topology,
            id(submission.job),
            id(submission.group),
        )
        known = self._known.get(look)
        if known is None:
            known = self._known[look] = self._make(submission)
        return known

    def _make(self, submission: Submission) -> Alike:
        job = _named(submission) if submission.job else _as_volcano_job(submission)
        tasks = [task for task in job.spec.tasks if task.replicas]
        specs = (pod_spec(job, task) for task in tasks)
        parts = tuple(map(self._part_of, submission.roles, specs))
        requests: list[Mapping[str, int]] = []
        for part in parts:
            requests += [self._log.shapes.rows[part.shape]] * part.role.replicas
        group = admitted_group(job, self._classes, self._namespaces)
        if submission.group is not None:
            group = replace(group, spec=replace(submission.group.spec, queue=group.spec.queue))
        return Alike(
            spec=group.spec,
            parts=parts,
            size=self._log.sizes.number_of(total(requests)),
            pods=submission.pods,
            minimum=submission.minimum,
            needed=needed_of(submission.minimum, submission.pods),
            submission=submission,
        )

    def _part_of(self, role: Role, spec: PodSpec) -> JobPart:
        pod, problem = admitted_pod(Pod(spec=spec), self._classes)
        if problem:
            self._log.notes[problem] = None
        return JobPart(role, pod.spec, self._log.shapes.number_of(demand_of(pod)[0]))

    def _enter(self, key: str, submission: Submission, alike: Alike, now: float) -> int:
        spans = [submission.run_seconds if r.run_seconds is None else r.run_seconds for r in submission.roles]
        return self._log.enter_job(
            key,
            user=submission.user,
            queue=submission.queue,
            submitted=now,
            run_seconds=max(spans, default=submission.run_seconds),
            estimate=submission.estimate,
            minimum=alike.minimum,
            pods=alike.pods,
            shape=alike.parts[0].shape if alike.parts else self._log.shapes.number_of({}),
            size=alike.size,
        )


def _as_volcano_job(submission: Submission) -> VolcanoJob:
    """The Job whose minimums and requests the PodGroup sums up."""
    tasks = tuple(
        TaskSpec(
            name=role.name,
            replicas=role.replicas,
            min_available=role.min_available,
            template=role.template,
        )
        for role in submission.roles
    )
    return VolcanoJob(
        metadata=ObjectMeta(name=submission.name, namespace=submission.namespace),
        spec=JobSpec(
            min_available=submission.minimum,
            queue=submission.queue,
            priority_class_name=submission.priority_class,
            scheduler_name=SCHEDULER,
            network_topology=submission.topology,
            tasks=tasks,
        ),
    )


def _named(submission: Submission) -> VolcanoJob:
    """The Job of a submission, which may be one of several under numbered names; played without volumes."""
    job = submission.job
    assert job is not None, f"{submission.key} is no Job"
    called = ObjectMeta(name=submission.name, namespace=submission.namespace)
    meta = replace(
        called,
        uid=made_up_uid(VolcanoJob(metadata=called)),
        labels=dict(submission.labels),
        annotations=dict(submission.annotations),
    )
    spec = replace(job.spec, priority_class_name=submission.priority_class, volumes=())
    return replace(job, metadata=meta, spec=spec)


def _group_of(
    key: str, submission: Submission, job: VolcanoJob | None, alike: Alike, stamp: datetime
) -> PodGroup:
    meta = ObjectMeta(
        name=submission.name if job is None else pod_group_name(job),
        namespace=submission.namespace,
        uid=key,
        labels=dict(submission.labels),
        annotations=dict(submission.annotations),
        owner_references=() if job is None else (owner_of(job),),
        creation_timestamp=stamp,
    )
    return PodGroup(metadata=meta, spec=alike.spec)


def _pods_to_make(job: SimJob, whole: VolcanoJob, alike: Alike) -> Iterable[SimPod]:
    """The pods that the controller of the Job makes once its PodGroup is admitted."""
    number = 0
    tasks = [task for task in whole.spec.tasks if task.replicas]
    submission = alike.submission
    for task, part in zip(tasks, alike.parts, strict=True):
        work = submission.run_seconds if part.role.run_seconds is None else part.role.run_seconds
        for index in range(task.replicas):
            manifest = Pod(metadata=pod_meta(whole, task, index), spec=part.spec)
            yield SimPod(
                job, number, part.spec, part.shape, work, manifest, manifest.key, doing=Doing.NOT_MADE
            )
            number += 1


def _pods_given(job: SimJob, given: GivenGroup, alike: Alike, stamp: datetime) -> Iterable[SimPod]:
    """The pods that came with their PodGroup, under their own names."""
    submission = alike.submission
    for number, (own, place) in enumerate(given.pods):
        part = alike.parts[place]
        meta = replace(
            own,
            namespace=submission.namespace,
            uid=f"{submission.namespace}/{own.name}",
            annotations=own.annotations | {GROUP_NAME: submission.name},
            creation_timestamp=stamp + timedelta(microseconds=number),
        )
        work = submission.run_seconds if part.role.run_seconds is None else part.role.run_seconds
        manifest = Pod(metadata=meta, spec=part.spec)
        yield SimPod(job, number, part.spec, part.shape, work, manifest, manifest.key)


def _pods_of(job: SimJob, submission: Submission, alike: Alike, stamp: datetime) -> Iterable[SimPod]:
    number = 0
    for part in alike.parts:
        role, template = part.role, part.role.template.metadata
        own = {JOB_NAME: submission.name, TASK_SPEC: role.name}
        labels = template.labels | own
        annotations = template.annotations | own | {GROUP_NAME: submission.name}
        work = submission.run_seconds if role.run_seconds is None else role.run_seconds
        for index in range(role.replicas):
            name = f"{submission.name}-{role.name}-{index}"
            key = f"{submission.namespace}/{name}"
            meta = ObjectMeta(
                name=name,
                namespace=submission.namespace,
                uid=key,
                labels=labels,
                annotations=annotations,
                creation_timestamp=stamp,
            )
            manifest = Pod(metadata=meta, spec=part.spec)
            yield SimPod(job, number, part.spec, part.shape, work, manifest, key)
            number += 1
