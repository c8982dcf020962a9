"""Gangpreempt and gangreclaim: make room for a whole gang in one network domain, breaking few other gangs.

Gangpreempt takes it from less important jobs of the same queue, gangreclaim from other queues. Victims are
chosen in bundles; a plan is tried for real in the session, undone, and made again only if the whole gang
would have a place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cmp_to_key, partial

import numpy as np

from hekla.conf import argument, read_arguments
from hekla.engine.actions.allocate import AllocateArguments
from hekla.engine.actions.bundles import Bundle, bundles_of, total_of
from hekla.engine.actions.one_domain import chained
from hekla.engine.actions.pending import ungated_tasks_of
from hekla.engine.actions.victim_search import resolvable, starving_queues
from hekla.engine.framework import points
from hekla.engine.framework.action import Action
from hekla.engine.framework.finder import NodeFinder
from hekla.engine.framework.heap import Heap
from hekla.engine.framework.orders import (
    OrderedTasks,
    job_goes_first,
    victim_queue_goes_first,
)
from hekla.engine.framework.plugin import EvictionContext
from hekla.engine.framework.points import Purpose
from hekla.engine.framework.session import Session
from hekla.engine.framework.statement import Operation, Statement
from hekla.engine.ledger.arrays import Amounts
from hekla.engine.ledger.domains import Domain
from hekla.engine.model.job import Job, SubJob
from hekla.engine.model.queue import QueueInfo
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task, flag
from hekla.lazy import lazy
from hekla.objects.keys import PREEMPTABLE

GoesFirst = Callable[[Bundle, Bundle], bool | None]
"""Which of two bundles of one kind is evicted first; None where it does not matter."""

IsVictim = Callable[[Task, Job], bool]
"""Whether a task of that job may be evicted."""


@dataclass(frozen=True)
class GangEvictionArguments:
    most_domains: int = argument(8, key="maxDomains", minimum=1, help="how many network domains to try")
    breaks_gangs: bool = argument(
        True, key="allowWholeBundle", help="break whole gangs where their spare tasks do not suffice"
    )
    evicts_rest: bool = argument(
        False, key="evictWholeGang", help="of a gang that is broken, evict what runs elsewhere too"
    )


class GangPreempt(Action):
    name = "gangpreempt"
    Arguments = GangEvictionArguments

    def run(self, session: Session) -> None:
        def least_important_first(left: Bundle, right: Bundle) -> bool | None:
            return None if left.job is right.job else not job_goes_first(session, left.job, right.job)

        def is_victim(preemptor: Job, task: Task, job: Job) -> bool:
            is_placed = task.status in (Status.BOUND, Status.RUNNING)
            return is_placed and job.queue == preemptor.queue and job.priority < preemptor.priority

        for _, jobs in starving_queues(session, filter(session.is_eligible, session.jobs_in_line())):
            for job, demand in starving_gangs(session, jobs):
                eviction = GangEviction(session, self, job, least_important_first, partial(is_victim, job))
                eviction.make_room(demand)


class GangReclaim(Action):
    name = "gangreclaim"
    Arguments = GangEvictionArguments

    def run(self, session: Session) -> None:
        def by_queue(reclaimer: QueueInfo, left: Bundle, right: Bundle) -> bool | None:
            if left.job.queue == right.job.queue:
                return None
            mine, theirs = session.queues[left.job.queue], session.queues[right.job.queue]
            return victim_queue_goes_first(session, mine, theirs, reclaimer)

        def is_victim(reclaimer: QueueInfo, task: Task, job: Job) -> bool:
            is_other = task.status is Status.RUNNING and job.queue != reclaimer.name
            return is_other and session.queues[job.queue].is_reclaimable

        for queue, jobs in starving_queues(session, filter(session.is_eligible, session.jobs_in_line())):
            if session.is_overused(queue):
                continue
            for job, demand in starving_gangs(session, jobs):
                if session.is_preemptive(queue, demand):
                    order, may_go = partial(by_queue, queue), partial(is_victim, queue)
                    GangEviction(session, self, job, order, may_go).make_room(demand)


def starving_gangs(session: Session, jobs: Heap[Job]) -> Iterator[tuple[Job, list[Task]]]:
    """The jobs in order, each with the tasks to make room for; of a job that runs, those of one sub-job."""
    while jobs:
        job = jobs.pop()
        pending = ungated_tasks_of(session, job)
        parts = []
        while pending:
            parts.append(list(pending.tasks_of[pending.sub_jobs.pop().uid]))
        if demand := [task for part in parts[: 1 if session.is_ready(job) else None] for task in part]:
            yield job, demand


Plan = tuple[tuple[Operation, ...], dict[str, str]]
"""What to do again, and by UID of each planned sub-job the domain that it gets."""


@dataclass
class GangEviction:
    """Making room for one job: which tasks may be victims, and in which order their bundles go."""

    session: Session
    action: Action
    job: Job
    goes_first: GoesFirst
    is_victim: IsVictim

    def make_room(self, demand: list[Task]) -> None:
        """Evict what the job needs and pipeline it, or leave no trace."""
        session, job = self.session, self.job
        for domain in self._domains():
            plan = self._plan_in(domain, demand)
            if plan is None:
                continue
            operations, domain_of = plan
            with session.statement() as statement:
                if statement.recover(operations) and session.is_pipelined(job):
                    statement.commit()
                    for uid, name in domain_of.items():
                        job.sub_jobs[uid].nominated = name
            return
        session.trace.of_job(job.uid, "no domain has victims enough to make room for the whole gang")

    @lazy
    def _remembers_refusals(self) -> bool:
        """The gang-aware actions go by allocate's setting of the error cache, as in Volcano."""
        settings = self.session.conf.arguments_of("allocate")
        return read_arguments(AllocateArguments, settings, "allocate")[0].error_cache

    def _domains(self) -> list[Domain]:
        top = self.session.domains.top
        gradients = self.session.gradients_of_job(self.job, top, Purpose.EVICT)
        found = list({domain.name: domain for domain in chained(gradients)}.values())
        if not found and not self.job.is_bounded:
            found = [top]
        return found[: self.action.arguments.most_domains]

    def _plan_in(self, domain: Domain, demand: list[Task]) -> Plan | None:
        """Take bundle after bundle until a plan works out."""
        nodes, need = self.session.nodes, total_of(demand)
        asked = sorted({column for task in demand for column in task.asked})
        room = (nodes.idle + nodes.releasing)[domain.nodes].sum(axis=0)
        victims: list[Task] = []
        for bundle in self._bundles(domain, need):
            victims += bundle.tasks
            if self.action.arguments.evicts_rest and not bundle.is_safe:
                victims += self._rest_of(bundle, victims)
            if (need <= room + total_of(victims))[asked].all():
                plan = self._plan_without(victims, domain)
                if plan is not None:
                    return plan
        return None

    def _rest_of(self, bundle: Bundle, victims: list[Task]) -> list[Task]:
        """What else runs of a gang that is broken anyway."""
        known = {task.uid for task in victims}
        running = bundle.job.roster.among((Status.BOUND, Status.RUNNING))
        return [task for task in running if task.is_preemptable and task.uid not in known]

    def _bundles(self, domain: Domain, need: Amounts) -> list[Bundle]:
        """Bundles in the domain that plugins let go, in the order they are to be evicted."""
        session = self.session
        of_job: dict[str, list[Task]] = {}
        for row in np.flatnonzero(domain.nodes).tolist():
            for _, task in sorted(session.nodes.tasks_on[row].items()):
                job = session.jobs.get(task.job)
                if job is not None and task.is_preemptable and self.is_victim(task, job) and lets_go(job):
                    of_job.setdefault(job.uid, []).append(task)
        found = [
            one for uid, tasks in of_job.items() for one in bundles_of(session, session.jobs[uid], tasks)
        ]
        ordered = self._sorted(found, need)
        context = EvictionContext(self.action.name, self.job, domain.name)
        offered = [task for bundle in ordered for task in bundle.tasks]
        allowed = {task.uid for task in session.ask(points.UNIFIED_EVICTABLE, context, offered)}
        return self._sorted(filter(None, [self._allowed_part(bundle, allowed) for bundle in ordered]), need)

    def _allowed_part(self, bundle: Bundle, allowed: set[str]) -> Bundle | None:
        tasks = tuple(task for task in bundle.tasks if task.uid in allowed)
        if bundle.is_safe:
            return Bundle(bundle.job, tasks, is_safe=True) if tasks else None
        return bundle if self.action.arguments.breaks_gangs and len(tasks) == len(bundle.tasks) else None

    def _sorted(self, bundles: Iterable[Bundle], need: Amounts) -> list[Bundle]:
        def last_criteria(bundle: Bundle) -> tuple[float, str, str]:
            return -bundle.efficiency(need), bundle.job.uid, bundle.tasks[0].uid

        def compare(left: Bundle, right: Bundle) -> int:
            if left.is_safe != right.is_safe:
                return -1 if left.is_safe else 1
            first = self.goes_first(left, right)
            if first is None:
                first = last_criteria(left) < last_criteria(right)
            return -1 if first else 1

        return sorted(bundles, key=cmp_to_key(compare))

    def _plan_without(self, victims: list[Task], domain: Domain) -> Plan | None:
        """Try to place the gang in the domain with the victims gone; the session is clean afterwards."""
        session, job = self.session, self.job
        domain_of: dict[str, str] = {}
        was_ready = session.is_ready(job)
        pending = ungated_tasks_of(session, job)
        with session.statement() as statement:
            for victim in victims:
                statement.evict(victim, self.action.name, beneficiary=job.uid)
            while pending:
                sub_job = pending.sub_jobs.pop()
                chosen = self._place(statement, sub_job, pending.tasks_of[sub_job.uid], domain)
                if chosen is None:
                    return None
                domain_of[sub_job.uid] = chosen
                if was_ready or session.is_pipelined(job):
                    break
            return (statement.save(), domain_of) if domain_of and session.is_pipelined(job) else None

    def _place(self, statement: Statement, sub_job: SubJob, tasks: OrderedTasks, bound: Domain) -> str | None:
        """The first domain below the bound that holds the sub-job; None where there is none."""
        session, job = self.session, self.job
        gradients = (
            session.gradients_of_sub_job(job, sub_job, bound, Purpose.EVICT) if job.is_bounded else [[bound]]
        )
        for domain in chained(gradients):
            with session.statement() as trial:
                if self._place_all(trial, sub_job, tasks, domain):
                    statement.merge(trial)
                    return domain.name
        return None

    def _place_all(self, trial: Statement, sub_job: SubJob, tasks: Iterable[Task], domain: Domain) -> bool:
        session, job = self.session, self.job
        finder = NodeFinder(session, self._remembers_refusals)
        queue = session.queues[job.queue]
        for task in tasks:
            if not session.is_allocatable(queue, task) or session.objection_to(task) is not None:
                return False
            nodes = resolvable(session, task, domain.nodes)
            passes = session.scoring.curable_nodes(task) & session.nodes.will_hold(task)
            choice = session.scoring.choose(task, finder.find(task, nodes, passes))
            # Room now is not taken now: the gang starts together once the victims are gone.
            if choice is None or not trial.pipeline(task, choice.row, evicted=True):
                return False
        return session.sub_job_is_ready(job, sub_job) or session.sub_job_is_pipelined(job, sub_job)


def lets_go(job: Job) -> bool:
    """A pod group may refuse to be preempted; one that says nothing does not."""
    meta = job.pod_group.metadata
    return flag(meta.annotations, meta.labels, PREEMPTABLE, default=True)
