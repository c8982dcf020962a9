"""Messages: why a task or a job is where it is, in the words that Volcano writes into conditions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from hekla.model.job import Job
from hekla.model.status import Status
from hekla.model.task import Attempt, Task

SCHEDULABLE = "Schedulable"
UNSCHEDULABLE = "Unschedulable"


def progress_of(task: Task) -> Attempt:
    """How far the task got: in the attempt that was undone last, else as it stands."""
    return task.last or Attempt(task.status, task.node, task.evicted)


def reason_of(job: Job, task: Task, node_names: Sequence[str]) -> tuple[str, str]:
    """Reason and message for one task that does not run yet; the message may be empty."""
    progress = progress_of(task)
    if progress.status is Status.ALLOCATED:
        return SCHEDULABLE, _possible(task, node_names[progress.node], "")
    if progress.status is Status.PIPELINED:
        return UNSCHEDULABLE, _possible(task, node_names[progress.node], "resource is released and ")
    if progress.status is Status.PENDING:
        entry = job.fit_errors.get(task.uid)
        return UNSCHEDULABLE, "" if entry is None else str(entry)
    return spoken(progress.status), ""


def _possible(task: Task, node: str, condition: str) -> str:
    return f"pod {task.key} can possibly be assigned to {node}, once {condition}minAvailable is satisfied"


def status_line(job: Job) -> str:
    """One line on the whole job: ready or not, how many tasks are where, and one reason as a sample."""
    state = "pod group is ready" if job.roster.is_ready else "pod group is not ready"
    counts = histogram(spoken(task.status) for task in job.tasks.values())
    line = f"{state}, " + ", ".join(sorted([*counts, f"{job.minimum} minAvailable"]))
    pending = job.roster.having(Status.PENDING).values()
    if pending:
        reasons = histogram(_reason_word(task) for task in pending)
        line += "; Pending: " + ", ".join(sorted(reasons))
    if job.fit_errors:
        uid = min(job.fit_errors)
        line += f". Origin reason is {job.tasks[uid].name}: {job.fit_errors[uid]}"
    return line


def _reason_word(task: Task) -> str:
    return SCHEDULABLE if progress_of(task).status is Status.ALLOCATED else UNSCHEDULABLE


def histogram(words: Iterable[str]) -> list[str]:
    return [f"{count} {word}" for word, count in Counter(words).items()]


def spoken(status: Status) -> str:
    return status.name.capitalize()
