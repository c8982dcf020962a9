"""Gang: a job starts whole or not at all, and is not broken once it runs."""

from __future__ import annotations

from collections.abc import Sequence

from hekla.engine.framework.messages import furthest, unschedulable
from hekla.engine.framework.plugin import Objection, Plugin, Resolve
from hekla.engine.framework.points import (
    JOB_ORDER,
    JOB_PIPELINED,
    JOB_READY,
    JOB_STARVING,
    JOB_VALID,
    PREEMPTABLE,
    RECLAIMABLE,
    SUB_JOB_ORDER,
    SUB_JOB_PIPELINED,
    SUB_JOB_READY,
    UNIFIED_EVICTABLE,
    Scope,
    answers,
)
from hekla.engine.framework.rules import Vote
from hekla.engine.model.job import Job, SubJob
from hekla.engine.model.status import ALLOCATED_SET, Status
from hekla.engine.model.task import Task
from hekla.objects import Condition


class Gang(Plugin):
    """All formulas are those of the roster; this says which of them answers which question."""

    name = "gang"
    resolve = Resolve.HARDENING
    requires_minimums = True

    @answers(JOB_VALID)
    def too_few_pods(self, job: Job) -> Objection | None:
        if job.role_minimums and not job.roles_valid():
            return Objection("NotEnoughPodsOfTask", "a role has fewer pods than its minimum")
        if job.has_policies and not job.sub_jobs_suffice(lambda _sub_job: True):
            return Objection(
                "NotEnoughPodsOfTask", "a sub-group policy has fewer sub-groups than its minimum"
            )
        if job.roster.valid < job.minimum:
            lacking = f"{job.roster.valid} valid pods, {job.minimum} needed"
            return Objection("NotEnoughTasks", f"not enough pods for the gang: {lacking}")
        return None

    @answers(JOB_ORDER, Scope.JOB)
    def unready_jobs_first(self, job: Job) -> bool:
        return job.roster.is_ready

    @answers(SUB_JOB_ORDER)
    def unready_sub_jobs_first(self, sub_job: SubJob) -> bool:
        return sub_job.roster.is_ready

    @answers(JOB_READY)
    def has_its_minimum(self, job: Job) -> bool:
        return (
            job.roster.is_ready
            and (not job.role_minimums or job.roles_ready())
            and (not job.has_policies or job.sub_jobs_suffice(lambda sub_job: sub_job.roster.is_ready))
        )

    @answers(SUB_JOB_READY)
    def sub_job_has_its_minimum(self, _job: Job, sub_job: SubJob) -> bool:
        return sub_job.roster.is_ready

    @answers(JOB_PIPELINED)
    def will_have_its_minimum(self, job: Job) -> Vote:
        suffices = (
            job.roster.is_pipelined
            and job.roles_pipelined()
            and job.sub_jobs_suffice(lambda sub_job: sub_job.roster.is_pipelined)
        )
        return Vote.PERMIT if suffices else Vote.REJECT

    @answers(SUB_JOB_PIPELINED)
    def sub_job_will_have_its_minimum(self, _job: Job, sub_job: SubJob) -> Vote:
        return Vote.PERMIT if sub_job.roster.is_pipelined else Vote.REJECT

    @answers(JOB_STARVING)
    def is_short_of_its_minimum(self, job: Job) -> bool:
        return job.roster.is_starving

    @answers(PREEMPTABLE)
    @answers(RECLAIMABLE)
    def surplus_of_gangs(self, _initiator: Task, candidates: Sequence[Task]) -> list[Task]:
        """Tasks that their gang can do without, first come first served."""
        left: dict[str, int] = {}
        victims: list[Task] = []
        for task in candidates:
            spare = left.get(task.job)
            if spare is None:
                job = self.session.jobs.get(task.job)
                spare = 0 if job is None else job.roster.ready - job.minimum
            if spare > 0:
                victims.append(task)
            left[task.job] = spare - 1
        return victims

    @answers(UNIFIED_EVICTABLE)
    def anybody(self, _context: object, candidates: Sequence[Task]) -> list[Task]:
        """Actions that evict gang by gang weigh whole gangs themselves."""
        return list(candidates)

    def on_close(self) -> None:
        """Every job with enough tasks learns whether its gang could be scheduled.

        Volcano counts best-effort tasks that found no node as if they had one; see docs/compat.md.
        """
        for job in self.session.changed_jobs():
            if not job.roster:
                continue
            if job.roster.has_places:
                reason = "tasks in gang are ready to be scheduled"
                self._write(job, Condition(type="Scheduled", status="True", reason=reason))
            elif not job.is_being_made and not _waits_for_its_own_leavers(job):
                message = "" if self.session.is_quiet else self._why_unschedulable(job)
                self._write(job, unschedulable(message))

    def _why_unschedulable(self, job: Job) -> str:
        line = self.session.conditions.summary_of(job)
        return f"{_missing(job)}/{len(job.roster)} tasks in gang unschedulable: {line}"

    def _write(self, job: Job, condition: Condition) -> None:
        self.session.conditions.write(job, condition)


def _waits_for_its_own_leavers(job: Job) -> bool:
    """The gang is complete but for pods that are being taken down; that is no news."""
    roster = job.roster
    leaving = roster.releasing_on_nodes
    return (
        leaving > 0
        and not roster.having(Status.PENDING)
        and not roster.having(Status.PIPELINED)
        and roster.scheduled + leaving >= job.minimum
    )


def _missing(job: Job) -> int:
    """How many tasks the gang lacks, those not counted that had a place in an undone attempt."""
    nearly = sum([furthest(task) in ALLOCATED_SET for task in job.roster.having(Status.PENDING).values()])
    return job.minimum - job.roster.ready - nearly
