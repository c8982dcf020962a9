"""What is left to place of a job, by kind of task; pods to come are read off the Job's templates."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import numpy as np

from hekla.engine.explain.shortfalls import GangDemand, TaskDemand, gang_of_kinds
from hekla.engine.framework.session import Session
from hekla.engine.ledger.demand import minimum_of
from hekla.engine.model.job import Job
from hekla.engine.model.status import Status
from hekla.engine.model.task import RequestShape, Task, task_of
from hekla.objects import ObjectMeta, Pod, VolcanoJob
from hekla.objects.batch import TaskSpec
from hekla.objects.keys import GROUP_NAME, TASK_SPEC


def left_to_place(session: Session, job: Job) -> GangDemand:
    """Tasks behind gates included; where no pod is known, what the PodGroup asks for as a whole."""
    if job.roster:
        return _gang_of(session, job, job.roster.having(Status.PENDING).values())
    kinds = list(_kinds_to_come(session, job))
    if not kinds:
        return GangDemand((), 1, np.array(minimum_of(session, job), dtype=np.int64))
    count = min(max(job.minimum, 1), sum(kind.count for kind in kinds))
    return gang_of_kinds(kinds, count, len(session.axis))


def ungated(session: Session, job: Job) -> GangDemand:
    """Of the pods that exist, what may be placed now; no kinds where that is nothing."""
    pending = job.roster.having(Status.PENDING).values()
    return _gang_of(session, job, [task for task in pending if not is_held_back(task)])


def _gang_of(session: Session, job: Job, waiting: Collection[Task]) -> GangDemand:
    """Tasks that ask for nothing count towards the minimum while they wait, and are placed one by one."""
    asking = [task for task in waiting if not task.is_best_effort]
    missing = job.roster.missing - job.roster.waiting if asking else 1
    kinds = by_kind(session, asking or waiting)
    return gang_of_kinds(kinds, min(max(missing, 1), len(asking or waiting)), len(session.axis))


def is_held_back(task: Task) -> bool:
    """By a gate that the scheduler does not take off by itself."""
    return task.is_gated and not (task.has_only_queue_gate and task.opens_queue_gate)


def by_kind(session: Session, tasks: Iterable[Task]) -> list[TaskDemand]:
    alike: dict[int, list[Task]] = {}
    for task in tasks:
        alike.setdefault(session.scoring.key_of(task), []).append(task)
    return [TaskDemand(of_kind[0], len(of_kind), key) for key, of_kind in alike.items()]


def _kinds_to_come(session: Session, job: Job) -> Iterator[TaskDemand]:
    for spec in specs_of(session, job):
        if spec.replicas > 0:
            task = _task_to_come(session, job, spec)
            yield TaskDemand(task, spec.replicas, task.uid)


def specs_of(session: Session, job: Job) -> tuple[TaskSpec, ...]:
    """What the Job behind the PodGroup says of its tasks; nothing where no Job is known."""
    manifest = session.snapshot.state.all_manifests.find(VolcanoJob, f"{job.namespace}/{job.title}")
    return () if manifest is None or job.title == job.name else manifest.spec.tasks


def _task_to_come(session: Session, job: Job, spec: TaskSpec) -> Task:
    """A task of the template; resources that nothing in the cluster speaks of are left out of its vector."""
    template, axis = spec.template, session.axis
    notes = {**template.metadata.annotations, GROUP_NAME: job.name, TASK_SPEC: spec.name}
    name = f"{job.title}-{spec.name}"
    meta = ObjectMeta(
        name=name,
        namespace=job.namespace,
        uid=f"{job.uid}/{name}",
        labels=template.metadata.labels,
        annotations=notes,
    )
    task = task_of(Pod(metadata=meta, spec=template.spec))
    known = {resource: wanted for resource, wanted in task.request.items() if resource in axis.column_of}
    task.vector, task.asked = axis.vector(known), axis.compared(known)
    task.shape = RequestShape(task.vector, task.nonzero, task.asked, axis.pods, task.nonzero_on_node)
    return task
