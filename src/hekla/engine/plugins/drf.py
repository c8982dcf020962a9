"""Drf: the job with the smallest dominant share goes first, and no task is evicted for a larger one.

A job's dominant share is the largest part it holds of any one resource. With `enableHierarchy`
(hdrf) queues are compared too, level by level, so that departments are fair before their teams are.
Queues say where they stand by annotation: `volcano.sh/hierarchy: root/eng/prod` with weights
`volcano.sh/hierarchy-weights: 1/2/8`. A branch that cannot use more (saturated) does not hold
its siblings back: its part is counted as it is, while the others are scaled to the poorest.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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
from hekla.engine.ledger.arrays import Amounts, Floats, Indices, Mask
from hekla.engine.model.job import Job
from hekla.engine.model.queue import QueueInfo
from hekla.engine.model.task import Task
from hekla.engine.plugins.queues import largest_part
from hekla.engine.state.live import LiveState
from hekla.objects.keys import HIERARCHY, HIERARCHY_WEIGHTS

if TYPE_CHECKING:
    from hekla.engine.framework.session import Session

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
    def poorest_branch_first(self, left: QueueInfo, right: QueueInfo) -> float:
        assert self.tree is not None
        return self.tree.compare(left.name, right.name)

    def preemptor_rank(self, task: Task) -> float:
        """The share that its job would have; there is less to take for a larger one."""
        return self.share_of(self.held[task.job] + task.vector)

    @answers(PREEMPTABLE)
    def richer_jobs(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        """Tasks of jobs that stay at least as rich as the preemptor's would become."""
        if preemptor.job not in self.session.jobs:
            return []
        mine = self.preemptor_rank(preemptor)
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


@dataclass(eq=False)
class Branch:
    """A queue path element, or, without children, one job."""

    weight: float = 1.0
    job: str = ""
    request: Floats = field(default_factory=lambda: np.zeros(0))
    children: dict[str, Branch] = field(default_factory=dict)
    allocated: Floats = field(default_factory=lambda: np.zeros(0))
    share: float = 0.0
    is_saturated: bool = False


class ShareTree:
    """The tree of all jobs under their queues' paths; recomputed whole when asked after a change."""

    def __init__(
        self, session: Session, held: Mapping[str, Amounts], offered: Indices, total: Floats
    ) -> None:
        self._session = session
        self._held = held
        self._offered = offered
        self._total = total
        self._root = Branch()
        self._paths: dict[str, list[Branch]] = {}
        for uid in sorted(session.jobs):
            self._hang(session.jobs[uid])
        self.is_stale = True

    def _hang(self, job: Job) -> None:
        queue = self._session.queues[job.queue]
        path = self._paths.get(queue.name) or self._grow(queue)
        vectors = [task.vector[self._offered] for task in job.roster.tasks.values()]
        request = np.zeros(len(self._offered))
        for vector in vectors:
            request += vector
        path[-1].children[f"job {job.uid}"] = Branch(job=job.uid, request=request)

    def _grow(self, queue: QueueInfo) -> list[Branch]:
        names = queue.annotations.get(HIERARCHY, "").split("/")
        weights = queue.annotations.get(HIERARCHY_WEIGHTS, "").split("/")
        path = [self._root]
        for level, name in enumerate(names[1:], start=1):
            children = path[-1].children
            if name not in children:
                children[name] = Branch(weight=_weight(weights, level))
            path.append(children[name])
        self._paths[queue.name] = path
        return path

    def _update(self) -> None:
        self.is_stale = False
        self._update_with({uid: held[self._offered].astype(np.float64) for uid, held in self._held.items()})

    def _update_with(self, held: Mapping[str, Floats]) -> None:
        taken = np.sum(list(held.values()), axis=0) if held else np.zeros(len(self._offered))
        demanding = taken < self._total
        self._settle(self._root, held, demanding)

    def _settle(self, branch: Branch, held: Mapping[str, Floats], demanding: Mask) -> None:
        if branch.job:
            branch.allocated = held[branch.job]
            branch.share = self._share(branch.allocated)
            branch.is_saturated = is_saturated(branch.allocated, branch.request, demanding)
            return
        for child in branch.children.values():
            self._settle(child, held, demanding)
        active = [child for child in branch.children.values() if child.share != 0]
        hungry = [child.share for child in active if not child.is_saturated]
        poorest = min([1.0, *hungry])
        branch.allocated = np.zeros(len(self._offered))
        for child in active:
            scale = 1.0 if child.is_saturated else poorest / child.share
            branch.allocated = branch.allocated + child.allocated * scale
        branch.share = self._share(branch.allocated)
        branch.is_saturated = all(child.is_saturated for child in branch.children.values())

    def _share(self, allocated: Floats) -> float:
        return float((allocated / self._total).max()) if len(self._total) else 0.0

    def compare(self, left: str, right: str) -> float:
        """Negative where the left queue goes first: level by level, saturation, then share per weight."""
        if self.is_stale:
            self._update()
        pairs = zip(self._paths.get(left, [self._root]), self._paths.get(right, [self._root]), strict=False)
        for mine, theirs in pairs:
            if mine.is_saturated != theirs.is_saturated:
                return 1.0 if mine.is_saturated else -1.0
            if order := mine.share / mine.weight - theirs.share / theirs.weight:
                return order
        return 0.0

    def poorer_without(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """Candidates whose queue would still be richer than the reclaimer's after giving them up."""
        jobs = self._session.jobs
        mine = jobs[reclaimer.job]
        held = {uid: row[self._offered].astype(np.float64) for uid, row in self._held.items()}
        held[mine.uid] = held[mine.uid] + reclaimer.vector[self._offered]
        victims = []
        self.is_stale = False
        for task in candidates:
            theirs = jobs.get(task.job)
            if theirs is None:
                continue
            self._update_with({**held, theirs.uid: held[theirs.uid] - task.vector[self._offered]})
            if self.compare(mine.queue, theirs.queue) < 0:
                victims.append(task)
        self.is_stale = True
        return victims


def is_saturated(allocated: Floats, request: Floats, demanding: Mask) -> bool:
    """A job that has all it asked for of something it holds, or asks for what is used up."""
    holds, wants = allocated > 0, request != 0
    return bool((holds & wants & ((allocated >= request) | ~demanding)).any())


def _weight(weights: Sequence[str], level: int) -> float:
    try:
        return max(1.0, float(weights[level]))
    except (IndexError, ValueError):
        return 1.0
