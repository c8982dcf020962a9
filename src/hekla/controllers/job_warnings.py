"""Warnings about Jobs: what is allowed, but hardly meant."""

from __future__ import annotations

from collections.abc import Iterator

from hekla.controllers.problems import Problem
from hekla.controllers.usage import is_counted, minimum_of
from hekla.objects import VolcanoJob
from hekla.objects.batch import JobSpec, TaskSpec


def warnings_of_job(job: VolcanoJob) -> list[Problem]:
    """Why the Job may not do what its user expects; it comes in all the same."""
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
