"""Gang-aware eviction: make room for a whole gang in one network domain, breaking as few gangs as it can.

Shared by gangpreempt (inside a queue) and gangreclaim (across queues). Victims are chosen in
bundles; a plan is tried for real in the session, undone, and made again only if the whole gang
would have a place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cmp_to_key

import numpy as np

from hekla.conf import argument
from hekla.engine.actions.bundles import Bundle, bundles_of, total_of
from hekla.engine.actions.placing import choose
from hekla.engine.actions.worksheet import ungated_worksheet_of
from hekla.engine.framework import points
from hekla.engine.framework.eviction import without_hopeless
from hekla.engine.framework.finder import NodeFinder
from hekla.engine.framework.gang_eviction import EvictionContext
from hekla.engine.framework.orders import TaskLine
from hekla.engine.framework.points import Purpose
from hekla.engine.framework.session import Session
from hekla.engine.framework.statement import Operation, Statement
from hekla.engine.ledger.arrays import Amounts
from hekla.engine.ledger.domains import Domain
from hekla.engine.model.job import Job, SubJob
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task, flag
from hekla.objects.keys import PREEMPTABLE

GoesFirst = Callable[[Bundle, Bundle], bool | None]
"""Which of two bundles of one kind is evicted first; None where it does not matter."""

IsVictim = Callable[[Task], bool]


@dataclass(frozen=True)
class GangEvictionArguments:
    most_domains: int = argument(8, key="maxDomains", minimum=1, help="how many network domains to try")
    breaks_gangs: bool = argument(
        True, key="allowWholeBundle", help="break whole gangs where their spare tasks do not suffice"
    )
    evicts_rest: bool = argument(
        False, key="evictWholeGang", help="of a gang that is broken, evict what runs elsewhere too"
    )


@dataclass
class Plan:
    """What to do again, and the domain that each planned sub-job gets."""

    operations: tuple[Operation, ...]
    domain_of: dict[str, str] = field(default_factory=dict)


@dataclass
class GangEviction:
    """One action's way of making room: who may be a victim, and in which order bundles go."""

    session: Session
    kind: str
    arguments: GangEvictionArguments
    goes_first: GoesFirst
    error_cache: bool = True

    def make_room(self, job: Job, demand: list[Task], is_victim: IsVictim) -> None:
        """Evict what the job needs and promise it the room, or leave no trace."""
        session = self.session
        need, asked = total_of(demand), sorted({column for task in demand for column in task.asked})
        for domain in self._domains(job):
            plan = self._plan_in(job, domain, need, asked, is_victim)
            if plan is None:
                continue
            with session.statement() as statement:
                if statement.recover(plan.operations) and session.is_pipelined(job):
                    statement.commit()
                    for uid, name in plan.domain_of.items():
                        job.sub_jobs[uid].nominated = name
            return
        session.story.of_job(job.uid, "no domain has victims enough to make room for the whole gang")

    def _domains(self, job: Job) -> list[Domain]:
        top = self.session.domains.top
        gradients = self.session.gradients_of_job(job, top, Purpose.EVICT)
        found = list({domain.name: domain for gradient in gradients for domain in gradient}.values())
        if not found and not job.is_bounded:
            found = [top]
        return found[: self.arguments.most_domains]

    def _plan_in(
        self, job: Job, domain: Domain, need: Amounts, asked: list[int], is_victim: IsVictim
    ) -> Plan | None:
        """Take bundle after bundle until a plan works out."""
        nodes = self.session.nodes
        room = (nodes.idle + nodes.releasing)[domain.nodes].sum(axis=0)
        victims: list[Task] = []
        for bundle in self._bundles(job, domain, need, is_victim):
            victims += bundle.tasks
            if self.arguments.evicts_rest and not bundle.is_safe:
                victims += self._rest_of(bundle, victims)
            if (need <= room + total_of(victims))[asked].all():
                plan = GangPlanner(self.session, job, self.kind, self.error_cache).plan(domain, victims)
                if plan is not None:
                    return plan
        return None

    def _rest_of(self, bundle: Bundle, victims: list[Task]) -> list[Task]:
        """What else runs of a gang that is broken anyway."""
        known = {task.uid for task in victims}
        running = bundle.job.roster.among((Status.BOUND, Status.RUNNING))
        return [task for task in running if task.is_preemptable and task.uid not in known]

    def _bundles(self, job: Job, domain: Domain, need: Amounts, is_victim: IsVictim) -> list[Bundle]:
        """Bundles in the domain that plugins let go, in the order they are to be evicted."""
        session = self.session
        of_job: dict[str, list[Task]] = {}
        for row in np.flatnonzero(domain.nodes).tolist():
            for key in sorted(session.nodes.tasks_on[row]):
                task = session.nodes.tasks_on[row][key]
                if is_victim(task):
                    of_job.setdefault(task.job, []).append(task)
        bundles = [b for uid, tasks in of_job.items() for b in bundles_of(session, session.jobs[uid], tasks)]
        ordered = self._sorted(bundles, need)
        context = EvictionContext(self.kind, job, domain.name)
        offered = [task for bundle in ordered for task in bundle.tasks]
        allowed = {task.uid for task in session.ask(points.UNIFIED_EVICTABLE, context, offered)}
        kept = [left for bundle in ordered if (left := self._allowed_part(bundle, allowed)) is not None]
        return self._sorted(kept, need)

    def _allowed_part(self, bundle: Bundle, allowed: set[str]) -> Bundle | None:
        tasks = tuple(task for task in bundle.tasks if task.uid in allowed)
        if bundle.is_safe:
            return Bundle(bundle.job, tasks, is_safe=True) if tasks else None
        return bundle if self.arguments.breaks_gangs and len(tasks) == len(bundle.tasks) else None

    def _sorted(self, bundles: Iterable[Bundle], need: Amounts) -> list[Bundle]:
        def compare(left: Bundle, right: Bundle) -> int:
            if left.is_safe != right.is_safe:
                return -1 if left.is_safe else 1
            first = self.goes_first(left, right)
            if first is not None:
                return -1 if first else 1
            mine, theirs = _last_criteria(left, need), _last_criteria(right, need)
            return (mine > theirs) - (mine < theirs)

        return sorted(bundles, key=cmp_to_key(compare))


def _last_criteria(bundle: Bundle, need: Amounts) -> tuple[float, str, str, int]:
    return -bundle.efficiency(need), bundle.job.uid, bundle.tasks[0].uid, len(bundle.tasks)


@dataclass
class GangPlanner:
    """Tries to place a job's gang in a domain with the victims gone; the session is clean afterwards."""

    session: Session
    job: Job
    kind: str
    error_cache: bool

    def plan(self, domain: Domain, victims: list[Task]) -> Plan | None:
        session, job = self.session, self.job
        was_ready = session.is_ready(job)
        worksheet = ungated_worksheet_of(session, job)
        if not worksheet:
            return None
        plan = Plan(())
        with session.statement() as statement:
            for victim in victims:
                statement.evict(victim, self.kind, beneficiary=job.uid)
            while worksheet:
                sub_job = worksheet.sub_jobs.pop()
                chosen = self._place(statement, sub_job, worksheet.tasks_of[sub_job.uid], domain)
                if chosen is None:
                    return None
                plan.domain_of[sub_job.uid] = chosen
                if was_ready or session.is_pipelined(job):
                    break
            if not session.is_pipelined(job):
                return None
            plan.operations = statement.save()
        return plan

    def _place(self, statement: Statement, sub_job: SubJob, tasks: TaskLine, bound: Domain) -> str | None:
        """The first domain below the bound that holds the sub-job; None where there is none."""
        session, job = self.session, self.job
        gradients = (
            session.gradients_of_sub_job(job, sub_job, bound, Purpose.EVICT) if job.is_bounded else [[bound]]
        )
        for domain in (domain for gradient in gradients for domain in gradient):
            with session.statement() as trial:
                if self._place_all(trial, sub_job, tasks, domain):
                    statement.merge(trial)
                    return domain.name
        return None

    def _place_all(self, trial: Statement, sub_job: SubJob, tasks: Iterable[Task], domain: Domain) -> bool:
        session, job = self.session, self.job
        finder = NodeFinder(session, self.error_cache)
        queue = session.queues[job.queue]
        for task in tasks:
            if not session.is_allocatable(queue, task) or session.objection_to(task) is not None:
                return False
            known = session.fitting.class_of(task)
            nodes = domain.nodes & without_hopeless(session, task)
            passes = session.fitting.curable_nodes(task) & known.fits_later
            choice = choose(session, task, known, finder.find(task, nodes, passes))
            # Room now is not taken now: the gang starts together once the victims are gone.
            if choice is None or not trial.pipeline(task, choice.row, evicted=True):
                return False
        return session.sub_job_is_ready(job, sub_job) or session.sub_job_is_pipelined(job, sub_job)


def demand_of(session: Session, job: Job) -> list[Task]:
    """The tasks to make room for: all that wait, or, of a job that runs, those of its next sub-job."""
    worksheet = ungated_worksheet_of(session, job)
    parts = []
    while worksheet:
        parts.append(list(worksheet.tasks_of[worksheet.sub_jobs.pop().uid]))
    if session.is_ready(job):
        parts = parts[:1]
    return [task for part in parts for task in part]


def lets_go(job: Job) -> bool:
    """A pod group may refuse to be preempted; one that says nothing does not."""
    meta = job.pod_group.metadata
    return flag(meta.annotations, meta.labels, PREEMPTABLE, default=True)
