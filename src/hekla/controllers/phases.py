"""Phases of a Job: ten names, four rules, and the table that says which action leads where.

      Pending ──► Running ──► Completed, Failed
         ▲           │ restart, resume
         └───── Restarting ◄──── Aborting, Aborted

Abort, complete and terminate pass through Aborting, Completing and Terminating until every pod is gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime
from enum import Enum, StrEnum, auto

import msgspec
from msgspec.structs import replace

from hekla.controllers.expand import task_of
from hekla.controllers.policy import TARGETED, PolicyAction
from hekla.controllers.usage import minimum_of
from hekla.objects import Pod, VolcanoJob
from hekla.objects.batch import JobCondition, JobStatus, TaskState


class Phase(StrEnum):
    PENDING = "Pending"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    ABORTING = "Aborting"
    ABORTED = "Aborted"
    COMPLETING = "Completing"
    COMPLETED = "Completed"
    TERMINATING = "Terminating"
    TERMINATED = "Terminated"
    FAILED = "Failed"


FINISHED = frozenset({Phase.COMPLETED, Phase.FAILED, Phase.TERMINATED})
END_OF = {
    Phase.ABORTING: Phase.ABORTED,
    Phase.COMPLETING: Phase.COMPLETED,
    Phase.TERMINATING: Phase.TERMINATED,
}
WAY_OUT = {
    PolicyAction.ABORT: Phase.ABORTING,
    PolicyAction.COMPLETE: Phase.COMPLETING,
    PolicyAction.TERMINATE: Phase.TERMINATING,
}

_PHASE_BY_NAME = {phase.value: phase for phase in Phase}

Rule = Callable[[VolcanoJob, JobStatus], JobStatus]
"""What becomes of the status once the pods have been counted."""


def phase_of(status: JobStatus) -> Phase:
    """The phase; a Job that has none yet, or none we know, is pending."""
    return _PHASE_BY_NAME.get(status.state.phase, Phase.PENDING)


def in_phase(status: JobStatus, phase: str) -> JobStatus:
    return replace(status, state=replace(status.state, phase=str(phase)))


def stamped(status: JobStatus, now: datetime) -> JobStatus:
    """The status as written now; the condition of the present phase moves to the end of the history."""
    phase = status.state.phase
    earlier = tuple(condition for condition in status.conditions if condition.status != phase)
    return replace(
        status,
        state=replace(status.state, last_transition_time=now),
        conditions=(*earlier, JobCondition(status=phase, last_transition_time=now)),
    )


def total_replicas(job: VolcanoJob) -> int:
    return sum(task.replicas for task in job.spec.tasks)


def keep(_job: VolcanoJob, status: JobStatus) -> JobStatus:
    return status


def enter(phase: Phase) -> Rule:
    return lambda _job, status: in_phase(status, phase)


def restart(_job: VolcanoJob, status: JobStatus) -> JobStatus:
    """Another run, which counts as a retry."""
    return in_phase(replace(status, retry_count=status.retry_count + 1), Phase.RESTARTING)


def resume_for_free(_job: VolcanoJob, status: JobStatus) -> JobStatus:
    return in_phase(status, Phase.RESTARTING)


def start_when_enough_run(job: VolcanoJob, status: JobStatus) -> JobStatus:
    """Rule of Pending. A Job that needs no pod runs before it has one."""
    started = status.running + status.succeeded + status.failed
    return in_phase(status, Phase.RUNNING) if job.spec.min_available <= started else status


def finish_when_all_ended(job: VolcanoJob, status: JobStatus) -> JobStatus:
    """Rule of Running."""
    total, spec = total_replicas(job), job.spec
    if total == 0:
        return status
    if spec.min_success is not None and status.succeeded >= spec.min_success:
        return in_phase(status, Phase.COMPLETED)
    if status.succeeded + status.failed == total:
        return in_phase(status, Phase.COMPLETED if has_succeeded(job, status) else Phase.FAILED)
    if status.pending > total - spec.min_available:
        return in_phase(status, Phase.PENDING)
    return status


def has_succeeded(job: VolcanoJob, status: JobStatus) -> bool:
    """Whether a Job whose pods have all ended has reached its minimums."""
    spec = job.spec
    if spec.min_available >= sum(minimum_of(task) for task in spec.tasks) and any(
        _succeeded(status.task_status_count[task.name]) < (task.min_available or 0)
        for task in spec.tasks
        if task.name in status.task_status_count
    ):
        return False
    return spec.min_success is None and status.succeeded >= spec.min_available


def _succeeded(task: TaskState) -> int:
    return task.phase.get("Succeeded", 0)


def has_no_retry_left(job: VolcanoJob, status: JobStatus) -> bool:
    return status.retry_count >= job.spec.max_retry


def is_last_retry(job: VolcanoJob) -> bool:
    return job.status.retry_count >= job.spec.max_retry - 1


def queue_again_when_gone(job: VolcanoJob, status: JobStatus) -> JobStatus:
    """Rule of Restarting."""
    if has_no_retry_left(job, status):
        return in_phase(status, Phase.FAILED)
    if total_replicas(job) - status.terminating >= status.min_available:
        return in_phase(status, Phase.PENDING)
    return status


def end_when_gone(_job: VolcanoJob, status: JobStatus) -> JobStatus:
    """Rule of Aborting, Completing and Terminating."""
    if status.terminating or status.pending or status.running:
        return status
    return in_phase(status, END_OF[phase_of(status)])


class PodScope(Enum):
    """Which pods an action kills."""

    NONE = auto()
    TARGETS = auto()
    ALL = auto()


class PhasePlan(msgspec.Struct, frozen=True):
    """How an action is carried out: which pods it kills, what it spares, and the rule that comes after."""

    scope: PodScope
    rule: Rule
    spares_finished: bool = True


def plan_for(job: VolcanoJob, action: str, *, resume_is_retry: bool = True) -> PhasePlan:
    """The row and column of the table: what the action means in the Job's phase."""
    phase = phase_of(job.status)
    if action == PolicyAction.RESUME and phase in (Phase.ABORTING, Phase.ABORTED):
        return PhasePlan(PodScope.ALL, restart if resume_is_retry else resume_for_free)
    if phase in END_OF:
        return PhasePlan(PodScope.ALL, end_when_gone)
    if phase in FINISHED or phase == Phase.ABORTED:
        return PhasePlan(PodScope.ALL, keep)
    if action in WAY_OUT:
        # Volcano forgets these while a Job restarts; a user who wants a Job stopped means it then, too.
        return PhasePlan(PodScope.ALL, enter(WAY_OUT[PolicyAction(action)]))
    if phase == Phase.RESTARTING:
        return _plan_while_restarting(job, action)
    if action == PolicyAction.RESTART:
        return PhasePlan(PodScope.ALL, restart, spares_finished=is_last_retry(job))
    if action in TARGETED:
        return PhasePlan(PodScope.TARGETS, restart)
    rule = start_when_enough_run if phase == Phase.PENDING else finish_when_all_ended
    return PhasePlan(PodScope.NONE, rule)


def _plan_while_restarting(job: VolcanoJob, action: str) -> PhasePlan:
    if action == PolicyAction.SYNC:
        return PhasePlan(PodScope.NONE, queue_again_when_gone)
    if action in TARGETED:
        return PhasePlan(PodScope.TARGETS, queue_again_when_gone)
    return PhasePlan(PodScope.ALL, queue_again_when_gone, spares_finished=is_last_retry(job))


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
