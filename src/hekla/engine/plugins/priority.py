"""Priority: what matters more goes first, and only what matters less may be evicted for it."""

from __future__ import annotations

from collections.abc import Sequence

from hekla.engine.framework.plugin import EvictionContext, Plugin, Resolve
from hekla.engine.framework.points import (
    JOB_ORDER,
    JOB_STARVING,
    PREEMPTABLE,
    SUB_JOB_ORDER,
    TASK_ORDER,
    UNIFIED_EVICTABLE,
    Scope,
    answers,
)
from hekla.engine.model.job import Job, SubJob
from hekla.engine.model.task import Task

GANG_RECLAIM = "gangreclaim"


class Priority(Plugin):
    """Higher values first, for jobs, sub-jobs and tasks."""

    name = "priority"
    resolve = Resolve.HARDENING

    @answers(TASK_ORDER)
    def important_tasks_first(self, task: Task) -> int:
        return -task.priority

    @answers(JOB_ORDER, Scope.JOB)
    def important_jobs_first(self, job: Job) -> int:
        return -job.priority

    @answers(SUB_JOB_ORDER)
    def important_sub_jobs_first(self, sub_job: SubJob) -> int:
        return -sub_job.priority

    @answers(JOB_STARVING)
    def lacks_tasks(self, job: Job) -> bool:
        return job.roster.ready + job.roster.waiting < len(job.roster)

    @answers(PREEMPTABLE)
    def less_important(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        """Between jobs the jobs are compared, inside one job the tasks; equals are safe."""
        jobs = self.session.jobs
        mine = jobs.get(preemptor.job)
        if mine is None:
            return []
        return [
            task
            for task in candidates
            if (theirs := jobs.get(task.job)) is not None
            and (task.priority < preemptor.priority if theirs is mine else theirs.priority < mine.priority)
        ]

    @answers(UNIFIED_EVICTABLE)
    def of_less_important_jobs(self, context: EvictionContext, candidates: Sequence[Task]) -> list[Task]:
        """What queues give back to each other is not a matter of importance."""
        if context.kind == GANG_RECLAIM:
            return list(candidates)
        jobs, limit = self.session.jobs, context.job.priority
        return [task for task in candidates if task.job in jobs and jobs[task.job].priority < limit]
