"""Reserved room: what the session keeps for jobs that cannot start goes to jobs that can.

This is backfill as kube-batch's design describes it. A job gives up only places that were never
made real, only as many as are needed, and gets them back where the other job cannot start either.
Priority plays no part: a place that starts no job helps no job.

What allocate heeds is heeded here too: pre-filters and filters, scores, the own shard before others, the node
that a task was nominated for, queues that have had their share and what they may take, network domains. It
differs where places are taken at once or not at all:

- tasks behind a gate stay where they are: a gate that waits for the queue is opened by allocate;
- nothing is promised: room that is being released is left to allocate;
- each task is looked at afresh, without memory of nodes that refused another one, and the gang goes on after
  a task that found no place: what counts is whether the job can start in the end;
- of the network domains that a job allows the first that will do is taken, without scoring them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial

import numpy as np

from hekla.engine.actions.one_domain import Fit, OneDomain, PlaceTask, UntilReady
from hekla.engine.actions.victim_search import ungated_tasks
from hekla.engine.framework.orders import Turns, by_name, tasks_in_order, victims_in_order
from hekla.engine.framework.session import Session
from hekla.engine.framework.statement import Kind, Statement
from hekla.engine.framework.topology import has_its_network
from hekla.engine.ledger.arrays import Mask
from hekla.engine.ledger.domains import TOP, Domain
from hekla.engine.model.diagnosis import refused_everywhere
from hekla.engine.model.job import Job
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task

Givers = dict[int, list[Task]]
"""By row of a node, the tasks that would give up their places there."""


def backfill_reserved_room(session: Session) -> None:
    """Queue by queue, job by job: a job that becomes ready keeps what it took."""
    turns = Turns(session, in_peace=False)  # jobs that wait may lose what was kept for them
    for job in session.jobs_in_line():
        if session.is_eligible(job) and asking_tasks(job) and has_its_network(session, job):
            turns.add(job)
    while turns.queues:
        jobs = turns.jobs_of[turns.queues.pop().name]
        while jobs:
            job = jobs.pop()
            if place_with_reserved_room(session, job) and asking_tasks(job):
                jobs.push(job)


def asking_tasks(job: Job) -> list[Task]:
    return [task for task in ungated_tasks(job) if not task.is_best_effort]


def place_with_reserved_room(session: Session, job: Job) -> bool:
    """Place the job's tasks until it may start; True where it was bound, otherwise all is as it was."""
    with session.statement() as statement:
        place = place_in_one_domain if job.is_bounded else place_anywhere
        if not place(session, statement, job):
            return False
        tell_givers(session, statement, job)
        statement.commit()
    # It starts whole: what the session kept for it earlier is bound with the rest.
    session.bind_placed(job)
    return True


def place_anywhere(session: Session, statement: Statement, job: Job) -> bool:
    for task in tasks_in_order(session, asking_tasks(job)):
        if take_place(session, statement, task, session.domains.top) and session.is_ready(job):
            return True
    return False


def place_in_one_domain(session: Session, statement: Statement, job: Job) -> bool:
    """The same for a job that allows certain network domains only."""

    def placing() -> PlaceTask:
        return partial(take_place, session)

    fit = OneDomain(session, job, UntilReady()).place(statement, placing)
    if fit is not None:
        remember(session, job, fit)
    return fit is not None


def tell_givers(session: Session, statement: Statement, job: Job) -> None:
    given_up = Counter(op.task.job for op in statement.operations if op.kind is Kind.GIVE_UP)
    for uid, count in given_up.items():
        taker = f"{job.namespace}/{job.title}"
        session.story.of_job(uid, f"{count} of the places held for it went to {taker}, which can start")


def remember(session: Session, job: Job, fit: Fit) -> None:
    """The job and its sub-jobs lie in these domains now."""
    domains = session.domains
    job.domain = domains.common(job.domain, fit.domain.name)
    for uid, domain in fit.of_sub_job.items():
        job.sub_jobs[uid].domain = domains.common(job.sub_jobs[uid].domain, domain.name)


def take_place(session: Session, statement: Statement, task: Task, domain: Domain) -> bool:
    """One of a domain's nodes with idle room if there is any, else with room that others give up."""
    objection = session.objection_to(task)
    if objection is not None:
        session.refuse(task, refused_everywhere(objection.reason, len(session.nodes), objection.code))
        return False
    known = session.fitting.class_of(task)
    idle = session.fitting.narrowed(task, known.is_open) & known.fits_now & domain.nodes
    row = best_node(session, task, idle)
    if row is not None:
        return take(session, statement, task, row, ())
    givers = givers_of(session, task, domain.nodes)
    row = best_node(session, task, open_without(session, task, givers))
    if row is None:
        hypernode = "" if domain.name == TOP else domain.name
        session.refuse(
            task, session.fitting.diagnose(task, domain.nodes, with_room=True, hypernode=hypernode)
        )
        return False
    return take(session, statement, task, row, givers[row])


def best_node(session: Session, task: Task, among: Mask) -> int | None:
    """The node that the task was nominated for, else the best one, of the own shard if it can be."""
    nominated = session.nodes.row_of.get(task.pod.status.nominated_node_name)
    if nominated is not None and among[nominated]:
        return nominated
    known = session.fitting.class_of(task)
    rows = (session.fitting.best(task, known, group) for group in session.by_shard(among))
    return next((row for row in rows if row is not None), None)


def take(session: Session, statement: Statement, task: Task, row: int, givers: Sequence[Task]) -> bool:
    """Give the task the node once others have given up their places there, if its queue may have that."""
    queue = session.queues[session.jobs[task.job].queue]
    with session.statement() as attempt:
        for giver in givers:
            attempt.give_up(giver)
        # Only now: the queue held what was given up.
        if session.is_overused(queue) or not session.is_allocatable(queue, task):
            return False
        if not attempt.allocate(task, row):
            return False
        statement.merge(attempt)
    return True


def givers_of(session: Session, task: Task, among: Mask) -> Givers:
    """Where others hold places that the task could have, and who of them would have to give up."""
    holders = {job.uid: job for job in session.jobs.values() if may_give(session, job, task)}
    held = (place for job in holders.values() for place in job.roster.having(Status.ALLOCATED).values())
    rows = sorted({place.node for place in held if among[place.node]})
    return {row: givers for row in rows if (givers := fewest_givers(session, task, row, holders))}


def may_give(session: Session, job: Job, task: Task) -> bool:
    """Another job of the same queue that cannot start; how important it is plays no part."""
    return job.queue == session.jobs[task.job].queue and job.uid != task.job and not session.is_ready(job)


def fewest_givers(session: Session, task: Task, row: int, holders: Collection[str]) -> list[Task]:
    """The fewest held places that make room for the task on this node; none where they do not suffice."""
    here = session.nodes.tasks_on[row].values()
    held = by_name([one for one in here if one.status is Status.ALLOCATED and one.job in holders])
    waiting = victims_in_order(session, held, task)
    room, columns = session.nodes.idle[row].copy(), list(task.asked)
    chosen: list[Task] = []
    while waiting and not (room >= task.vector)[columns].all():
        chosen.append(waiting.pop())
        room += chosen[-1].vector
    return chosen if (room >= task.vector)[columns].all() else []


def open_without(session: Session, task: Task, givers: Givers) -> Mask:
    """The nodes that filters would let the task have, with those who would make room gone."""
    candidates = np.zeros(len(session.nodes), dtype=np.bool_)
    for row, victims in givers.items():
        with session.statement() as supposition:
            for victim in victims:
                supposition.give_up(victim)
            candidates[row] = session.fitting.open_nodes(task)[row]
    return candidates
