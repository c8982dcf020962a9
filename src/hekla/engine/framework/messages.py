"""Messages: why a task or a job is where it is, in the words that Volcano writes into conditions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from hekla.engine.model.job import Job
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task, UndonePlacement
from hekla.objects import Condition

SCHEDULABLE = "Schedulable"
UNSCHEDULABLE = "Unschedulable"
ROOM_FOR_A_PART = "room for"
"""How it begins that only a part of a gang found places."""
SPOKEN = tuple(status.name.capitalize() for status in Status)
"""How a status is called in messages."""

_WHAT_IS_LEFT = re.compile(r"(\(asked [^,()]+), left [^()]+\)")


def progress_of(task: Task) -> UndonePlacement:
    """How far the task got: in the attempt that was undone last, else as it stands."""
    return task.last or UndonePlacement(task.status, task.node, task.evicted)


def furthest(task: Task) -> Status:
    """The status alone of that."""
    return task.status if task.last is None else task.last.status


def reason_of(job: Job, task: Task, node_names: Sequence[str]) -> tuple[str, str]:
    """Reason and message for one task that does not run yet; the message may be empty."""
    if task.last is None and task.status is Status.PENDING:
        entry = job.objections.get(task.uid) or job.fit_errors.get(task.uid)
        return UNSCHEDULABLE, "" if entry is None else str(entry)
    progress = progress_of(task)
    if progress.status is Status.ALLOCATED:
        return SCHEDULABLE, _possible(task, node_names[progress.node], "")
    if progress.status is Status.PIPELINED:
        return UNSCHEDULABLE, _possible(task, node_names[progress.node], "resource is released and ")
    return SPOKEN[progress.status], ""


def _possible(task: Task, node: str, condition: str) -> str:
    return f"pod {task.key} can possibly be assigned to {node}, once {condition}minAvailable is satisfied"


def shortage(resource: str, asked: str, left: str, limit: str) -> str:
    """What a limit has too little of: `cpu (asked 4, left 1.5 of 12)`."""
    return f"{resource} (asked {asked}, left {left} of {limit})"


@lru_cache(maxsize=4096)
def without_what_is_left(message: str) -> str:
    """What a message says as long as its reasons stay the same; what is left changes with every cycle."""
    return _WHAT_IS_LEFT.sub(r"\1)", message)


def said(condition: Condition) -> tuple[str, str, str, str]:
    """What makes a condition news; amounts that change with every cycle do not."""
    return condition.type, condition.status, condition.reason, without_what_is_left(condition.message)


def unschedulable(message: str) -> Condition:
    """The condition of a PodGroup that cannot start."""
    return Condition(type=UNSCHEDULABLE, status="True", reason="NotEnoughResources", message=message)


def waits_for_admission(job: Job) -> str:
    return f'waits to be admitted to queue "{job.queue}"'


def status_line(job: Job) -> str:
    """One line on the whole job: ready or not, how many tasks are where, and one reason as a sample."""
    state = "pod group is ready" if job.roster.has_places else "pod group is not ready"
    line = f"{state}, " + ", ".join(sorted([*counts_by_status(job), f"{job.minimum} minAvailable"]))
    pending = job.roster.having(Status.PENDING)
    if pending:
        possible = sum([furthest(task) is Status.ALLOCATED for task in pending.values()])
        words = [(possible, SCHEDULABLE), (len(pending) - possible, UNSCHEDULABLE)]
        line += "; Pending: " + ", ".join(sorted(f"{count} {word}" for count, word in words if count))
    if gated := gated_tasks(job):
        line += f". {len(gated)} held back by {', '.join(gates_of(gated))}"
    reasons = {**job.fit_errors, **job.objections}
    if reasons:
        uid = min(reasons)
        line += f". Origin reason is {job.tasks[uid].name}: {reasons[uid]}"
    return line


def gated_tasks(job: Job) -> list[Task]:
    """The tasks that wait behind a scheduling gate; no scheduler places them."""
    return [task for task in job.roster.having(Status.PENDING).values() if task.is_gated]


def gates_of(tasks: Sequence[Task]) -> list[str]:
    """By what they are held back."""
    return sorted({gate.name for task in tasks for gate in task.pod.spec.scheduling_gates})


def counts_by_status(job: Job) -> list[str]:
    """How many tasks are where."""
    return [f"{len(tasks)} {SPOKEN[status]}" for status, tasks in job.roster.by_status() if tasks]
