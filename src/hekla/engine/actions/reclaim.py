"""Reclaim: let queues that hold more than their part give it back to jobs that starve in other queues."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from hekla.conf import argument
from hekla.engine.actions.one_domain import (
    PlaceTask,
    allocate_will_follow,
    everywhere,
    make_room_anywhere,
    make_room_in_one_domain,
)
from hekla.engine.actions.victim_search import (
    NEVER,
    VictimSearch,
    fits_without,
    resolvable,
    starving_jobs,
    victim_mode_argument,
)
from hekla.engine.framework.action import Action
from hekla.engine.framework.finder import NOTHING_TO_REMEMBER, error_cache_argument
from hekla.engine.framework.orders import queues_in_order
from hekla.engine.framework.points import RECLAIMABLE
from hekla.engine.framework.session import Session
from hekla.engine.framework.statement import Statement
from hekla.engine.ledger.domains import Domain
from hekla.engine.model.job import Job
from hekla.engine.model.queue import QueueInfo
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
        by_all = self.arguments.victim_mode == "intersectAll"
        search = VictimSearch(session, RECLAIMABLE, partial(self._is_candidate, session), by_all, self.name)
        while queues:
            queue = queues.pop()
            if queue.name not in starving or session.is_overused(queue):
                continue
            reclamation = Reclamation(session, self.arguments, queue, search)
            while starving[queue.name]:
                reclamation.reclaim_for(starving[queue.name].pop())

    def _is_candidate(self, session: Session, task: Task) -> bool:
        """Runs in a queue that lets its excess go, or, as configured, may have to give way in any."""
        if task.status is not Status.RUNNING or not task.is_preemptable:
            return False
        job = session.jobs.get(task.job)
        takes_own = self.arguments.takes_from_own_queue
        return job is not None and (takes_own or session.queues[job.queue].is_reclaimable)


def queues_with_work(session: Session, starving: Collection[str]) -> list[QueueInfo]:
    """The queues that have an eligible job, in the order of their first ones.

    Those without a starving job only take part in comparisons, of which one queue alone needs none.
    """
    if len(starving) <= 1:
        return [session.queues[name] for name in starving]
    found: dict[str, QueueInfo] = {}
    for job in session.all_jobs:
        if job.queue not in found and session.is_eligible(job):
            found[job.queue] = session.queues[job.queue]
    return list(found.values())


class Reclamation:
    """Taking room back for one queue."""

    def __init__(
        self, session: Session, arguments: ReclaimArguments, queue: QueueInfo, search: VictimSearch
    ) -> None:
        self.session = session
        self.arguments = arguments
        self.queue = queue
        self._search = search

    def _may_evict(self, task: Task, victim: Task) -> bool:
        """Other queues give back what they agree to; inside the queue less important jobs may give way."""
        own, other = self.session.jobs[task.job], self.session.jobs[victim.job]
        if other.queue != own.queue:
            return self.session.queues[other.queue].is_reclaimable
        return self.arguments.takes_from_own_queue and other.priority < own.priority

    def reclaim_for(self, job: Job) -> None:
        """Take back room for the whole gang, or for none of it."""
        session, checks_topology = self.session, self.arguments.checks_topology
        with session.statement() as statement:
            if checks_topology and job.asks_for_hard_topology:
                begin = partial(self._begin, proves_fit=True)
                is_enough = make_room_in_one_domain(session, statement, job, begin)
            else:
                make_room_anywhere(session, statement, job, self._begin(proves_fit=False))
                is_enough = session.is_pipelined(job)
                if is_enough and checks_topology and job.is_bounded and statement.has_evictions:
                    is_enough = allocate_will_follow(session, job, statement, everywhere(session, job))
            if is_enough:
                statement.commit()
            elif statement.operations:
                session.trace.of_job(job.uid, "not enough could be taken back for the whole gang")

    def _begin(self, *, proves_fit: bool) -> PlaceTask:
        """Where it has to prove that the job then fits, it also takes room that is there without evictions.

        Otherwise reclaim leaves such room to allocate.
        """
        self._search.begin(self._may_evict, only_evicts=not proves_fit, proves_fit=proves_fit)
        return partial(self.take_back, room_first=proves_fit)

    def take_back(self, statement: Statement, task: Task, domain: Domain, *, room_first: bool) -> bool:
        """Pipeline the task to the first node of the domain where jobs of other queues give back enough."""
        session, search = self.session, self._search
        if task.pod.spec.preemption_policy == NEVER or not session.is_preemptive(self.queue, [task]):
            return False
        if session.objection_to(task) is not None:
            return False
        nodes = resolvable(session, task, domain.nodes) & session.scoring.curable_nodes(task)
        nodes &= search.promising(task)
        parts = [nodes]
        if room_first:
            has_room = session.nodes.will_hold(task)
            parts = [nodes & has_room, nodes & ~has_room]
        groups = (group for part in parts for group in session.by_shard(part))
        rows = (row for group in groups for row in map(int, np.flatnonzero(group)))
        return any(search.make_room_on(statement, task, row, fits_without) for row in rows)
