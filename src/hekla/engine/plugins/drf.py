"""Drf: the job with the smallest dominant share goes first, and nobody is evicted for a larger one.

A job's dominant share is the largest part it holds of any one resource. With `enableHierarchy`
queues are compared too, level by level (see `hdrf`).
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from hekla.engine.framework.plugin import Plugin, Resolve
from hekla.engine.framework.points import (
    JOB_ORDER,
    PREEMPTABLE,
    QUEUE_ORDER,
    RECLAIMABLE,
    AnyPoint,
    Scope,
    answers,
)
from hekla.engine.ledger.arrays import Amounts, Floats, Indices
from hekla.engine.model.job import Job
from hekla.engine.model.queue import Queue
from hekla.engine.model.task import Task
from hekla.engine.plugins.demand import largest_part
from hekla.engine.plugins.hdrf import ShareTree
from hekla.engine.state.live import LiveState

SHARE_TOLERANCE = 1e-6


class Held(dict[str, Amounts]):
    """What every job holds, by UID; a job's entry is made when it is first asked for."""

    def __init__(self, jobs: Mapping[str, Job]) -> None:
        super().__init__()
        self._jobs = jobs

    def __missing__(self, uid: str) -> Amounts:
        held = self[uid] = self._jobs[uid].held.copy()
        return held


def offers_of(state: LiveState) -> tuple[Indices, Floats, list[float]]:
    """The resources of which there is any, how much there is, and that for all resources in plain numbers."""
    total = state.nodes.total
    offered = np.flatnonzero(total > 0)
    return offered, total[offered].astype(np.float64), np.where(total > 0, total, np.inf).tolist()


class Drf(Plugin):
    """Keeps what every job holds; pipelined tasks count, evicted ones do not."""

    name = "drf"

    def on_open(self) -> None:
        session = self.session
        # In a tree of queues, what one gains may make another the poorer one.
        self.resolve = Resolve.NONE if self.hierarchical else Resolve.HARDENING
        self.offered, self.total, self._offers = session.snapshot.state.derived(offers_of)
        self.held = Held(session.jobs)
        self.share: dict[str, float] = {}
        if self.hierarchical:
            self.held.update({uid: job.held.copy() for uid, job in session.jobs.items()})
        self.tree = ShareTree(session, self.held, self.offered, self.total) if self.hierarchical else None

    def silent_on(self) -> Collection[AnyPoint]:
        return () if self.hierarchical else (QUEUE_ORDER, RECLAIMABLE)

    def share_of(self, held: Amounts) -> float:
        return largest_part(held.tolist(), self._offers)

    @answers(JOB_ORDER, Scope.JOB)
    def smallest_share_first(self, job: Job) -> float:
        """Worked out when asked for: jobs are compared far less often than tasks are placed."""
        share = self.share.get(job.uid)
        if share is None:
            share = self.share[job.uid] = self.share_of(self.held[job.uid])
        return share

    @answers(QUEUE_ORDER)
    def poorest_branch_first(self, left: Queue, right: Queue) -> float:
        assert self.tree is not None
        return self.tree.compare(left.name, right.name)

    @answers(PREEMPTABLE)
    def richer_jobs(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        """Tasks of jobs that stay at least as rich as the preemptor's would become."""
        if preemptor.job not in self.session.jobs:
            return []
        mine = self.share_of(self.held[preemptor.job] + preemptor.vector)
        left: dict[str, list[int]] = {}
        victims: list[Task] = []
        for task in candidates:
            if task.job not in self.session.jobs:
                continue
            # Every candidate counts as gone, taken or not: later ones of the job are judged poorer.
            before = left.get(task.job) or self.held[task.job].tolist()
            kept = left[task.job] = list(map(operator.sub, before, task.vector.tolist()))
            theirs = largest_part(kept, self._offers)
            if mine < theirs or abs(mine - theirs) <= SHARE_TOLERANCE:
                victims.append(task)
        return victims

    @answers(RECLAIMABLE)
    def tasks_of_richer_branches(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        assert self.tree is not None
        return self.tree.poorer_without(reclaimer, candidates)

    def on_allocate(self, task: Task) -> None:
        self._hold(task.job, task.vector)

    def on_allocate_all(self, tasks: Sequence[Task]) -> None:
        self._hold(tasks[0].job, len(tasks) * tasks[0].vector)

    def on_release(self, task: Task) -> None:
        self._hold(task.job, -task.vector)

    def job_shares(self) -> Mapping[str, float]:
        return {uid: self.share_of(self.held.get(uid, job.held)) for uid, job in self.session.jobs.items()}

    def _hold(self, job: str, amount: Amounts) -> None:
        if job not in self.session.jobs:
            return
        held = self.held[job]
        held += amount
        self.share.pop(job, None)
        if self.tree is not None:
            self.tree.is_stale = True
