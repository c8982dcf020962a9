"""Gangreclaim: let other queues give back room for a whole gang in one network domain."""

from __future__ import annotations

from functools import partial

from hekla.engine.actions.bundles import Bundle
from hekla.engine.actions.gang_eviction import GangEviction, GangEvictionArguments, demand_of, lets_go
from hekla.engine.actions.gangpreempt import remembers_refusals
from hekla.engine.actions.victim_search import starving_jobs
from hekla.engine.framework.action import Action
from hekla.engine.framework.heap import Heap
from hekla.engine.framework.orders import queues_in_order, victim_queue_goes_first
from hekla.engine.framework.session import Session
from hekla.engine.model.job import Job
from hekla.engine.model.queue import Queue
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task


class GangReclaim(Action):
    name = "gangreclaim"
    Arguments = GangEvictionArguments

    def run(self, session: Session) -> None:
        jobs = [job for job in session.jobs_in_line() if session.is_eligible(job)]
        starving = starving_jobs(session, jobs)
        queues = queues_in_order(session, (session.queues[name] for name in starving))
        while queues:
            queue = queues.pop()
            if not session.is_overused(queue):
                self._reclaim_for(session, queue, starving[queue.name])

    def _reclaim_for(self, session: Session, queue: Queue, jobs: Heap[Job]) -> None:
        def by_queue(left: Bundle, right: Bundle) -> bool | None:
            if left.job.queue == right.job.queue:
                return None
            mine, theirs = session.queues[left.job.queue], session.queues[right.job.queue]
            return victim_queue_goes_first(session, mine, theirs, queue)

        eviction = GangEviction(session, self.name, self.arguments, by_queue, remembers_refusals(session))
        while jobs:
            job = jobs.pop()
            demand = demand_of(session, job)
            if demand and session.is_preemptive(queue, demand):
                eviction.make_room(job, demand, partial(is_victim, session, queue))


def is_victim(session: Session, queue: Queue, task: Task) -> bool:
    """Runs in another queue that lets its excess go, for a job that lets its pods go."""
    job = session.jobs.get(task.job)
    return (
        job is not None
        and task.status is Status.RUNNING
        and task.is_preemptable
        and job.queue != queue.name
        and session.queues[job.queue].is_reclaimable
        and lets_go(job)
    )
