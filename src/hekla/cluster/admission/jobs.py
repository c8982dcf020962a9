"""Admission of Jobs: what is filled in, what is refused, and which changes are allowed later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from hekla.cluster.admission.problems import (
    Problem,
    is_dns_subdomain,
    is_qualified_name,
    problem_of_policies,
    problems_of_numa,
    problems_of_template,
    problems_of_topology,
)
from hekla.controllers.expand import min_member_of
from hekla.controllers.ports import KNOWN_PLUGINS, argument
from hekla.controllers.queue_tree import ROOT, has_children, is_open
from hekla.controllers.usage import minimum_of
from hekla.objects import Queue, VolcanoJob
from hekla.objects.batch import JobSpec, JobVolume, TaskSpec
from hekla.objects.complaint import known_ones
from hekla.objects.keys import DEFAULT_QUEUE, DEFAULT_SCHEDULER

DEFAULT_RETRIES = 3

_NEEDS_SERVICES = ("tensorflow", "mpi", "pytorch", "ray")


def default_job(job: VolcanoJob, scheduler_name: str = DEFAULT_SCHEDULER) -> VolcanoJob:
    """The Job with everything filled in that its user left open, and that scheduling reads."""
    spec = job.spec
    tasks = tuple(_default_task(i, task) for i, task in enumerate(spec.tasks))
    return replace(
        job,
        spec=replace(
            spec,
            queue=spec.queue or DEFAULT_QUEUE,
            scheduler_name=spec.scheduler_name or scheduler_name,
            max_retry=spec.max_retry or DEFAULT_RETRIES,
            tasks=tasks,
            min_available=spec.min_available or sum(map(minimum_of, tasks)),
            plugins=_default_plugins(spec.plugins),
        ),
    )


def _default_task(position: int, task: TaskSpec) -> TaskSpec:
    return replace(
        task,
        name=task.name or f"default{position}",
        min_available=min_member_of(task),
        max_retry=task.max_retry or DEFAULT_RETRIES,
    )


def _default_plugins(plugins: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Frameworks that talk over the network bring the plugins that let them."""
    added: dict[str, tuple[str, ...]] = {}
    if any(name in plugins for name in _NEEDS_SERVICES):
        added["svc"] = ()
    if "mpi" in plugins:
        added["ssh"] = ()
    return added | dict(plugins)


def problems_of_job(job: VolcanoJob, queues: Mapping[str, Queue]) -> list[Problem]:
    """Why a new Job, defaults filled in, must be refused; empty if it may come in."""
    spec = job.spec
    if not spec.tasks:
        return [Problem("spec.tasks", "no task; give at least one")]
    if problem := _problem_of_mpi(job):
        return [problem]
    return [
        *problems_of_topology("spec.networkTopology", spec.network_topology),
        *_problems_of_tasks(job),
        *problem_of_policies("spec.policies", spec.policies),
        *_problems_of_name(job),
        *_problems_of_minimum(spec),
        *_problems_of_plugins(spec),
        *_problem_of_volumes(spec.volumes),
        *problem_of_jobs_queue(spec.queue, queues),
        *_problems_of_dependencies(spec.tasks),
    ]


def _problem_of_mpi(job: VolcanoJob) -> Problem | None:
    if "mpi" not in job.spec.plugins:
        return None
    master = argument(job, "mpi", "master", "master")
    if any(task.name == master for task in job.spec.tasks):
        return None
    return Problem("spec.plugins.mpi", f'no task "{master}", which the plugin takes as its master')


def _problems_of_tasks(job: VolcanoJob) -> Iterator[Problem]:
    names: set[str] = set()
    for i, task in enumerate(job.spec.tasks):
        path = f"spec.tasks[{i}]"
        if task.replicas < 0:
            yield Problem(f"{path}.replicas", f'"{task.replicas}" is negative')
        if task.min_available is not None and task.min_available > task.replicas:
            message = f'"{task.min_available}" is above the "{task.replicas}" replicas'
            yield Problem(f"{path}.minAvailable", message)
        if task.name in names:
            yield Problem(f"{path}.name", f'there are two tasks "{task.name}"')
            return
        names.add(task.name)
        yield from problem_of_policies(f"{path}.policies", task.policies)
        yield from _problems_of_pods(job, i, task)
        yield from problems_of_partitions(path, task)


def _problems_of_pods(job: VolcanoJob, position: int, task: TaskSpec) -> Iterator[Problem]:
    path, name = f"spec.tasks[{position}]", f"{job.metadata.name}-{task.name}-{position}"
    if not is_qualified_name(name):
        yield Problem(f"{path}.name", f'"{name}" is no name for a pod; 63 characters are the limit')
    template = task.template.spec
    yield from problems_of_template(f"{path}.template.spec", template)
    if task.topology_policy not in ("", "none"):
        yield from problems_of_numa(f"{path}.template.spec", template)


def problems_of_partitions(path: str, task: TaskSpec) -> Iterator[Problem]:
    """The first thing that does not add up in the partitions of a task."""
    policy = task.partition_policy
    if policy is None:
        return
    path = f"{path}.partitionPolicy"
    yield from problems_of_topology(f"{path}.networkTopology", policy.network_topology)
    total, size = policy.total_partitions, policy.partition_size
    least = policy.min_partitions * size
    if total <= 0:
        yield Problem(f"{path}.totalPartitions", f'"{total}" is not above 0')
    elif size <= 0:
        yield Problem(f"{path}.partitionSize", f'"{size}" is not above 0')
    elif task.replicas != total * size:
        message = f'"{total}" partitions of "{size}" do not make "{task.replicas}" replicas'
        yield Problem(path, message)
    elif policy.min_partitions > 0 and task.min_available != least:
        yield Problem(path, f'minAvailable "{task.min_available}" is not minPartitions x size, "{least}"')


def _problems_of_name(job: VolcanoJob) -> Iterator[Problem]:
    if not is_qualified_name(job.metadata.name):
        message = f'"{job.metadata.name}" is no name for a job; 63 characters are the limit'
        yield Problem("metadata.name", message)


def _problems_of_minimum(spec: JobSpec) -> Iterator[Problem]:
    total = sum(task.replicas for task in spec.tasks)
    if spec.min_available > total:
        yield Problem(
            "spec.minAvailable", f'"{spec.min_available}" is above the "{total}" replicas of all tasks'
        )
    if spec.min_available < 0:
        yield Problem("spec.minAvailable", f'"{spec.min_available}" is negative')


def _problems_of_plugins(spec: JobSpec) -> Iterator[Problem]:
    for name in spec.plugins:
        if name not in KNOWN_PLUGINS:
            message = f'no job plugin "{name}"; known plugins: {", ".join(KNOWN_PLUGINS)}'
            yield Problem(f"spec.plugins.{name}", message)


def _problem_of_volumes(volumes: tuple[JobVolume, ...]) -> Iterator[Problem]:
    """The first problem of the list."""
    paths: set[str] = set()
    for i, volume in enumerate(volumes):
        if message := _complaint_about(volume, paths):
            yield Problem(f"spec.volumes[{i}]", message)
            return
        paths.add(volume.mount_path)


def _complaint_about(volume: JobVolume, paths: set[str]) -> str:
    if not volume.mount_path:
        return "no mountPath"
    if volume.mount_path in paths:
        return f'two volumes are mounted at "{volume.mount_path}"'
    if volume.volume_claim is None and not volume.volume_claim_name:
        return "neither volumeClaim nor volumeClaimName is given"
    if volume.volume_claim is not None and volume.volume_claim_name:
        return "volumeClaim and volumeClaimName are both given; keep one"
    if volume.volume_claim_name and not is_dns_subdomain(volume.volume_claim_name):
        return f'"{volume.volume_claim_name}" is no name for a claim'
    return ""


def problem_of_jobs_queue(name: str, queues: Mapping[str, Queue]) -> Iterator[Problem]:
    """Why jobs may not be submitted to the queue, if they may not."""
    queue, path = queues.get(name), "spec.queue"
    if queue is None:
        yield Problem(path, f'no queue "{name}"{known_ones(name, queues, "queues")}')
    elif not is_open(queue):
        yield Problem(path, f'queue "{name}" is "{queue.status.state}"; only an open queue takes jobs')
    elif name == ROOT:
        yield Problem(path, f'queue "{ROOT}" takes no jobs; use a queue below it')
    elif has_children(name, queues):
        yield Problem(path, f'queue "{name}" has queues below it; only a leaf takes jobs')


def _problems_of_dependencies(tasks: tuple[TaskSpec, ...]) -> Iterator[Problem]:
    needs = {task.name: task.depends_on.name for task in tasks if task.depends_on is not None}
    names = {task.name for task in tasks}
    for task, wanted in needs.items():
        for name in wanted:
            if name not in names:
                yield Problem("spec.tasks", f'task "{task}" depends on "{name}", which does not exist')
            elif wanted.count(name) > 1:
                yield Problem("spec.tasks", f'task "{task}" depends on "{name}" twice')
                break
    if any(_reaches(task, task, needs, set()) for task in needs):
        yield Problem("spec.tasks", "tasks depend on each other in a circle")


def _reaches(start: str, goal: str, needs: Mapping[str, tuple[str, ...]], seen: set[str]) -> bool:
    for name in needs.get(start, ()):
        if name == goal:
            return True
        if name not in seen:
            seen.add(name)
            if _reaches(name, goal, needs, seen):
                return True
    return False


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
