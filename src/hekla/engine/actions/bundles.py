"""Bundles: tasks of one job that a gang-aware action would evict together.

A *safe* bundle leaves the job's gang alive; a *whole* one breaks it, so it costs all the job has.
"""

from __future__ import annotations

from collections import Counter
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

    def efficiency(self, need: Amounts) -> float:
        """How much of the need it meets for what it costs: nothing if the gang lives on, else all of it."""
        if self.is_safe:
            return float("inf")
        asked = need > 0
        gained = (np.minimum(total_of(self.tasks), need)[asked] / need[asked]).sum()
        lost = (total_of(self.job.tasks.values())[asked] / need[asked]).sum()
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
    parts: dict[bool, list[Task]] = {True: [], False: []}
    for task in tasks:
        parts[spare.takes(task)].append(task)
    return [Bundle(job, tuple(part), is_safe) for is_safe, part in parts.items() if part]


class Spare:
    """What a running gang can still give up: in all, of each role, and of each group of sub-jobs."""

    def __init__(self, session: Session, job: Job) -> None:
        minimums = job.role_minimums if job.checks_roles else {}
        self._left = job.roster.ready - job.minimum
        self._of_role = {
            role: job.roster.role_count(role, READY_SET, best_effort=True) - least
            for role, least in minimums.items()
            if least > 0
        }
        sub_jobs = job.sub_jobs.values() if job.has_policies else ()
        self._group_of = {one.uid: one.group for one in sub_jobs if session.sub_job_is_ready(job, one)}
        """By UID of the sub-jobs that are ready and would break."""
        self._of_group = Counter(self._group_of.values())
        for policy in job.pod_group.spec.sub_group_policy:
            self._of_group[f"{job.uid}/{policy.name}"] -= policy.min_sub_groups or 0

    def takes(self, task: Task) -> bool:
        """Count the task as given up, where that leaves the gang alive."""
        group = self._group_of.get(task.sub_job)
        group_is_alive = group is None or self._of_group[group] > 0
        if self._left <= 0 or self._of_role.get(task.role, 1) <= 0 or not group_is_alive:
            return False
        self._left -= 1
        if task.role in self._of_role:
            self._of_role[task.role] -= 1
        if group is not None:
            # The sub-job is broken by this; losing more of it costs its group nothing.
            self._of_group[group] -= 1
            del self._group_of[task.sub_job]
        return True
