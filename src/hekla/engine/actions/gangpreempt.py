"""Gangpreempt: inside a queue, let less important jobs make room for a whole gang in one network domain."""

from __future__ import annotations

from functools import partial

from hekla.conf import read_arguments
from hekla.engine.actions.allocate import AllocateArguments
from hekla.engine.actions.bundles import Bundle
from hekla.engine.actions.gang_eviction import GangEviction, GangEvictionArguments, demand_of, lets_go
from hekla.engine.actions.victim_search import starving_jobs
from hekla.engine.framework.action import Action
from hekla.engine.framework.orders import job_goes_first, queues_in_order
from hekla.engine.framework.session import Session
from hekla.engine.model.job import Job
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task


class GangPreempt(Action):
    name = "gangpreempt"
    Arguments = GangEvictionArguments

    def run(self, session: Session) -> None:
        jobs = [job for job in session.jobs_in_line() if session.is_eligible(job)]
        starving = starving_jobs(session, jobs)
        queues = queues_in_order(session, (session.queues[name] for name in starving))

        def least_important_first(left: Bundle, right: Bundle) -> bool | None:
            return None if left.job is right.job else not job_goes_first(session, left.job, right.job)

        eviction = GangEviction(
            session, self.name, self.arguments, least_important_first, remembers_refusals(session)
        )
        while queues:
            waiting = starving[queues.pop().name]
            while waiting:
                job = waiting.pop()
                if demand := demand_of(session, job):
                    eviction.make_room(job, demand, partial(is_victim, session, job))


def remembers_refusals(session: Session) -> bool:
    """The gang-aware actions go by allocate's setting of the error cache, as in Volcano."""
    return read_arguments(AllocateArguments, session.conf.arguments_of("allocate"), "allocate")[0].error_cache


def is_victim(session: Session, preemptor: Job, task: Task) -> bool:
    """Runs in the same queue, for a job that matters strictly less and lets its pods go."""
    job = session.jobs.get(task.job)
    return (
        job is not None
        and task.status in (Status.BOUND, Status.RUNNING)
        and task.is_preemptable
        and job.queue == preemptor.queue
        and job.priority < preemptor.priority
        and lets_go(job)
    )
