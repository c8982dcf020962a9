"""Reclaim: let queues that hold more than their part give it back to jobs that starve in other queues."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hekla.conf import argument
from hekla.engine.actions.one_domain import allocate_will_follow, everywhere, make_room_in_one_domain
from hekla.engine.framework import points
from hekla.engine.framework.action import Action
from hekla.engine.framework.eviction import (
    NEVER,
    JobFilter,
    starving_jobs,
    ungated_tasks,
    victim_mode_argument,
    without_hopeless,
    would_run,
)
from hekla.engine.framework.finder import NOTHING_TO_REMEMBER, error_cache_argument
from hekla.engine.framework.orders import (
    least_important_first,
    queues_in_order,
    tasks_in_order,
    victims_in_order,
)
from hekla.engine.framework.prospects import (
    BarrenNodes,
    RoomToFree,
    left_of,
    shortage_on,
    suffice,
)
from hekla.engine.framework.session import Session
from hekla.engine.framework.statement import Statement
from hekla.engine.ledger.arrays import Mask
from hekla.engine.ledger.domains import Domain
from hekla.engine.ledger.nodes import covers
from hekla.engine.model.job import Job
from hekla.engine.model.queue import Queue
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task


@dataclass(frozen=True)
class ReclaimArguments:
    error_cache: bool = error_cache_argument(NOTHING_TO_REMEMBER)
    takes_from_own_queue: bool = argument(
        False,
        key="sameQueueLowerPriority",
        help="less important jobs of the same queue may give back too",
    )
    checks_topology: bool = argument(
        True,
        key="topologyCheck",
        help="for a job of hard topology, evict inside one network domain, and only if it then fits there",
    )
    victim_mode: Literal["tiers", "intersectAll"] = victim_mode_argument()


class Reclaim(Action):
    name = "reclaim"
    Arguments = ReclaimArguments

    def run(self, session: Session) -> None:
        starving = starving_jobs(session, filter(session.is_eligible, session.jobs_in_line()))
        queues = queues_in_order(session, queues_with_work(session, starving))
        while queues:
            queue = queues.pop()
            if queue.name not in starving or session.is_overused(queue):
                continue
            claim = Claim(session, self.arguments, queue)
            while starving[queue.name]:
                reclaim_for(claim, starving[queue.name].pop())


def queues_with_work(session: Session, starving: Collection[str]) -> list[Queue]:
    """The queues that have an eligible job, in the order of their first ones.

    Those without a starving job only take part in comparisons, of which one queue alone needs none.
    """
    if len(starving) <= 1:
        return [session.queues[name] for name in starving]
    found: dict[str, Queue] = {}
    for job in session.all_jobs:
        if job.queue not in found and session.is_eligible(job):
            found[job.queue] = session.queues[job.queue]
    return list(found.values())


class Claim:
    """What one queue may take back from others, and where."""

    def __init__(self, session: Session, arguments: ReclaimArguments, queue: Queue) -> None:
        self.session = session
        self.arguments = arguments
        self.queue = queue
        self.givers = JobFilter(session, self._may_be_asked)
        self.room = RoomToFree(session, self.is_on_offer)

    def _may_be_asked(self, job: Job) -> bool:
        if job.queue == self.queue.name:
            return self.arguments.takes_from_own_queue
        return self.session.queues[job.queue].is_reclaimable

    def is_on_offer(self, task: Task) -> bool:
        """Runs in a queue that lets its excess go."""
        return task.status is Status.RUNNING and task.is_preemptable and self.givers[task.job]


def reclaim_for(claim: Claim, job: Job) -> None:
    """Take back room for the whole gang, or for none of it."""
    session, checks_topology = claim.session, claim.arguments.checks_topology
    with session.statement() as statement:
        if checks_topology and job.asks_for_hard_topology:
            is_enough = make_room_in_one_domain(
                session, statement, job, lambda: Reclamation(claim, job, proves_fit=True).take_back
            )
        else:
            is_enough = take_back_anywhere(Reclamation(claim, job), statement)
            if is_enough and checks_topology and job.is_bounded and statement.has_evictions:
                is_enough = allocate_will_follow(session, job, statement, everywhere(session, job))
        if is_enough:
            statement.commit()
        elif statement.operations:
            session.story.of_job(job.uid, "not enough could be taken back for the whole gang")


def take_back_anywhere(reclamation: Reclamation, statement: Statement) -> bool:
    """Take back what the job needs, wherever that is; True where it then has it."""
    session, job = reclamation.session, reclamation.job
    tasks = tasks_in_order(session, ungated_tasks(job))
    while tasks and session.is_starving(job):
        reclamation.take_back(statement, tasks.popleft(), session.domains.top)
    return session.is_pipelined(job)


class Reclamation:
    """Taking back room for one job; what it learns of nodes holds while nothing of it is undone.

    Where it has to prove that the job then fits, it also takes room that is there without evictions, which
    reclaim otherwise leaves to allocate, and asks whether queue and filters would let each task in.
    """

    def __init__(self, claim: Claim, job: Job, *, proves_fit: bool = False) -> None:
        self.session = claim.session
        self.job = job
        self._claim = claim
        self._proves_fit = proves_fit
        self._barren = BarrenNodes(claim.session, points.RECLAIMABLE)

    def take_back(self, statement: Statement, task: Task, domain: Domain) -> bool:
        """Pipeline the task to a node of the domain where jobs of other queues give back room."""
        return self._may_reclaim(task) and self._reclaim_for(statement, task, domain.nodes)

    def _may_reclaim(self, task: Task) -> bool:
        return (
            task.pod.spec.preemption_policy != NEVER
            and self.session.is_preemptive(self._claim.queue, [task])
            and self.session.objection_to(task) is None
        )

    def _givers_on(self, row: int) -> list[Task]:
        """Tasks that may give back, least important first; inside the queue only those of lesser jobs."""
        movable = least_important_first(self.session, self._claim.room.movable_on(row), self.job)
        if not self._claim.arguments.takes_from_own_queue:
            return movable
        jobs, own = self.session.jobs, self.job
        owners = [(task, jobs[task.job]) for task in movable]
        return [task for task, job in owners if job.queue != own.queue or job.priority < own.priority]

    def _reclaim_for(self, statement: Statement, task: Task, among: Mask) -> bool:
        """Take the first node where others give back enough; one where nobody could is passed over."""
        session, room = self.session, self._claim.room
        nodes = among & without_hopeless(session, task) & session.scoring.curable_nodes(task)
        nodes &= room.rows_for(task) & ~self._barren.rows_for(task)
        if self._proves_fit:
            has_room = covers(session.nodes.future, task)
            groups = (*session.by_shard(nodes & has_room), *session.by_shard(nodes & ~has_room))
        else:
            groups = session.by_shard(nodes & room.rows_with_anybody())
        return any(
            self._take_back_on(statement, task, row)
            for group in groups
            for row in map(int, np.flatnonzero(group))
        )

    def _take_back_on(self, statement: Statement, task: Task, row: int) -> bool:
        session, arguments = self.session, self._claim.arguments
        givers, shortage = self._givers_on(row), shortage_on(session, task, row)
        by_all = arguments.victim_mode == "intersectAll"
        victims = session.reclaimable(task, givers, by_all=by_all) if givers else []
        if not (givers or self._proves_fit) or not suffice(victims, shortage):
            # Inside a queue, what one job gains may put others in excess: then nothing is remembered.
            if not arguments.takes_from_own_queue:
                self._barren.look_at(task, row, givers)
            return False
        waiting = victims_in_order(session, victims, task)
        with session.statement() as attempt:
            while waiting and shortage:
                victim = waiting.pop()
                attempt.evict(victim, Reclaim.name, beneficiary=task.job)
                shortage = left_of(shortage, victim)
            if self._proves_fit and not would_run(session, task, row):
                return False
            if shortage or not attempt.pipeline(task, row, evicted=attempt.has_evictions):
                return False
            statement.merge(attempt)
            return True
