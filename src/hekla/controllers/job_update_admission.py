"""Admission of changes to a Job: it may be scaled and re-prioritised, nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from hekla.controllers.job_admission import problems_of_partitions
from hekla.controllers.problems import Problem, problems_of_topology
from hekla.controllers.usage import minimum_of
from hekla.objects import VolcanoJob
from hekla.objects.batch import JobSpec


def problems_of_job_update(before: VolcanoJob, after: VolcanoJob) -> list[Problem]:
    """Why the change must be refused; metadata may change freely."""
    problems = [
        *_problems_of_scale(after.spec),
        *problems_of_topology("spec.networkTopology", after.spec.network_topology),
    ]
    if len(before.spec.tasks) != len(after.spec.tasks):
        problems.append(Problem("spec.tasks", "tasks cannot be added or removed"))
    elif _immutable_part(before.spec) != _immutable_part(after.spec):
        message = "only minAvailable, priorityClassName and the replicas and minAvailable of tasks may change"
        problems.append(Problem("spec", message))
    return problems


def _problems_of_scale(spec: JobSpec) -> Iterator[Problem]:
    for i, task in enumerate(spec.tasks):
        path = f"spec.tasks[{i}]"
        if task.replicas < 0:
            yield Problem(f"{path}.replicas", f'"{task.replicas}" is negative')
        if not 0 <= minimum_of(task) <= task.replicas:
            message = f'"{task.min_available}" is not between 0 and the "{task.replicas}" replicas'
            yield Problem(f"{path}.minAvailable", message)
        yield from problems_of_partitions(path, task)
    total = sum(task.replicas for task in spec.tasks)
    if not 0 <= spec.min_available <= total:
        message = f'"{spec.min_available}" is not between 0 and the "{total}" replicas of all tasks'
        yield Problem("spec.minAvailable", message)


def _immutable_part(spec: JobSpec) -> JobSpec:
    tasks = tuple(replace(task, replicas=0, min_available=None) for task in spec.tasks)
    return replace(spec, min_available=0, priority_class_name="", tasks=tasks)
