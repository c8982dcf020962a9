"""Casting: a submission becomes the PodGroup and the pods that Volcano's Job controller would make of it.

What jobs have in common (requests, minimums, priorities) is worked out once for all that look alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from msgspec.structs import replace

from hekla.cluster.embedded.priorities import with_priority
from hekla.controllers import default_pod
from hekla.controllers.expand import pod_group_of
from hekla.engine.model.requests import demand_of
from hekla.engine.model.resources import total
from hekla.objects import ObjectMeta, Pod, PodGroup, PriorityClass, VolcanoJob
from hekla.objects.batch import JobSpec, TaskSpec
from hekla.objects.keys import GROUP_NAME, JOB_NAME, TASK_SPEC
from hekla.objects.pod import PodSpec
from hekla.objects.scheduling import NetworkTopology, PodGroupSpec
from hekla.simulation.book import Book
from hekla.simulation.jobs import SimJob, SimPod
from hekla.simulation.workloads import Role, Submission

SCHEDULER = "volcano"

Look = tuple[tuple[int, ...], int, str, str, NetworkTopology | None]


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
    roles: tuple[Role, ...]
    """Kept so that their identities stay theirs."""


class Casting:
    """Makes jobs of submissions; needs to know the priority classes first."""

    def __init__(self, book: Book, classes: Collection[PriorityClass]) -> None:
        self._book = book
        self._classes = classes
        self._value_of_class = {each.metadata.name: each.value for each in classes}
        self._casts: dict[Look, Cast] = {}

    def job_of(self, submission: Submission, now: float, stamp: datetime) -> SimJob:
        cast = self._cast_of(submission)
        job = SimJob(
            key=submission.key,
            row=self._enter(submission, cast, now),
            group=_group_of(submission, cast, stamp),
            restart=submission.restart,
            checkpoint=submission.checkpoint_seconds,
            minimum=submission.minimum,
            fails_after=submission.fails_after,
        )
        job.pods = list(_pods_of(job, submission, cast, stamp))
        return job

    def _cast_of(self, submission: Submission) -> Cast:
        look: Look = (
            tuple(map(id, submission.roles)),
            submission.minimum,
            submission.queue,
            submission.priority_class,
            submission.topology,
        )
        known = self._casts.get(look)
        if known is None:
            known = self._casts[look] = self._make(submission)
        return known

    def _make(self, submission: Submission) -> Cast:
        parts = tuple(self._part_of(role, submission.priority_class) for role in submission.roles)
        requests: list[Mapping[str, int]] = []
        for part in parts:
            requests += [self._book.shapes.rows[part.shape]] * part.role.replicas
        return Cast(
            spec=pod_group_of(_as_volcano_job(submission), self._value_of_class).spec,
            parts=parts,
            size=self._book.sizes.number_of(total(requests)),
            roles=submission.roles,
        )

    def _part_of(self, role: Role, priority_class: str) -> Part:
        template = role.template.spec
        spec = replace(
            template,
            scheduler_name=template.scheduler_name or SCHEDULER,
            priority_class_name=template.priority_class_name or priority_class,
        )
        pod, problem = with_priority(default_pod(Pod(spec=spec)), self._classes)
        if problem:
            self._book.notes[problem] = None
        return Part(role, pod.spec, self._book.shapes.number_of(demand_of(pod)[0]))

    def _enter(self, submission: Submission, cast: Cast, now: float) -> int:
        spans = [submission.run_seconds if r.run_seconds is None else r.run_seconds for r in cast.roles]
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
            network_topology=submission.topology,
            tasks=tasks,
        ),
    )


def _group_of(submission: Submission, cast: Cast, stamp: datetime) -> PodGroup:
    meta = ObjectMeta(
        name=submission.name,
        namespace=submission.namespace,
        uid=submission.key,
        labels=dict(submission.labels),
        annotations=dict(submission.annotations),
        creation_timestamp=stamp,
    )
    return PodGroup(metadata=meta, spec=cast.spec)


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
