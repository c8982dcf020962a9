"""Admission of changes to a Job: it may be scaled and re-prioritised, nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from hekla.controllers.job_admission import problems_of_partitions
from hekla.controllers.problems import Problem, problems_of_topology
from hekla.controllers.usage import is_counted, minimum_of
from hekla.objects import VolcanoJob
from hekla.objects.batch import JobSpec, TaskSpec


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


def warnings_of_job(job: VolcanoJob) -> list[Problem]:
    """What is allowed, but hardly meant."""
    limits_only = (
        Problem(
            f"spec.tasks[{i}].template.spec", "limits without requests do not count when the job is admitted"
        )
        for i, task in enumerate(job.spec.tasks)
        if has_limits_only(task)
    )
    return [*limits_only, *_warnings_of_dependencies(job.spec)]


def has_limits_only(task: TaskSpec) -> bool:
    """Whether a container is limited in something it does not ask for."""
    return any(
        is_counted(name) and name not in container.resources.requests
        for container in task.template.spec.containers
        for name in container.resources.limits
    )


def _warnings_of_dependencies(spec: JobSpec) -> Iterator[Problem]:
    """A gang waits for all its pods, and a dependent task for the gang: together they wait for ever."""
    dependent = [task for task in spec.tasks if task.depends_on is not None and task.depends_on.name]
    if not dependent:
        return
    free = sum(task.replicas for task in spec.tasks if task not in dependent)
    minimums_bind = spec.min_available >= sum(map(minimum_of, spec.tasks))
    if spec.min_available > free or (minimums_bind and any(map(minimum_of, dependent))):
        message = (
            "the job needs pods of tasks that wait for others, and will never start as a gang;"
            " give the dependent tasks minAvailable 0, or lower the job's minAvailable"
        )
        yield Problem("spec.tasks", message)
