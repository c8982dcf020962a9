"""One domain: what an action gives a job that asks for network domains lies in domains that the job allows.

For actions that find places task by task: reclaim, preempt, and backfill of reserved room. Domains are tried
from the closest to the widest and the first that will do is taken, where allocate compares them by score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import chain

import msgspec
import numpy as np

from hekla.engine.actions.pending import ungated_tasks_of
from hekla.engine.actions.victim_search import ungated_tasks
from hekla.engine.framework.orders import OrderedTasks, tasks_in_order
from hekla.engine.framework.points import Purpose
from hekla.engine.framework.session import Session
from hekla.engine.framework.statement import Kind, Statement
from hekla.engine.framework.topology import has_its_network
from hekla.engine.ledger.arrays import Mask
from hekla.engine.ledger.domains import Domain
from hekla.engine.model.job import Job, SubJob
from hekla.engine.model.task import Task

PlaceTask = Callable[[Statement, Task, Domain], bool]
"""Gives one task a place on a node of the domain; False, and nothing done, where there is none."""


Begin = Callable[[], PlaceTask]
"""Called for each attempt: what was learned in one that was undone may not hold any more."""


class Fit(msgspec.Struct, frozen=True):
    """The domain in which a job has all it needs, and those of its sub-jobs."""

    domain: Domain
    of_sub_job: Mapping[str, Domain]


class OneDomain(msgspec.Struct, frozen=True):
    """The search for one job, until it has all it needs once evicted pods are gone.

    A job that has all it needs already is given one task more.
    """

    session: Session
    job: Job

    def goes_on(self) -> bool:
        return self.session.is_starving(self.job)

    def suffices(self, sub_job: SubJob | None = None) -> bool:
        """Whether the job, or one sub-job, has all it needs."""
        session, job = self.session, self.job
        if sub_job is None:
            return session.is_pipelined(job)
        return session.sub_job_is_ready(job, sub_job) or session.sub_job_is_pipelined(job, sub_job)

    def place(
        self, statement: Statement, begin: Begin, accepts: Callable[[Statement, Fit], bool] | None = None
    ) -> Fit | None:
        """Place the job in the first domain that will do; None, and nothing done, where there is none."""
        session, job = self.session, self.job
        large_enough = self._large_enough()
        for domain in chained(session.gradients_of_job(job, session.domains.top, Purpose.MAKE_ROOM)):
            if not large_enough[domain.place]:
                continue
            with session.statement() as attempt:
                fit = Fit(domain, self._place_sub_jobs(attempt, domain, begin()))
                is_found = bool(attempt.operations) and self.suffices()
                if is_found and (accepts is None or accepts(attempt, fit)):
                    statement.merge(attempt)
                    return fit
        return None

    def _large_enough(self) -> Mask:
        """Per domain, whether its nodes could hold what the job lacks if nothing else ran there."""
        session, roster = self.session, self.job.roster
        pending = ungated_tasks_of(session, self.job)
        requests = [task.vector for tasks in pending.tasks_of.values() for task in tasks]
        if not requests or not session.dispatch.who.requires_minimums:
            return np.ones(len(session.domains.by_name), dtype=np.bool_)
        least = np.min(requests, axis=0)
        asked = least > 0
        on_node = (session.nodes.allocatable[:, asked] // least[asked]).min(axis=1, initial=len(requests))
        room = session.domains.tree.sums(on_node[:, None])[:, 0]
        return np.asarray(room >= roster.missing - roster.waiting)

    def _place_sub_jobs(
        self, statement: Statement, bound: Domain, place_task: PlaceTask
    ) -> dict[str, Domain]:
        """Place what can be placed inside one domain; each sub-job in the first domain below that will do."""
        session, job = self.session, self.job
        pending = ungated_tasks_of(session, job)
        found: dict[str, Domain] = {}
        while pending:
            sub_job = pending.sub_jobs.pop()
            for domain in chained(session.gradients_of_sub_job(job, sub_job, bound, Purpose.MAKE_ROOM)):
                tasks = pending.tasks_of[sub_job.uid].copy()
                with session.statement() as attempt:
                    self._place_tasks(attempt, sub_job, tasks, domain, place_task)
                    if not attempt.operations or not self.suffices(sub_job):
                        continue
                    statement.merge(attempt)
                found[sub_job.uid], pending.tasks_of[sub_job.uid] = domain, tasks
                if tasks:
                    pending.sub_jobs.push(sub_job)
                break
            if not self.goes_on():
                break
        return found

    def _place_tasks(
        self,
        statement: Statement,
        sub_job: SubJob,
        tasks: OrderedTasks,
        domain: Domain,
        place_task: PlaceTask,
    ) -> None:
        """One task after another, until it is enough or cannot be any more."""
        roster = sub_job.roster
        while tasks and len(tasks) >= roster.missing - roster.waiting:
            place_task(statement, tasks.popleft(), domain)
            if (self.job.has_policies and self.suffices(sub_job)) or not self.goes_on():
                return


class OneDomainNow(OneDomain, frozen=True):
    """The same until the job can start at once."""

    def goes_on(self) -> bool:
        return not self.suffices()

    def suffices(self, sub_job: SubJob | None = None) -> bool:
        session, job = self.session, self.job
        return session.is_ready(job) if sub_job is None else session.sub_job_is_ready(job, sub_job)


def chained(gradients: Iterable[Iterable[Domain]]) -> Iterable[Domain]:
    """Every domain once, the preferred ones first."""
    return chain.from_iterable(gradients)


def make_room_anywhere(session: Session, statement: Statement, job: Job, place_task: PlaceTask) -> None:
    """Make room for one task after another, wherever that is, until the job has all it needs."""
    tasks = tasks_in_order(session, ungated_tasks(job))
    while tasks and session.is_starving(job):
        place_task(statement, tasks.popleft(), session.domains.top)


def make_room_in_one_domain(session: Session, statement: Statement, job: Job, begin: Begin) -> bool:
    """Evict inside one domain until the job will have all it needs there; False, and nothing done, if not."""
    if not has_its_network(session, job):
        return False
    accepts = partial(allocate_will_follow, session, job)
    if OneDomain(session, job).place(statement, begin, accepts) is not None:
        return True
    session.trace.of_job(job.uid, "no network domain that it allows could be freed for it by evictions")
    return False


def allocate_will_follow(session: Session, job: Job, statement: Statement, fit: Fit) -> bool:
    """Whether allocate will try these domains once the evicted pods are gone.

    It may ask for more than room for the minimum: see W-28 in docs/compat.md.
    """
    saved = statement.save()
    statement.discard()
    purpose = Purpose.AFTER_EVICTIONS
    with session.statement() as gone:
        gone.recover(tuple(operation for operation in saved if operation.kind is Kind.EVICT))
        is_tried = fit.domain in chained(session.gradients_of_job(job, session.domains.top, purpose)) and all(
            domain in chained(session.gradients_of_sub_job(job, job.sub_jobs[uid], fit.domain, purpose))
            for uid, domain in fit.of_sub_job.items()
        )
    if not is_tried:
        where = f'domain "{fit.domain.name}" could be freed for the minimum'
        session.trace.of_job(job.uid, f"{where}, but not for all that waits of it together")
    return statement.recover(saved) and is_tried


def everywhere(session: Session, job: Job) -> Fit:
    """The job in whatever domain."""
    top = session.domains.top
    return Fit(top, dict.fromkeys(job.sub_jobs, top))
