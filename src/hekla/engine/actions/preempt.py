"""Preempt: inside a queue, let less important tasks make room for jobs that starve.

First between the jobs of a queue, gang by gang; then inside each job, task by task. Evictions
become real only where the job they are for will have all it needs.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Literal

import numpy as np

from hekla.conf import argument
from hekla.engine.actions.eviction_plans import least_harmful, plan_on
from hekla.engine.actions.one_domain import PlaceTask, make_room_anywhere, make_room_in_one_domain
from hekla.engine.actions.victim_search import (
    EVICTABLE,
    NEVER,
    VictimSearch,
    resolvable,
    starving_queues,
    ungated_tasks,
    victim_mode_argument,
    would_run,
)
from hekla.engine.framework.action import Action
from hekla.engine.framework.finder import NodeFinder, error_cache_argument
from hekla.engine.framework.orders import tasks_in_order
from hekla.engine.framework.points import PREEMPTABLE
from hekla.engine.framework.session import Session
from hekla.engine.framework.statement import Statement
from hekla.engine.ledger.arrays import Mask
from hekla.engine.ledger.domains import Domain
from hekla.engine.model.job import Job
from hekla.engine.model.task import Task

PASSED_OVER = "passes over jobs with a networkTopology; with topologyJobs: true it makes room for them"
PREEMPTED_BY_SCHEDULER = ("DisruptionTarget", "True", "PreemptionByScheduler")


@dataclass(frozen=True)
class PreemptArguments:
    error_cache: bool = error_cache_argument()
    is_topology_aware: bool = argument(
        False,
        key="enableTopologyAwarePreemption",
        help="compare several nodes by the victims they would lose, instead of taking the best-scored one",
    )
    workers: int = argument(
        16,
        key="topologyAwarePreemptWorkerNum",
        minimum=1,
        help="accepted for Volcano's sake: nodes are compared one after another",
    )
    candidate_percentage: int = argument(
        10, key="minCandidateNodesPercentage", help="how many of the nodes to compare, in percent"
    )
    fewest_candidates: int = argument(1, key="minCandidateNodesAbsolute", help="but at least so many")
    most_candidates: int = argument(100, key="maxCandidateNodesAbsolute", help="and at most so many")

    commit_on: Literal["pipelined", "ready"] = argument(
        "pipelined",
        key="commitOn",
        help="evict once the job will have all it needs, or only where it has it now (for study)",
    )
    keeps_partial_fits: bool = argument(
        True,
        key="pipelineUnsatisfiedGangs",
        help="inside a job, pipeline single tasks even where the gang will not be complete",
    )
    includes_topology_jobs: bool = argument(
        False,
        key="topologyJobs",
        help="make room for jobs with a networkTopology too, inside one network domain each",
    )
    victim_mode: Literal["tiers", "intersectAll"] = victim_mode_argument()

    def candidates_among(self, nodes: int) -> int:
        """How many nodes to compare, of so many."""
        wanted = max(nodes * self.candidate_percentage // 100, self.fewest_candidates)
        return max(min(wanted, self.most_candidates, nodes), 0)


class Preempt(Action):
    name = "preempt"
    Arguments = PreemptArguments

    def run(self, session: Session) -> None:
        eligible = [job for job in session.jobs_in_line() if session.is_eligible(job)]
        considered = [job for job in eligible if self._is_considered(session, job)]
        jobs_of: dict[str, list[Job]] = defaultdict(list)
        for job in session.all_jobs:
            jobs_of[job.queue].append(job)
        for queue, waiting in starving_queues(session, considered):
            preemption = Preemption(session, self.arguments, queue.name, jobs_of[queue.name])
            jobs: list[Job] = []
            while waiting:
                jobs.append(waiting.pop())
                preemption.between_jobs(jobs[-1])
            for job in jobs:
                if not job.has_topology:
                    preemption.inside(job)

    def _is_considered(self, session: Session, job: Job) -> bool:
        """Whether room is made for it; as in Volcano, a job with a topology is passed over, and told so."""
        is_considered = self.arguments.includes_topology_jobs or not job.has_topology
        if not is_considered and session.is_starving(job):
            session.trace.of_job(job.uid, PASSED_OVER)
            session.conditions.remark(job, f"{self.name}: {PASSED_OVER}")
        return is_considered


class Preemption:
    """Making room inside one queue."""

    def __init__(self, session: Session, arguments: PreemptArguments, queue: str, jobs: list[Job]) -> None:
        self.session = session
        self.arguments = arguments
        self._queue = queue
        self._finder = NodeFinder(session, arguments.error_cache)
        by_all = arguments.victim_mode == "intersectAll"
        self._search = VictimSearch(session, PREEMPTABLE, self._is_candidate, by_all, Preempt.name, jobs)

    def _is_candidate(self, task: Task) -> bool:
        job = self.session.jobs.get(task.job)
        return is_movable(task) and job is not None and job.queue == self._queue

    def between_jobs(self, job: Job) -> None:
        """Make room for a whole gang at the cost of other jobs, or for none of it."""
        session = self.session
        begin = partial(self._begin, job)
        with session.statement() as statement:
            if job.has_topology:
                make_room_in_one_domain(session, statement, job, begin)
            else:
                make_room_anywhere(session, statement, job, begin())
            if self._suffices(job):
                statement.commit()
            elif statement.operations:
                session.trace.of_job(job.uid, "not enough room could be made for the whole gang")

    def _begin(self, job: Job) -> PlaceTask:
        self._search.begin(is_of_other_job, proves_fit=job.has_topology)
        return self.make_room

    def inside(self, job: Job) -> None:
        """Let the job's own tasks make room for more important ones; the first failure ends it."""
        session = self.session
        self._search.begin(is_of_same_job)
        tasks = tasks_in_order(session, ungated_tasks(job))
        with session.statement() as statement:
            while tasks and self.make_room(statement, tasks.popleft(), session.domains.top):
                if self.arguments.keeps_partial_fits:
                    statement.commit()
            if statement.operations and self._suffices(job):
                statement.commit()

    def _suffices(self, job: Job) -> bool:
        if self.arguments.commit_on == "ready":
            return self.session.is_ready(job)
        return self.session.is_pipelined(job)

    def make_room(self, statement: Statement, task: Task, domain: Domain) -> bool:
        """Pipeline the task to a node of the domain, evicting there the victims it needs to."""
        session = self.session
        if not may_preempt(session, task) or session.objection_to(task) is not None:
            return False
        allowed = resolvable(session, task, domain.nodes)
        nodes = self._finder.find(task, allowed, session.scoring.curable_nodes(task))
        make_room = self._with_least_harm if self.arguments.is_topology_aware else self._on_best_node
        return any(make_room(statement, task, group) for group in session.by_shard(nodes))

    def _on_best_node(self, statement: Statement, task: Task, nodes: Mask) -> bool:
        """The best-scored node where it can be done."""
        ranked = self.session.scoring.ranked(task, nodes, showing=self._search.promising(task))
        return any(self._search.make_room_on(statement, task, row, would_run) for row in ranked)

    def _with_least_harm(self, statement: Statement, task: Task, nodes: Mask) -> bool:
        """Of the first few nodes where it can be done, the one whose victims matter least."""
        session, search = self.session, self._search
        rows = np.flatnonzero(nodes & search.promising(task)).tolist()
        victims = ((row, search.victims(task, row)) for row in rows)
        possible = (
            plan_on(session, task, row, some, Preempt.name) for row, some in victims if some is not None
        )
        wanted = self.arguments.candidates_among(int(np.count_nonzero(nodes)))
        plans = list(islice(filter(None, possible), wanted))
        if not plans:
            return False
        chosen = least_harmful(plans, session.now)
        waiting = deque(reversed(chosen.victims))
        return search.evict(statement, task, chosen.row, waiting, until=lambda: not waiting)


def is_movable(victim: Task) -> bool:
    return victim.status in EVICTABLE and victim.is_preemptable


def is_evictable(victim: Task, preemptor: Task) -> bool:
    """Runs, may be evicted, and is worth it: one that holds nothing gives way only to its like."""
    return is_movable(victim) and (victim.is_best_effort or not preemptor.is_best_effort)


def is_of_other_job(task: Task, victim: Task) -> bool:
    return victim.job != task.job and is_evictable(victim, task)


def is_of_same_job(task: Task, victim: Task) -> bool:
    return victim.job == task.job and is_evictable(victim, task)


def may_preempt(session: Session, task: Task) -> bool:
    """A task that is pipelined to a node waits for it, unless the node has become out of reach."""
    nominated = task.pod.status.nominated_node_name
    if task.pod.spec.preemption_policy == NEVER:
        session.trace.of_job(task.job, f"{task.name} has preemption policy Never")
        return False
    if not nominated:
        return True
    row = session.nodes.row_of.get(nominated)
    if row is None or session.scoring.allowed_by_plugins(task)[row]:
        return False
    if not session.scoring.curable_by_plugins(task)[row]:
        return True
    return not any(makes_way(other, task) for other in session.nodes.tasks_on[row].values())


def makes_way(other: Task, task: Task) -> bool:
    """Is this one already leaving because of an earlier preemption?"""
    return (
        (other.pod.spec.priority or 0) < (task.pod.spec.priority or 0)
        and other.pod.metadata.deletion_timestamp is not None
        and any(
            (condition.type, condition.status, condition.reason) == PREEMPTED_BY_SCHEDULER
            for condition in other.pod.status.conditions
        )
    )
