"""Reserved room: what the session keeps for jobs that cannot start goes to jobs that can.

This is backfill as kube-batch's design describes it. A job gives up only places that were never
made real, only as many as are needed, and gets them back where the other job cannot start either.
Priority plays no part: a place that starts no job helps no job.

What allocate heeds is heeded here too: pre-filters and filters, scores, the own shard before others, the node
that a task was nominated for, queues that have had their share and what they may take, network domains. It
differs where places are taken at once or not at all:

- tasks behind a gate stay where they are: a gate that waits for the queue is opened by allocate;
- nothing is pipelined: room that is being released is left to allocate;
- each task is looked at afresh, without memory of nodes that refused another one, and the gang goes on after
  a task that found no place: what counts is whether the job can start in the end;
- of the network domains that a job allows the first that will do is taken, without scoring them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial

import numpy as np

from hekla.engine.actions.one_domain import OneDomainNow
from hekla.engine.actions.victim_search import ungated_tasks
from hekla.engine.framework.orders import FairOrder, by_name, tasks_in_order, victims_in_order
from hekla.engine.framework.session import Session
from hekla.engine.framework.statement import Kind, Statement
from hekla.engine.framework.topology import has_its_network
from hekla.engine.ledger.arrays import Mask
from hekla.engine.ledger.domains import TOP, Domain
from hekla.engine.model.diagnosis import refused_everywhere
from hekla.engine.model.job import Job
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task

Holders = dict[int, list[Task]]
"""By row of a node, the tasks that would give up their places there."""


def backfill_reserved_room(session: Session) -> None:
    """Queue by queue, job by job: a job that becomes ready keeps what it took."""
    agenda = FairOrder(session, fixed_keys=False)  # jobs that wait may lose what was kept for them
    for job in session.jobs_in_line():
        if session.is_eligible(job) and asking_tasks(job) and has_its_network(session, job):
            agenda.add(job)
    while agenda.queues:
        jobs = agenda.jobs_of[agenda.queues.pop().name]
        while jobs:
            job = jobs.pop()
            if place_with_reserved_room(session, job) and asking_tasks(job):
                jobs.push(job)


def asking_tasks(job: Job) -> list[Task]:
    return [task for task in ungated_tasks(job) if not task.is_best_effort]


def place_with_reserved_room(session: Session, job: Job) -> bool:
    """Place the job's tasks until it may start; True where it was bound, otherwise all is as it was."""
    with session.statement() as statement:
        place = place_in_one_domain if job.is_bounded else place_until_ready
        if not place(session, statement, job):
            return False
        tell_holders(session, statement, job)
        statement.commit()
    # It starts whole: what the session kept for it earlier is bound with the rest.
    session.bind_placed(job)
    return True


def place_until_ready(session: Session, statement: Statement, job: Job) -> bool:
    return any(
        take_place(session, statement, task, session.domains.top) and session.is_ready(job)
        for task in tasks_in_order(session, asking_tasks(job))
    )


def place_in_one_domain(session: Session, statement: Statement, job: Job) -> bool:
    """The same for a job that allows certain network domains only; it and its sub-jobs lie in them then."""
    fit = OneDomainNow(session, job).place(statement, lambda: partial(take_place, session))
    if fit is None:
        return False
    common = session.domains.common
    job.domain = common(job.domain, fit.domain.name)
    for uid, domain in fit.of_sub_job.items():
        job.sub_jobs[uid].domain = common(job.sub_jobs[uid].domain, domain.name)
    return True


def tell_holders(session: Session, statement: Statement, job: Job) -> None:
    given_up = Counter(op.task.job for op in statement.operations if op.kind is Kind.GIVE_UP)
    for uid, count in given_up.items():
        taker = f"{job.namespace}/{job.title}"
        session.trace.of_job(uid, f"{count} of the places held for it went to {taker}, which can start")


def take_place(session: Session, statement: Statement, task: Task, domain: Domain) -> bool:
    """One of a domain's nodes with idle room if there is any, else with room that other jobs' tasks hold."""
    if is_refused_everywhere(session, task):
        return False
    holders = Holders()
    idle = session.scoring.open_nodes(task) & session.nodes.can_hold(task) & domain.nodes
    row = nominated_or_best_node(session, task, idle)
    if row is None:
        holders = holders_for(session, task, domain.nodes)
        row = nominated_or_best_node(session, task, open_without(session, task, holders))
    if row is None:
        hypernode = "" if domain.name == TOP else domain.name
        diagnosis = session.scoring.diagnose(task, domain.nodes, with_room=True, hypernode=hypernode)
        session.refuse(task, diagnosis)
        return False
    return take(session, statement, task, row, holders.get(row, ()))


def is_refused_everywhere(session: Session, task: Task) -> bool:
    """Whether a plugin keeps the task off all nodes, which is then remembered."""
    objection = session.objection_to(task)
    if objection is not None:
        session.refuse(task, refused_everywhere(objection, len(session.nodes)))
    return objection is not None


def nominated_or_best_node(session: Session, task: Task, among: Mask) -> int | None:
    nominated = session.nodes.row_of.get(task.pod.status.nominated_node_name)
    return nominated if nominated is not None and among[nominated] else best_node(session, task, among)


def best_node(session: Session, task: Task, among: Mask) -> int | None:
    """The best of these nodes, of the own shard if it can be."""
    rows = (session.scoring.best(task, group) for group in session.by_shard(among))
    return next((row for row in rows if row is not None), None)


def take(session: Session, statement: Statement, task: Task, row: int, holders: Sequence[Task]) -> bool:
    """Give the task the node once the holders have given up their places, if its queue may have that."""
    queue = session.queues[session.jobs[task.job].queue]
    with session.statement() as attempt:
        for holder in holders:
            attempt.give_up(holder)
        # Only now: the queue held what was given up.
        may_take = not session.is_overused(queue) and session.is_allocatable(queue, task)
        if not may_take or not attempt.allocate(task, row):
            return False
        statement.merge(attempt)
    return True


def holders_for(session: Session, task: Task, among: Mask) -> Holders:
    """Which held places it could have: of jobs of its queue that cannot start, whatever their priority."""
    own = session.jobs[task.job]
    jobs = {
        job.uid: job
        for job in session.jobs.values()
        if job.queue == own.queue and job is not own and not session.is_ready(job)
    }
    held = (place for job in jobs.values() for place in job.roster.having(Status.ALLOCATED).values())
    rows = sorted({place.node for place in held if among[place.node]})
    return {row: holders for row in rows if (holders := fewest_holders(session, task, row, jobs))}


def fewest_holders(session: Session, task: Task, row: int, jobs: Collection[str]) -> list[Task]:
    """The fewest held places that make room for the task on this node; none where they do not suffice."""
    here = session.nodes.tasks_on[row].values()
    held = by_name([one for one in here if one.status is Status.ALLOCATED and one.job in jobs])
    waiting = victims_in_order(session, held, task)
    room, columns = session.nodes.idle[row].copy(), list(task.asked)
    chosen: list[Task] = []
    while waiting and not (room >= task.vector)[columns].all():
        chosen.append(waiting.pop())
        room += chosen[-1].vector
    return chosen if (room >= task.vector)[columns].all() else []


def open_without(session: Session, task: Task, holders: Holders) -> Mask:
    """The nodes that filters would let the task have, with the holders that would make room gone."""
    candidates = np.zeros(len(session.nodes), dtype=np.bool_)
    for row, of_row in holders.items():
        with session.statement() as supposition:
            for holder in of_row:
                supposition.give_up(holder)
            candidates[row] = session.scoring.open_nodes(task)[row]
    return candidates
