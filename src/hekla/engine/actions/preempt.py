"""Preempt: inside a queue, let less important tasks make room for jobs that starve.

First between the jobs of a queue, gang by gang; then inside each job, task by task. Evictions
become real only where the job they are for will have all it needs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from hekla.conf import argument
from hekla.engine.actions.eviction_plans import EvictionPlan, least_harmful, plan_on
from hekla.engine.actions.one_domain import PlaceTask, make_room_in_one_domain
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
from hekla.engine.framework.finder import NodeFinder, error_cache_argument
from hekla.engine.framework.orders import (
    TaskLine,
    least_important_first,
    queues_in_order,
    tasks_in_order,
    victims_in_order,
)
from hekla.engine.framework.prospects import BarrenNodes, RoomToFree, fits_with
from hekla.engine.framework.session import Session
from hekla.engine.framework.statement import Statement
from hekla.engine.ledger.arrays import Mask
from hekla.engine.ledger.domains import Domain
from hekla.engine.model.job import Job
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task

PREEMPTABLE_STATUSES = (Status.BOUND, Status.RUNNING)
PASSED_OVER = "passes over jobs with a networkTopology; with topologyJobs: true it makes room for them"
PREEMPTED_BY_SCHEDULER = ("DisruptionTarget", "True", "PreemptionByScheduler")


@dataclass(frozen=True)
class PreemptArguments:
    error_cache: bool = error_cache_argument()
    is_topology_aware: bool = argument(
        False,
        key="enableTopologyAwarePreemption",
        help="compare several nodes by whom they would lose, instead of taking the best-scored one",
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
    keeps_torn_gangs: bool = argument(
        True,
        key="pipelineUnsatisfiedGangs",
        help="inside a job, promise room to single tasks even where the gang will not be complete",
    )
    takes_topology_jobs: bool = argument(
        False,
        key="topologyJobs",
        help="make room for jobs with a networkTopology too, inside one network domain each",
    )
    victim_mode: Literal["tiers", "intersectAll"] = victim_mode_argument()

    def candidates_among(self, nodes: int) -> int:
        """How many nodes to compare, of so many."""
        wanted = max(nodes * self.candidate_percentage // 100, self.fewest_candidates)
        return min(wanted, self.most_candidates, nodes)


class Preempt(Action):
    name = "preempt"
    Arguments = PreemptArguments

    def run(self, session: Session) -> None:
        jobs = [job for job in session.jobs_in_line() if session.is_eligible(job)]
        starving = starving_jobs(session, [job for job in jobs if self._is_considered(session, job)])
        preemption = Preemption(session, self.arguments)
        queues = queues_in_order(session, (session.queues[name] for name in starving))
        while queues:
            heap = starving[queues.pop().name]
            needy = []
            while heap:
                needy.append(heap.pop())
                preemption.between_jobs(needy[-1])
            for job in needy:
                if not job.has_topology:
                    preemption.inside(job)

    def _is_considered(self, session: Session, job: Job) -> bool:
        """Whether room is made for it; as in Volcano, a job with a topology is passed over, and told so."""
        if job.has_topology and not self.arguments.takes_topology_jobs and session.is_starving(job):
            session.story.of_job(job.uid, PASSED_OVER)
            session.conditions.remark(job, f"{self.name}: {PASSED_OVER}")
        return self.arguments.takes_topology_jobs or not job.has_topology


@dataclass(frozen=True)
class Need:
    """A task that lacks room, the jobs that may make it, and where asking them has proved vain."""

    task: Task
    givers: JobFilter
    barren: BarrenNodes | None = None
    proves_fit: bool = False
    """Whether queue and filters are asked once more before victims go."""

    def may_be_met_by(self, victim: Task) -> bool:
        return self.givers[victim.job] and is_evictable(victim, self.task)


@dataclass
class Preemption:
    """Finds victims for one task after another; what it learns of nodes lasts for the action."""

    session: Session
    arguments: PreemptArguments
    _room: dict[str, RoomToFree] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._finder = NodeFinder(self.session, self.arguments.error_cache)

    def between_jobs(self, job: Job) -> None:
        """Make room for a whole gang at the cost of other jobs, or for none of it."""
        session = self.session
        with session.statement() as statement:
            if job.has_topology:
                make_room_in_one_domain(session, statement, job, lambda: self._at_the_cost_of_others(job))
            else:
                place_task = self._at_the_cost_of_others(job)
                tasks = tasks_in_order(session, ungated_tasks(job))
                while tasks and session.is_starving(job):
                    place_task(statement, tasks.popleft(), session.domains.top)
            if self._suffices(job):
                statement.commit()
            elif statement.operations:
                session.story.of_job(job.uid, "not enough room could be made for the whole gang")

    def _at_the_cost_of_others(self, job: Job) -> PlaceTask:
        """Makes room for one task of the job after another; what it learns holds while nothing is undone."""
        session = self.session
        barren = BarrenNodes(session, points.PREEMPTABLE)
        others = JobFilter(session, lambda other: other is not job and other.queue == job.queue)

        def place_task(statement: Statement, task: Task, domain: Domain) -> bool:
            need = Need(task, others, barren, proves_fit=job.has_topology)
            return self.make_room(statement, need, domain.nodes)

        return place_task

    def _suffices(self, job: Job) -> bool:
        if self.arguments.commit_on == "ready":
            return self.session.is_ready(job)
        return self.session.is_pipelined(job)

    def _victims_on(self, need: Need, row: int) -> list[Task] | None:
        """Whom plugins give up on the node; None where that does not suffice."""
        session, task = self.session, need.task
        candidates = [victim for victim in self._room_for(task).movable_on(row) if need.may_be_met_by(victim)]
        candidates = least_important_first(session, candidates, session.jobs[task.job])
        by_all = self.arguments.victim_mode == "intersectAll"
        victims = session.preemptable(task, candidates, by_all=by_all)
        if fits_with(session, task, row, victims):
            return victims
        if need.barren is not None:
            need.barren.look_at(task, row, candidates)
        return None

    def _worth_a_look(self, need: Need) -> Mask:
        """Nodes where room may be made; the others would be refused after a closer look."""
        hopeful = self._room_for(need.task).rows_for(need.task)
        return hopeful if need.barren is None else hopeful & ~need.barren.rows_for(need.task)

    def inside(self, job: Job) -> None:
        """Let the job's own tasks make room for more important ones; the first failure ends it."""
        session, everywhere = self.session, self.session.domains.top.nodes
        tasks = tasks_in_order(session, ungated_tasks(job))
        itself = JobFilter(session, lambda one: one is job)
        if not self.arguments.keeps_torn_gangs:
            self._inside_whole(job, tasks, itself)
            return
        while tasks:
            with session.statement() as statement:
                if not self.make_room(statement, Need(tasks.popleft(), itself), everywhere):
                    return
                statement.commit()

    def _inside_whole(self, job: Job, tasks: TaskLine, itself: JobFilter) -> None:
        """The same, but nothing of it stays unless the gang will be complete."""
        with self.session.statement() as statement:
            while tasks:
                if not self.make_room(
                    statement, Need(tasks.popleft(), itself), self.session.domains.top.nodes
                ):
                    break
            if self._suffices(job):
                statement.commit()

    def make_room(self, statement: Statement, need: Need, among: Mask) -> bool:
        """Promise the task one of these nodes, evicting there whom it needs to; False where none will do."""
        session, task = self.session, need.task
        if not may_preempt(session, task) or session.objection_to(task) is not None:
            return False
        allowed = among & without_hopeless(session, task)
        nodes = self._finder.find(task, allowed, session.scoring.curable_nodes(task))
        make_room = self._make_least_harm if self.arguments.is_topology_aware else self._make_room_on_best
        return any(make_room(statement, need, group) for group in session.by_shard(nodes))

    def _make_room_on_best(self, statement: Statement, need: Need, nodes: Mask) -> bool:
        """The best-scored node where it can be done."""
        ranked = self.session.scoring.ranked(need.task, nodes, showing=self._worth_a_look(need))
        return any(self._make_room_on(statement, need, row) for row in ranked)

    def _make_least_harm(self, statement: Statement, need: Need, nodes: Mask) -> bool:
        """Of the first few nodes where it can be done, the one whose victims matter least."""
        session, task = self.session, need.task
        wanted = self.arguments.candidates_among(int(np.count_nonzero(nodes)))
        plans: list[EvictionPlan] = []
        for row in np.flatnonzero(nodes & self._worth_a_look(need)).tolist():
            if len(plans) >= wanted:
                break
            victims = self._victims_on(need, row)
            plan = None if victims is None else plan_on(session, task, row, victims, Preempt.name)
            plans += [plan] if plan is not None else []
        if not plans:
            return False
        chosen = least_harmful(plans, session.now)
        with session.statement() as attempt:
            for victim in chosen.victims:
                attempt.evict(victim, Preempt.name, beneficiary=task.job)
            if need.proves_fit and not would_run(session, task, chosen.row):
                return False
            if not attempt.pipeline(task, chosen.row, evicted=True):
                return False
            statement.merge(attempt)
            return True

    def _room_for(self, task: Task) -> RoomToFree:
        """What may be freed in the task's queue; kept for the whole action."""
        queue = self.session.jobs[task.job].queue
        if queue not in self._room:
            in_queue = JobFilter(self.session, lambda job: job.queue == queue)
            self._room[queue] = RoomToFree(
                self.session, lambda victim: is_movable(victim) and in_queue[victim.job]
            )
        return self._room[queue]

    def _make_room_on(self, statement: Statement, need: Need, row: int) -> bool:
        session, task = self.session, need.task
        victims = self._victims_on(need, row)
        if victims is None:
            return False
        waiting = victims_in_order(session, victims, task)
        with session.statement() as attempt:
            fits = would_run(session, task, row)
            while waiting and not fits:
                attempt.evict(waiting.pop(), Preempt.name, beneficiary=task.job)
                fits = would_run(session, task, row)
            if not fits or not attempt.pipeline(task, row, evicted=attempt.has_evictions):
                return False
            statement.merge(attempt)
            return True


def is_movable(victim: Task) -> bool:
    return victim.status in PREEMPTABLE_STATUSES and victim.is_preemptable


def is_evictable(victim: Task, preemptor: Task) -> bool:
    """Runs, may be evicted, and is worth it: one that holds nothing gives way only to its like."""
    return is_movable(victim) and (victim.is_best_effort or not preemptor.is_best_effort)


def may_preempt(session: Session, task: Task) -> bool:
    """A task that was promised a node waits for it, unless that promise has become void."""
    pod = task.pod
    if pod.spec.preemption_policy == NEVER:
        session.story.of_job(task.job, f"{task.name} has preemption policy Never")
        return False
    nominated = pod.status.nominated_node_name
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
