"""Nomination: a sub-job for which a gang-aware eviction freed a domain goes right there, as planned."""

from __future__ import annotations

from hekla.engine.framework.orders import OrderedTasks
from hekla.engine.framework.session import Session
from hekla.engine.framework.statement import Statement
from hekla.engine.ledger.domains import Domain
from hekla.engine.model.job import Job, SubJob
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task


def nominate_from_pods(session: Session, job: Job) -> None:
    """Learn a sub-job's domain from the nodes that its waiting pods were promised in an earlier cycle."""
    rows_by_name = session.nodes.row_of
    for sub_job in job.sub_jobs.values():
        waiting = sub_job.roster.having(Status.PENDING).values()
        rows = [rows_by_name.get(task.pod.status.nominated_node_name) for task in waiting]
        known = [row for row in rows if row is not None]
        if known and len(known) == len(rows):
            sub_job.nominated = session.domains.lowest_around(known) or session.domains.top.name


def place_as_nominated(
    session: Session, statement: Statement, job: Job, sub_job: SubJob, tasks: OrderedTasks, *, bound: Domain
) -> bool:
    """Give every task the node it was promised; where one of them cannot have it, the promise is void."""
    if not sub_job.nominated:
        return False
    nominated = sub_job.nominated
    domain = session.domains.by_name.get(nominated)
    if domain is not None and bound.name not in session.domains.ancestors(nominated):
        return False  # another domain is being tried; the promise stands
    with session.statement() as attempt:
        if domain is None or not _place_all(session, attempt, job, tasks, domain):
            sub_job.nominated = ""
            return False
        if not (session.sub_job_is_ready(job, sub_job) or session.sub_job_is_pipelined(job, sub_job)):
            sub_job.nominated = ""
            return False
        statement.merge(attempt)
    tasks.clear()
    sub_job.domain = session.domains.common(sub_job.domain, nominated)
    return True


def _place_all(session: Session, attempt: Statement, job: Job, tasks: OrderedTasks, domain: Domain) -> bool:
    queue = session.queues[job.queue]
    for task in tasks:
        row = session.nodes.row_of.get(task.pod.status.nominated_node_name)
        if row is None or not domain.nodes[row] or not session.is_allocatable(queue, task):
            return False
        if session.objection_to(task) is not None or not _is_open(session, task, row):
            return False
        now = session.nodes.fits_now(task, row)
        if not (attempt.allocate(task, row) if now else attempt.pipeline(task, row)):
            return False
    return True


def _is_open(session: Session, task: Task, row: int) -> bool:
    return session.nodes.fits_later(task, row) and bool(session.scoring.open_nodes(task)[row])
