"""Casting: a submission becomes the PodGroup and the pods that Volcano's Job controller would make of it.

What jobs have in common (requests, minimums, priorities) is worked out once for all that look alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from msgspec.structs import replace

from hekla.cluster.admission import admitted_group, admitted_pod, made_up_uid
from hekla.controllers.expand import owner_of, pod_group_name, pod_meta, pod_spec
from hekla.controllers.keys import GROUP_NAME, JOB_NAME, TASK_SPEC
from hekla.engine.model.requests import demand_of
from hekla.engine.model.resources import total
from hekla.objects import Namespace, ObjectMeta, Pod, PodGroup, PriorityClass, VolcanoJob
from hekla.objects.batch import JobSpec, TaskSpec
from hekla.objects.pod import PodSpec
from hekla.objects.scheduling import NetworkTopology, PodGroupSpec
from hekla.simulation.event_log import Book
from hekla.simulation.jobs import Doing, SimJob, SimPod
from hekla.simulation.workloads import GivenGroup, Role, Submission

SCHEDULER = "volcano"

Look = tuple[tuple[int, ...], int, str, str, NetworkTopology | None, int, int]


@dataclass(frozen=True, slots=True)
class Part:
    """What the pods of one role have in common."""

    role: Role
    spec: PodSpec
    shape: int


@dataclass(frozen=True, slots=True)
class Cast:
    """What jobs that look alike have in common."""

    spec: PodGroupSpec
    parts: tuple[Part, ...]
    size: int
    """Into the book's sizes."""
    submission: Submission
    """The first of them; kept so that identities of its roles stay theirs."""


class Casting:
    """Makes jobs of submissions; needs to know the priority classes first."""

    def __init__(
        self, book: Book, classes: Collection[PriorityClass], namespaces: Iterable[Namespace] = ()
    ) -> None:
        self._book = book
        self._namespaces = {each.metadata.name: each for each in namespaces}
        self._classes = classes
        self._casts: dict[Look, Cast] = {}

    def job_of(self, submission: Submission, now: float, stamp: datetime) -> SimJob:
        cast = self._cast_of(submission)
        whole = _named(submission) if submission.job else None
        job = SimJob(
            key=submission.key,
            row=self._enter(submission, cast, now),
            group=_group_of(submission, whole, cast, stamp),
            restart=submission.restart,
            checkpoint=submission.checkpoint_seconds,
            minimum=submission.minimum,
            fails_after=submission.fails_after,
            has_controller=whole is not None,
            manifest=whole,
        )
        if whole is not None:
            job.pods = list(_pods_to_make(job, whole, cast))
        elif submission.group is not None:
            job.pods = list(_pods_given(job, submission.group, cast, stamp))
        else:
            job.pods = list(_pods_of(job, submission, cast, stamp))
        return job

    def _cast_of(self, submission: Submission) -> Cast:
        look: Look = (
            tuple(map(id, submission.roles)),
            submission.minimum,
            submission.queue,
            submission.priority_class,
            submission.topology,
            id(submission.job),
            id(submission.group),
        )
        known = self._casts.get(look)
        if known is None:
            known = self._casts[look] = self._make(submission)
        return known

    def _make(self, submission: Submission) -> Cast:
        job = _named(submission) if submission.job else _as_volcano_job(submission)
        tasks = [task for task in job.spec.tasks if task.replicas]
        specs = (pod_spec(job, task) for task in tasks)
        parts = tuple(map(self._part_of, submission.roles, specs))
        requests: list[Mapping[str, int]] = []
        for part in parts:
            requests += [self._book.shapes.rows[part.shape]] * part.role.replicas
        group = admitted_group(job, self._classes, self._namespaces)
        if submission.group is not None:
            group = replace(group, spec=replace(submission.group.spec, queue=group.spec.queue))
        return Cast(
            spec=group.spec,
            parts=parts,
            size=self._book.sizes.number_of(total(requests)),
            submission=submission,
        )

    def _part_of(self, role: Role, spec: PodSpec) -> Part:
        pod, problem = admitted_pod(Pod(spec=spec), self._classes)
        if problem:
            self._book.notes[problem] = None
        return Part(role, pod.spec, self._book.shapes.number_of(demand_of(pod)[0]))

    def _enter(self, submission: Submission, cast: Cast, now: float) -> int:
        spans = [submission.run_seconds if r.run_seconds is None else r.run_seconds for r in submission.roles]
        return self._book.enter_job(
            submission.key,
            user=submission.user,
            queue=submission.queue,
            submitted=now,
            run_seconds=max(spans, default=submission.run_seconds),
            estimate=submission.estimate,
            minimum=submission.minimum,
            pods=submission.pods,
            shape=cast.parts[0].shape if cast.parts else self._book.shapes.number_of({}),
            size=cast.size,
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


def _group_of(submission: Submission, job: VolcanoJob | None, cast: Cast, stamp: datetime) -> PodGroup:
    meta = ObjectMeta(
        name=submission.name if job is None else pod_group_name(job),
        namespace=submission.namespace,
        uid=submission.key,
        labels=dict(submission.labels),
        annotations=dict(submission.annotations),
        owner_references=() if job is None else (owner_of(job),),
        creation_timestamp=stamp,
    )
    return PodGroup(metadata=meta, spec=cast.spec)


def _pods_to_make(job: SimJob, whole: VolcanoJob, cast: Cast) -> Iterable[SimPod]:
    """The pods that the controller of the Job makes once its PodGroup is admitted."""
    number = 0
    tasks = [task for task in whole.spec.tasks if task.replicas]
    submission = cast.submission
    for task, part in zip(tasks, cast.parts, strict=True):
        work = submission.run_seconds if part.role.run_seconds is None else part.role.run_seconds
        for index in range(task.replicas):
            manifest = Pod(metadata=pod_meta(whole, task, index), spec=part.spec)
            yield SimPod(job, number, part.spec, part.shape, work, manifest, doing=Doing.NOT_MADE)
            number += 1


def _pods_given(job: SimJob, given: GivenGroup, cast: Cast, stamp: datetime) -> Iterable[SimPod]:
    """The pods that came with their PodGroup, under their own names."""
    submission = cast.submission
    for number, (own, place) in enumerate(given.pods):
        part = cast.parts[place]
        meta = replace(
            own,
            namespace=submission.namespace,
            uid=f"{submission.namespace}/{own.name}",
            annotations=own.annotations | {GROUP_NAME: submission.name},
            creation_timestamp=stamp + timedelta(microseconds=number),
        )
        work = submission.run_seconds if part.role.run_seconds is None else part.role.run_seconds
        yield SimPod(job, number, part.spec, part.shape, work, Pod(metadata=meta, spec=part.spec))


def _pods_of(job: SimJob, submission: Submission, cast: Cast, stamp: datetime) -> Iterable[SimPod]:
    number = 0
    for part in cast.parts:
        role, template = part.role, part.role.template.metadata
        own = {JOB_NAME: submission.name, TASK_SPEC: role.name}
        labels = template.labels | own
        annotations = template.annotations | own | {GROUP_NAME: submission.name}
        work = submission.run_seconds if role.run_seconds is None else role.run_seconds
        for index in range(role.replicas):
            name = f"{submission.name}-{role.name}-{index}"
            meta = ObjectMeta(
                name=name,
                namespace=submission.namespace,
                uid=f"{submission.namespace}/{name}",
                labels=labels,
                annotations=annotations,
                creation_timestamp=stamp,
            )
            manifest = Pod(metadata=meta, spec=part.spec)
            yield SimPod(job, number, part.spec, part.shape, work, manifest)
            number += 1
