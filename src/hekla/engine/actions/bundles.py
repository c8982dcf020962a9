"""Bundles: tasks of one job that a gang-aware action would evict together.

A *safe* bundle leaves the job's gang alive; a *whole* one breaks it, so it costs all the job has.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Amounts
from hekla.engine.model.job import Job
from hekla.engine.model.status import READY_SET
from hekla.engine.model.task import Task


@dataclass(frozen=True, eq=False)
class Bundle:
    job: Job
    tasks: tuple[Task, ...]
    is_safe: bool

    @property
    def gain(self) -> Amounts:
        """What evicting it frees."""
        return total_of(self.tasks)

    @property
    def cost(self) -> Amounts:
        """What is lost: nothing of a gang that lives on, all of one that does not."""
        return total_of(()) if self.is_safe else total_of(self.job.tasks.values())

    def efficiency(self, need: Amounts) -> float:
        """How much of the need it meets for what it costs."""
        asked = need > 0
        if self.is_safe:
            return float("inf")
        gained = (np.minimum(self.gain, need)[asked] / need[asked]).sum()
        lost = (self.cost[asked] / need[asked]).sum()
        return float(gained / lost) if lost else float("inf")


def total_of(tasks: Iterable[Task]) -> Amounts:
    vectors = [task.vector for task in tasks]
    return np.sum(vectors, axis=0, dtype=np.int64) if vectors else np.zeros(1, dtype=np.int64)


def bundles_of(session: Session, job: Job, candidates: Iterable[Task]) -> list[Bundle]:
    """The job's candidates, split into those its gang can do without and the rest."""
    tasks = sorted(candidates, key=lambda task: (task.priority, task.uid))
    if job.roster.ready < job.minimum:
        return [Bundle(job, tuple(tasks), is_safe=True)]
    spare = Spare(session, job)
    safe = [task for task in tasks if spare.takes(task)]
    rest = [task for task in tasks if task not in safe]
    parts = (Bundle(job, tuple(safe), is_safe=True), Bundle(job, tuple(rest), is_safe=False))
    return [bundle for bundle in parts if bundle.tasks]


class Spare:
    """What a running gang can still give up: in all, of each role, and of each group of sub-jobs."""

    def __init__(self, session: Session, job: Job) -> None:
        self._session = session
        self._job = job
        self._left = job.roster.ready - job.minimum
        self._of_role: dict[str, int] = {}
        self._of_group: dict[str, int] = {}
        self._broken: set[str] = set()

    def takes(self, task: Task) -> bool:
        """Count the task as given up, where that leaves the gang alive."""
        if self._left <= 0 or not self._role_can(task) or not self._group_can(task):
            return False
        self._left -= 1
        if task.role in self._of_role:
            self._of_role[task.role] -= 1
        self._break(task)
        return True

    def _role_can(self, task: Task) -> bool:
        job = self._job
        least = job.role_minimums.get(task.role, 0)
        if not job.checks_roles or least <= 0:
            return True
        if task.role not in self._of_role:
            ready = job.roster.role_count(task.role, READY_SET, best_effort=True)
            self._of_role[task.role] = ready - least
        return self._of_role[task.role] > 0

    def _group_can(self, task: Task) -> bool:
        """A sub-job that is broken already, or never was ready, costs its group nothing more."""
        if not self._job.has_policies or not self._would_break(task):
            return True
        group = self._job.sub_jobs[task.sub_job].group
        if group not in self._of_group:
            ready = sum(
                sub_job.group == group and self._session.sub_job_is_ready(self._job, sub_job)
                for sub_job in self._job.sub_jobs.values()
            )
            self._of_group[group] = ready - self._least_of(group)
        return self._of_group[group] > 0

    def _would_break(self, task: Task) -> bool:
        sub_job = self._job.sub_jobs[task.sub_job]
        return sub_job.uid not in self._broken and self._session.sub_job_is_ready(self._job, sub_job)

    def _break(self, task: Task) -> None:
        if self._job.has_policies and self._would_break(task):
            self._broken.add(task.sub_job)
            self._of_group[self._job.sub_jobs[task.sub_job].group] -= 1

    def _least_of(self, group: str) -> int:
        for policy in self._job.pod_group.spec.sub_group_policy:
            if f"{self._job.uid}/{policy.name}" == group:
                return policy.min_sub_groups or 0
        return 0
