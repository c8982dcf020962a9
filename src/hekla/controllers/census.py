"""Census: how many pods of a Job are in which phase, in all and per task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec.structs import replace

from hekla.controllers.expand import task_of
from hekla.objects import Pod
from hekla.objects.batch import JobStatus, TaskState


def counted(status: JobStatus, pods: Iterable[Pod], terminating: int) -> JobStatus:
    """The status with the counters of these pods; those on their way out count as terminating only."""
    by_phase: Counter[str] = Counter()
    by_task: dict[str, Counter[str]] = {}
    for pod in pods:
        by_phase[pod.status.phase] += 1
        by_task.setdefault(task_of(pod), Counter())[pod.status.phase] += 1
    known = ("Pending", "Running", "Succeeded", "Failed")
    return replace(
        status,
        pending=by_phase["Pending"],
        running=by_phase["Running"],
        succeeded=by_phase["Succeeded"],
        failed=by_phase["Failed"],
        unknown=sum(count for phase, count in by_phase.items() if phase not in known),
        terminating=terminating,
        task_status_count={task: TaskState(phase=dict(counts)) for task, counts in by_task.items()},
    )
