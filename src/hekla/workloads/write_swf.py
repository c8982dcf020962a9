"""Standard Workload Format out of a workload: processors, memory, users, queues; the rest is lost."""

from __future__ import annotations

from collections import Counter
from math import ceil, isinf
from typing import TextIO

from hekla.objects import Queue
from hekla.objects.quantity import exact, whole
from hekla.workloads.model import Role, Submission, Workload

UNKNOWN = -1


def write_swf(workload: Workload, file: TextIO) -> Counter[str]:
    """One line per job; gives back what the format has no words for, by how often it was left out."""
    lost: Counter[str] = Counter()
    queues = {"default": 0}
    for manifest in workload.objects:
        if isinstance(manifest, Queue):
            queues.setdefault(manifest.metadata.name, len(queues))
        else:
            lost[f"a {type(manifest).__name__}"] += 1
    if workload.faults:
        lost["a fault"] += len(workload.faults)
    file.write("; Version: 2.2\n; Computer: hekla\n")
    file.writelines(f"; Queue: {number} {name}\n" for name, number in queues.items())
    users: dict[str, int] = {}
    for number, job in enumerate(workload.jobs(), start=1):
        count_lost(job, lost)
        user = users.setdefault(job.user, len(users) + 1) if job.user else UNKNOWN
        queue = queues.setdefault(job.queue, len(queues))
        file.write(" ".join(map(written, row_of(number, job, user, queue))) + "\n")
    return lost


def row_of(number: int, job: Submission, user: int, queue: int) -> tuple[float, ...]:
    processors = sum(map(processors_of, job.roles))
    memory = sum(memory_of(role) for role in job.roles)
    per_processor = ceil(memory / 1024 / processors) if memory and processors else UNKNOWN
    runs = UNKNOWN if isinf(job.run_seconds) else job.run_seconds
    estimate = UNKNOWN if job.estimate is None else job.estimate
    return (
        number, job.submitted, UNKNOWN, runs, processors, UNKNOWN, UNKNOWN, processors, estimate,
        per_processor, 1, user, UNKNOWN, UNKNOWN, queue, UNKNOWN, UNKNOWN, UNKNOWN,
    )  # fmt: skip


def processors_of(role: Role) -> int:
    """Whole processors; a pod that asks for a part of one has one."""
    return role.replicas * max(1, ceil(sum(exact(asked) for asked in _asked(role, "cpu"))))


def memory_of(role: Role) -> int:
    return role.replicas * sum(whole(asked) for asked in _asked(role, "memory"))


def _asked(role: Role, resource: str) -> list[str | int | float]:
    containers = role.template.spec.containers
    return [each.resources.requests[resource] for each in containers if resource in each.resources.requests]


def count_lost(job: Submission, lost: Counter[str]) -> None:
    others = {
        name
        for role in job.roles
        for container in role.template.spec.containers
        for name in container.resources.requests
    } - {"cpu", "memory"}
    for name in sorted(others):
        lost[f"a request for {name}"] += 1
    if job.priority_class:
        lost["a priority class"] += 1
    if job.after:
        lost["a job to wait for"] += 1
    if job.min_available is not None and job.min_available < job.pods:
        lost["a gang that may start with a part of its pods"] += 1


def written(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
