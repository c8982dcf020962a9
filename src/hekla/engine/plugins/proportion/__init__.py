"""Proportion: divide the cluster between queues by weight, serving the queue furthest below its part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hekla.engine.framework.figures import QueueFigures, amounts_by_name
from hekla.engine.framework.plugin import Plugin, Resolve
from hekla.engine.framework.points import (
    ADMISSION_ROOM,
    ALLOCATABLE,
    HEADROOM,
    JOB_ENQUEUEABLE,
    JOB_ENQUEUED,
    OVERUSED,
    PREEMPTIVE,
    QUEUE_ORDER,
    RECLAIMABLE,
    SIMULATE_ALLOCATABLE,
    Scope,
    answers,
    as_key,
)
from hekla.engine.framework.rules import Vote
from hekla.engine.ledger.arrays import Amounts, Floats
from hekla.engine.ledger.demand import less_gated, minimum_of
from hekla.engine.model.job import Job
from hekla.engine.model.queue import QueueInfo
from hekla.engine.model.resources import spelled
from hekla.engine.model.task import Task, wanted_of
from hekla.engine.model.wait_reason import WaitReason
from hekla.engine.plugins.proportion.accounts import (
    SMALLEST,
    QueueAccount,
    bounds_of_queues,
    divide,
    not_above,
    open_account,
)
from hekla.engine.plugins.queues import (
    how_many,
    short_of,
    within,
)


class Proportion(Plugin):
    """Accounts of the queues that have jobs; pipelined tasks count as allocated, evicted ones do not."""

    name = "proportion"
    resolve = Resolve.HARDENING

    def on_open(self) -> None:
        session = self.session
        self.pods = session.axis.pods
        bounds = session.snapshot.state.derived(bounds_of_queues)
        self.accounts = {
            name: open_account(queue, bounds[name], session.queue_sums[name])
            for name, queue in session.queues.items()
            if name in session.queue_sums
        }
        divide(list(self.accounts.values()), session.total, self.pods)

    @answers(QUEUE_ORDER)
    def furthest_below_its_part_first(self, left: QueueInfo, right: QueueInfo) -> float:
        if left.priority != right.priority:
            return right.priority - left.priority
        mine, theirs = self.accounts[left.name].share, self.accounts[right.name].share
        return (mine > theirs) - (mine < theirs)

    @as_key(furthest_below_its_part_first)
    def part_it_holds(self, queue: QueueInfo) -> tuple[int, float]:
        return -queue.priority, self.accounts[queue.name].share

    @answers(OVERUSED)
    def has_all_it_deserves(self, queue: QueueInfo) -> bool:
        account = self.accounts[queue.name]
        if not account.is_overused:
            return False
        if not self.session.is_quiet:
            said = self._over_its_share(account)
            self.session.trace.of_queue(queue.name, said, speaker=self.name, code=WaitReason.QUEUE_SHARE)
        return True

    @answers(ALLOCATABLE)
    def stays_within_its_part(self, queue: QueueInfo, task: Task) -> bool:
        return self._is_open(queue, task.job) and self._may_take(queue, task.vector, task.job)

    @answers(HEADROOM, Scope.KIND)
    def how_many_stay_within_its_part(self, queue: QueueInfo, task: Task, count: int) -> int:
        account = self.accounts[queue.name]
        if not queue.is_open:
            return 0
        return how_many(account.held, account.deserved, task.shape.wanted, count)

    @answers(SIMULATE_ALLOCATABLE)
    def would_stay_within_its_part(self, queue: QueueInfo, task: Task) -> bool:
        return self._may_take(queue, task.vector, task.job)

    @answers(PREEMPTIVE)
    def may_claim_its_part(self, queue: QueueInfo, tasks: Sequence[Task]) -> bool:
        asked, job = tasks[0].vector, tasks[0].job
        for task in tasks[1:]:
            asked = asked + task.vector
        return self._is_open(queue, job) and self._may_take(queue, asked, job)

    def _is_open(self, queue: QueueInfo, job: str) -> bool:
        if not queue.is_open:
            said = f'queue "{queue.name}" is not open'
            self.session.trace.of_job(job, said, speaker=self.name, code=WaitReason.QUEUE)
        return queue.is_open

    def _may_take(self, queue: QueueInfo, asked: Amounts, job: str) -> bool:
        account = self.accounts[queue.name]
        if how_many(account.held, account.deserved, wanted_of(asked, self.pods), 1):
            return True
        beyond = short_of(self.session, account.allocated + asked, np.array(account.deserved), asked)
        self.session.trace.of_job(
            job,
            f'queue "{queue.name}" would go beyond what it deserves: {beyond}',
            speaker=self.name,
            code=WaitReason.QUEUE_SHARE,
        )
        return False

    @answers(RECLAIMABLE)
    def excess_of_queues(self, _reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """Tasks of queues that hold more of something than they deserve, until they no longer do."""
        left: dict[str, Amounts] = {}
        victims: list[Task] = []
        for task in candidates:
            job = self.session.jobs.get(task.job)
            if job is None:
                continue
            account = self.accounts[job.queue]
            holds = left.get(job.queue, account.allocated)
            if not not_above(holds.tolist(), account.deserved):
                left[job.queue] = holds - task.vector
                victims.append(task)
        return victims

    @answers(JOB_ENQUEUEABLE, Scope.KIND)
    def fits_its_limit(self, job: Job) -> Vote:
        account = self.accounts[job.queue]
        if not self._is_open(account.queue, job.uid):
            return Vote.REJECT
        if job.min_resources is None:
            return Vote.PERMIT
        asked = minimum_of(self.session, job)
        wanted = asked + account.allocated + account.inqueue - account.elastic
        limit = account.bounds.limit
        if within(wanted, limit, asked, self.pods):
            return Vote.PERMIT
        beyond = short_of(self.session, wanted, limit, asked)
        is_own = ((wanted > limit) & (limit < self.session.total)).any()
        self.session.trace.of_job(
            job.uid,
            f'queue "{job.queue}" would go beyond its limit: {beyond}',
            speaker=self.name,
            code=WaitReason.QUEUE_SHARE if is_own else WaitReason.ADMISSION_LIMIT,
        )
        return Vote.REJECT

    @answers(ADMISSION_ROOM)
    def left_to_its_limit(self, queue: QueueInfo) -> Floats:
        return self.accounts[queue.name].left

    @answers(JOB_ENQUEUED)
    def count_as_waiting(self, job: Job) -> None:
        if job.min_resources is not None:
            self.accounts[job.queue].reserve(less_gated(self.session, job, minimum_of(self.session, job)))

    def on_allocate(self, task: Task) -> None:
        job = self.session.jobs.get(task.job)
        if job is not None:
            self.accounts[job.queue].hold(task.shape.amounts)

    def on_allocate_all(self, tasks: Sequence[Task]) -> None:
        job = self.session.jobs.get(tasks[0].job)
        if job is not None:
            self.accounts[job.queue].hold((len(tasks) * tasks[0].vector).tolist())

    def on_release(self, task: Task) -> None:
        job = self.session.jobs.get(task.job)
        if job is not None:
            self.accounts[job.queue].hold((-task.vector).tolist())

    def deserved_by_queue(self) -> Mapping[str, Mapping[str, float]]:
        axis = self.session.axis
        return {name: amounts_by_name(axis, account.deserved) for name, account in self.accounts.items()}

    def queue_figures(self) -> Mapping[str, QueueFigures]:
        return {name: self._figures_of(account) for name, account in self.accounts.items()}

    def _figures_of(self, account: QueueAccount) -> QueueFigures:
        axis, bounds = self.session.axis, account.bounds
        return QueueFigures(
            allocated=amounts_by_name(axis, account.held),
            request=amounts_by_name(axis, account.request),
            deserved=amounts_by_name(axis, account.deserved),
            capacity=amounts_by_name(axis, bounds.capability),
            real_capacity=amounts_by_name(axis, bounds.limit),
            inqueue=amounts_by_name(axis, account.inqueue),
            share=account.share,
            is_overused=account.is_overused,
        )

    def _over_its_share(self, account: QueueAccount) -> str:
        names = self.session.axis.names
        parts = ", ".join(
            f"{name} {spelled(name, account.held[at])} of {spelled(name, account.deserved[at])}"
            for at, name in enumerate(names)
            if account.deserved[at] >= SMALLEST
        )
        return f'queue "{account.queue.name}" has all it deserves' + (f": {parts}" if parts else "")
