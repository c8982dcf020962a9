"""Capacity: every queue has an amount of its own, may borrow up to its limit, and gives back what it owes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hekla.conf import argument
from hekla.engine.framework.figures import QueueFigures, amounts_by_name
from hekla.engine.framework.orders import victims_in_order
from hekla.engine.framework.plugin import EvictionContext, Plugin, Resolve
from hekla.engine.framework.points import (
    ADMISSION_ROOM,
    ALLOCATABLE,
    HEADROOM,
    JOB_ENQUEUEABLE,
    JOB_ENQUEUED,
    PREEMPTIVE,
    QUEUE_ORDER,
    RECLAIMABLE,
    SIMULATE_ALLOCATABLE,
    UNIFIED_EVICTABLE,
    VICTIM_QUEUE_ORDER,
    AnyPoint,
    Scope,
    answers,
)
from hekla.engine.framework.rules import Vote
from hekla.engine.ledger.arrays import Amounts, Floats, Mask
from hekla.engine.ledger.demand import less_gated, minimum_of
from hekla.engine.model.job import Job
from hekla.engine.model.queue import QueueInfo
from hekla.engine.model.task import Task
from hekla.engine.model.wait_reason import WaitReason
from hekla.engine.plugins.capacity.entitlements import Claim, Excess, flat_entitlements, tree_entitlements
from hekla.engine.plugins.queues import (
    capability_of,
    every_queue_alone,
    fault_of,
    how_many,
    short_of,
    tree_of,
    within,
)

GANG_RECLAIM = "gangreclaim"
_NOT_MODELLED = "accepted for Volcano's sake: quotas of device classes are not modelled"


@dataclass(frozen=True)
class CapacityArguments:
    ancestor_reclaim_level: int = argument(
        0,
        key="ancestorReclaimLevel",
        minimum=0,
        help="how many levels above a queue take part in reclaim; only with enableHierarchy",
    )
    device_classes: bool = argument(True, key="capacity.DynamicResourceAllocationEnable", help=_NOT_MODELLED)
    device_capacity: bool = argument(True, key="capacity.DRAConsumableCapacityEnable", help=_NOT_MODELLED)


class Capacity(Plugin):
    """Books of all queues, (Q, R); with `enableHierarchy` a queue's books are also those of all above it.

    Pipelined tasks count as allocated, evicted ones do not. While the tree of queues has a fault,
    every request is refused.
    """

    name = "capacity"
    Arguments = CapacityArguments

    def on_open(self) -> None:
        session = self.session
        # In a tree, what one queue gains counts for all above it, whose tasks may then be beyond their due.
        self.resolve = Resolve.NONE if self.hierarchical else Resolve.FIRM
        self.fault = fault_of(session.queues, session.jobs.values()) if self.hierarchical else ""
        if self.hierarchical and not self.fault:
            self.tree = tree_of(session.queues)
            self.entitled = tree_entitlements(session, self.tree)
        else:
            self.tree = every_queue_alone(session.queues)
            self.entitled = flat_entitlements(session, self.tree)
        self._open_books()
        if self.fault:
            for name in session.queues:
                session.trace.of_queue(name, self._broken(), speaker=self.name, code=WaitReason.QUEUE)

    def _open_books(self) -> None:
        shape = (len(self.tree), len(self.session.axis))
        self.allocated: Amounts = np.zeros(shape, dtype=np.int64)
        self.inqueue: Amounts = np.zeros(shape, dtype=np.int64)
        self.elastic: Amounts = np.zeros(shape, dtype=np.int64)
        for name, sums in self.session.queue_sums.items():
            path = self.tree.paths[self.tree.row_of[name]]
            self.allocated[path] += sums.held
            self.elastic[path] += sums.elastic
            self.inqueue[path] += sums.waiting
        self.share: Floats = shares(self.allocated, self.entitled.deserved, self.session.axis.pods)
        self.is_best_effort = deserves_nothing(self.entitled.deserved, self.session.axis.pods)

    def silent_on(self) -> Sequence[AnyPoint]:
        if self.fault:
            return (QUEUE_ORDER, VICTIM_QUEUE_ORDER)
        return () if self.hierarchical else (VICTIM_QUEUE_ORDER,)

    # Orders

    @answers(QUEUE_ORDER)
    def furthest_below_what_it_deserves_first(self, left: QueueInfo, right: QueueInfo) -> float:
        """Of queues in different branches the branches are compared where they part."""
        if left.priority != right.priority:
            return right.priority - left.priority
        mine, theirs = self.tree.row_of[left.name], self.tree.row_of[right.name]
        is_leaf = self.tree.is_leaf
        if is_leaf[mine] != is_leaf[theirs]:
            return -1.0 if is_leaf[mine] else 1.0
        if is_leaf[mine]:
            mine, theirs = self.tree.parting(mine, theirs)
        keys = [(float(self.share[row]), bool(self.is_best_effort[row])) for row in (mine, theirs)]
        return -1.0 if keys[0] < keys[1] else float(keys[0] > keys[1])

    @answers(VICTIM_QUEUE_ORDER)
    def closest_relatives_first(self, left: QueueInfo, right: QueueInfo, preemptor: QueueInfo) -> float:
        row_of = self.tree.row_of
        mine, theirs = (
            self.tree.kinship(row_of[queue.name], row_of[preemptor.name]) for queue in (left, right)
        )
        return float(theirs - mine)

    # Room

    @answers(ALLOCATABLE)
    def stays_within_its_limit(self, queue: QueueInfo, task: Task) -> bool:
        return self._agrees(task.job, closed(queue) or self._too_much(queue, task.vector))

    @answers(HEADROOM, Scope.KIND)
    def how_many_stay_within_its_limit(self, queue: QueueInfo, task: Task, count: int) -> int:
        """The queue and all above it must have room for them."""
        if closed(queue) or self._no_place_in(queue):
            return 0
        for row in self.tree.paths[self.tree.row_of[queue.name]]:
            held, limit = self.allocated[row].tolist(), self.entitled.limit[row].tolist()
            count = how_many(held, limit, task.shape.wanted, count)
        return count

    @answers(SIMULATE_ALLOCATABLE)
    def would_stay_within_its_limit(self, queue: QueueInfo, task: Task) -> bool:
        return self._agrees(task.job, self._too_much(queue, task.vector))

    @answers(PREEMPTIVE)
    def may_claim_what_it_deserves(self, queue: QueueInfo, tasks: Sequence[Task]) -> bool:
        """It, or an ancestor near enough, would hold no more than it deserves of something it asks for."""
        asked: Amounts = np.asarray(sum(task.vector for task in tasks))
        row = self.tree.row_of[queue.name]
        objection = (
            self._broken() or closed(queue) or self._beyond_limit([row], self.allocated[[row]] + asked, asked)
        )
        if not self._agrees(tasks[0].job, objection):
            return False
        # No reason to wait by itself: a queue that is owed nothing may still borrow what is free.
        if unowed := self._owed_nothing(row, asked):
            self.session.trace.of_job(tasks[0].job, unowed, speaker=self.name)
        return not unowed

    @answers(JOB_ENQUEUEABLE, Scope.KIND)
    def fits_its_limit(self, job: Job) -> Vote:
        queue = self.session.queues[job.queue]
        objection = self._no_place_in(queue) or closed(queue)
        if not objection and job.min_resources is not None:
            path, asked = self.tree.paths[self.tree.row_of[job.queue]], minimum_of(self.session, job)
            wanted = asked + self.allocated[path] + self.inqueue[path] - self.elastic[path]
            objection = self._beyond_limit(path, wanted, asked)
        return Vote.PERMIT if self._agrees(job.uid, objection) else Vote.REJECT

    @answers(ADMISSION_ROOM)
    def left_to_its_limit(self, queue: QueueInfo) -> Floats:
        path = self.tree.paths[self.tree.row_of[queue.name]]
        taken = self.allocated[path] + self.inqueue[path] - self.elastic[path]
        return np.asarray((self.entitled.limit[path] - taken).min(axis=0), dtype=np.float64)

    @answers(JOB_ENQUEUED)
    def count_as_waiting(self, job: Job) -> None:
        path = self.tree.paths[self.tree.row_of[job.queue]]
        self.inqueue[path] += less_gated(self.session, job, minimum_of(self.session, job))

    def _agrees(self, job: str, objection: str) -> bool:
        if objection and not self.session.is_quiet:
            queue = self.session.queues[self.session.jobs[job].queue]
            takes_jobs = not (closed(queue) or self._no_place_in(queue))
            code = WaitReason.QUEUE_SHARE if takes_jobs else WaitReason.QUEUE
            self.session.trace.of_job(job, objection, speaker=self.name, code=code)
        return not objection

    def _broken(self) -> str:
        return f"the queues are no tree, so nothing is given out: {self.fault}" if self.fault else ""

    def _no_place_in(self, queue: QueueInfo) -> str:
        if not self.tree.is_leaf[self.tree.row_of[queue.name]]:
            return f'queue "{queue.name}" has child queues, and only those take jobs'
        return self._broken()

    def _too_much(self, queue: QueueInfo, asked: Amounts) -> str:
        path = self.tree.paths[self.tree.row_of[queue.name]]
        return self._no_place_in(queue) or self._beyond_limit(path, self.allocated[path] + asked, asked)

    def _beyond_limit(self, rows: Iterable[int], wanted: Amounts, asked: Amounts) -> str:
        """Which of these queues would hold too much, and of what; empty where none would."""
        for row, amounts in zip(rows, wanted, strict=True):
            limit = self.entitled.limit[row]
            if not within(amounts, limit, asked, self.session.axis.pods):
                beyond = short_of(self.session, amounts, limit, asked)
                return f'queue "{self.tree.names[row]}" would go beyond its limit: {beyond}'
        return ""

    def _owed_nothing(self, row: int, asked: Amounts) -> str:
        rows = [row, *self.tree.near_ancestors(row, self.arguments.ancestor_reclaim_level)]
        is_owed = (asked > 0) & (self.allocated[rows] + asked <= self.entitled.deserved[rows])
        if np.delete(is_owed, self.session.axis.pods, axis=1).any():
            return ""
        return f'queue "{self.tree.names[row]}" is owed nothing of what is asked for'

    # Giving back

    @answers(RECLAIMABLE)
    def excess_of_queues(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """Tasks of queues, and of branches, that hold more than they deserve, until they no longer do."""
        initiator = self.session.jobs.get(reclaimer.job)
        if self.fault or initiator is None:
            return []
        home, level = self.tree.row_of[initiator.queue], self.arguments.ancestor_reclaim_level
        claim = Claim(self.tree, home, reclaimer.vector, level, self._excess())
        waiting = victims_in_order(self.session, candidates, reclaimer)
        in_order = [waiting.pop() for _ in range(len(waiting))]
        return self._given_up(in_order, claim.take)

    @answers(UNIFIED_EVICTABLE)
    def excess_of_queues_for_a_gang(self, context: EvictionContext, candidates: Sequence[Task]) -> list[Task]:
        """Inside a queue any task; of other queues what they hold beyond what they deserve themselves."""
        if context.kind != GANG_RECLAIM:
            return list(candidates)
        return [] if self.fault else self._given_up(candidates, self._excess().take)

    def _excess(self) -> Excess:
        return Excess(self.entitled, self.allocated.copy(), self.session.axis.pods)

    def _given_up(self, tasks: Sequence[Task], take: Callable[[int, Amounts], bool]) -> list[Task]:
        jobs = self.session.jobs
        return [
            task
            for task in tasks
            if task.job in jobs and take(self.tree.row_of[jobs[task.job].queue], task.vector)
        ]

    # Events

    def on_allocate(self, task: Task) -> None:
        self._count(task, task.vector)

    def on_allocate_all(self, tasks: Sequence[Task]) -> None:
        self._count(tasks[0], len(tasks) * tasks[0].vector)

    def on_release(self, task: Task) -> None:
        if task.job in self.session.jobs:
            self._count(task, -task.vector)

    def _count(self, task: Task, amounts: Amounts) -> None:
        """The queue holds more or less, and so do all above it.

        As in Volcano, the shares of those above stay what they were when the session opened.
        """
        row = self.tree.row_of[self.session.jobs[task.job].queue]
        self.allocated[self.tree.paths[row]] += amounts
        alone = slice(row, row + 1)
        self.share[alone] = shares(
            self.allocated[alone], self.entitled.deserved[alone], self.session.axis.pods
        )

    # For people

    def queue_figures(self) -> Mapping[str, QueueFigures]:
        return {name: self._figures_of(name, row) for row, name in enumerate(self.tree.names)}

    def _figures_of(self, name: str, row: int) -> QueueFigures:
        axis, capability = self.session.axis, self.session.queues[name].capability
        most = capability_of(axis.vector(capability), axis.named(capability))
        return QueueFigures(
            allocated=amounts_by_name(axis, self.allocated[row]),
            deserved=amounts_by_name(axis, self.entitled.deserved[row]),
            capacity=amounts_by_name(axis, most),
            real_capacity=amounts_by_name(axis, self.entitled.limit[row]),
            inqueue=amounts_by_name(axis, self.inqueue[row]),
            share=float(self.share[row]),
        )


def closed(queue: QueueInfo) -> str:
    return "" if queue.is_open else f'queue "{queue.name}" is not open'


def shares(allocated: Amounts, deserved: Amounts, pods: int) -> Floats:
    """The largest part of anything it deserves that each queue holds; 1 where it deserves nothing.

    allocated, deserved: (Q, R)   ->   (Q,)
    """
    parts = np.divide(allocated, deserved, out=np.zeros(deserved.shape), where=deserved > 0)
    return np.where(deserves_nothing(deserved, pods), 1.0, parts.max(axis=1))


def deserves_nothing(deserved: Amounts, pods: int) -> Mask:
    """Queues that live on what others lend; a number of pods alone does not help them. (Q, R) -> (Q,)"""
    return np.asarray(~np.delete(deserved > 0, pods, axis=1).any(axis=1))
