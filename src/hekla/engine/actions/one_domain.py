"""One domain: what an action gives a job that asks for network domains lies in domains that the job allows.

For actions that find places task by task: reclaim, preempt, and backfill of reserved room. Domains are tried
from the closest to the widest and the first that will do is taken, where allocate compares them by score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hekla.engine.actions.pending import ungated_tasks_of
from hekla.engine.framework.orders import TaskLine
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


@dataclass(frozen=True)
class Fit:
    """The domain in which a job has all it needs, and those of its sub-jobs."""

    domain: Domain
    of_sub_job: Mapping[str, Domain]


class Goal(Protocol):
    """When an action goes on placing tasks of a job, and when the job, or one sub-job, has all it needs."""

    def goes_on(self, session: Session, job: Job) -> bool: ...

    def is_reached(self, session: Session, job: Job, sub_job: SubJob | None = None) -> bool: ...


class UntilPipelined:
    """The job has all it needs once evicted pods are gone."""

    def goes_on(self, session: Session, job: Job) -> bool:
        return session.is_starving(job)

    def is_reached(self, session: Session, job: Job, sub_job: SubJob | None = None) -> bool:
        if sub_job is None:
            return session.is_pipelined(job)
        return session.sub_job_is_ready(job, sub_job) or session.sub_job_is_pipelined(job, sub_job)


class UntilReady:
    """The job has all it needs now."""

    def goes_on(self, session: Session, job: Job) -> bool:
        return not session.is_ready(job)

    def is_reached(self, session: Session, job: Job, sub_job: SubJob | None = None) -> bool:
        return session.is_ready(job) if sub_job is None else session.sub_job_is_ready(job, sub_job)


@dataclass(frozen=True)
class OneDomain:
    """The search for one job; a job that has all it needs already is given one task more."""

    session: Session
    job: Job
    goal: Goal

    def place(
        self,
        statement: Statement,
        placing: Callable[[], PlaceTask],
        accepts: Callable[[Statement, Fit], bool] = lambda _statement, _fit: True,
    ) -> Fit | None:
        """Place the job in the first domain that will do; None, and nothing done, where there is none.

        `placing` is called for each attempt: what was learned in one that was undone may not hold any more.
        """
        session, job = self.session, self.job
        gradients = session.gradients_of_job(job, session.domains.top, Purpose.MAKE_ROOM)
        large_enough = self._large_enough()
        for domain in (domain for domain in chained(gradients) if large_enough[domain.place]):
            with session.statement() as attempt:
                fit = Fit(domain, self._place_parts(attempt, domain, placing()))
                if attempt.operations and self.goal.is_reached(session, job) and accepts(attempt, fit):
                    statement.merge(attempt)
                    return fit
        return None

    def _large_enough(self) -> Mask:
        """Per domain, whether its nodes could hold what the job lacks if nothing else ran there."""
        session, roster = self.session, self.job.roster
        pending = ungated_tasks_of(session, self.job)
        requests = [task.vector for tasks in pending.tasks_of.values() for task in tasks]
        if not requests or not session.dispatch.requires_minimums:
            return np.ones(len(session.domains.by_name), dtype=np.bool_)
        least = np.min(requests, axis=0)
        asked = least > 0
        on_node = (session.nodes.allocatable[:, asked] // least[asked]).min(axis=1, initial=len(requests))
        return np.asarray(
            session.domains.tree.sums(on_node[:, None])[:, 0] >= roster.missing - roster.waiting
        )

    def _place_parts(self, statement: Statement, bound: Domain, place_task: PlaceTask) -> dict[str, Domain]:
        """What can be placed of the job inside one domain, and where its sub-jobs then lie."""
        pending = ungated_tasks_of(self.session, self.job)
        found: dict[str, Domain] = {}
        while pending:
            sub_job = pending.sub_jobs.pop()
            tasks = pending.tasks_of[sub_job.uid]
            placed = self._place_part(statement, sub_job, tasks, bound, place_task)
            if placed is not None:
                found[sub_job.uid], pending.tasks_of[sub_job.uid] = placed
                if placed[1]:
                    pending.sub_jobs.push(sub_job)
            if not self.goal.goes_on(self.session, self.job):
                break
        return found

    def _place_part(
        self, statement: Statement, sub_job: SubJob, tasks: TaskLine, bound: Domain, place_task: PlaceTask
    ) -> tuple[Domain, TaskLine] | None:
        """The first domain below the bound in which the sub-job has all it needs, and what is left of it."""
        session, job = self.session, self.job
        for domain in chained(session.gradients_of_sub_job(job, sub_job, bound, Purpose.MAKE_ROOM)):
            left = tasks.copy()
            with session.statement() as attempt:
                self._place_tasks(attempt, sub_job, left, domain, place_task)
                if attempt.operations and self.goal.is_reached(session, job, sub_job):
                    statement.merge(attempt)
                    return domain, left
        return None

    def _place_tasks(
        self, statement: Statement, sub_job: SubJob, tasks: TaskLine, domain: Domain, place_task: PlaceTask
    ) -> None:
        """One task after another, until it is enough or cannot be any more."""
        session, job, roster = self.session, self.job, sub_job.roster
        while tasks:
            if len(tasks) < roster.missing - roster.waiting:
                return
            place_task(statement, tasks.popleft(), domain)
            is_enough = job.has_policies and self.goal.is_reached(session, job, sub_job)
            if is_enough or not self.goal.goes_on(session, job):
                return


def chained(gradients: Iterable[Iterable[Domain]]) -> Iterator[Domain]:
    """Every domain once, the preferred ones first."""
    return (domain for gradient in gradients for domain in gradient)


def make_room_in_one_domain(
    session: Session, statement: Statement, job: Job, placing: Callable[[], PlaceTask]
) -> bool:
    """Evict inside one domain until the job will have all it needs there; False, and nothing done, if not."""
    if not has_its_network(session, job):
        return False

    def accepts(attempt: Statement, fit: Fit) -> bool:
        return allocate_will_follow(session, job, attempt, fit)

    if OneDomain(session, job, UntilPipelined()).place(statement, placing, accepts) is not None:
        return True
    session.story.of_job(job.uid, "no network domain that it allows could be freed for it by evictions")
    return False


def allocate_will_follow(session: Session, job: Job, statement: Statement, fit: Fit) -> bool:
    """Whether allocate will try these domains once the evicted pods are gone.

    It may ask for more than room for the minimum: see W-28 in docs/compat.md.
    """
    saved = statement.save()
    statement.discard()
    with session.statement() as gone:
        gone.recover(tuple(operation for operation in saved if operation.kind is Kind.EVICT))
        of_job = session.gradients_of_job(job, session.domains.top, Purpose.AFTER_EVICTIONS)
        is_tried = fit.domain in chained(of_job) and all(
            domain in chained(_of_sub_job(session, job, job.sub_jobs[uid], fit.domain))
            for uid, domain in fit.of_sub_job.items()
        )
    if not is_tried:
        where = f'domain "{fit.domain.name}" could be freed for the minimum'
        session.story.of_job(job.uid, f"{where}, but not for all that waits of it together")
    return statement.recover(saved) and is_tried


def _of_sub_job(session: Session, job: Job, sub_job: SubJob, bound: Domain) -> list[list[Domain]]:
    return session.gradients_of_sub_job(job, sub_job, bound, Purpose.AFTER_EVICTIONS)


def everywhere(session: Session, job: Job) -> Fit:
    """The job in whatever domain."""
    top = session.domains.top
    return Fit(top, dict.fromkeys(job.sub_jobs, top))
