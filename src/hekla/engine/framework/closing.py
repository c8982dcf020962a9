"""Closing a session: conditions, PodGroup phases, pod messages and queue totals become decisions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from hekla.clock import stopwatch
from hekla.engine.framework.decisions import (
    Decision,
    Nominate,
    Tell,
    UpdatePodGroup,
    UpdateQueue,
    UpdateShard,
)
from hekla.engine.framework.messages import (
    UNSCHEDULABLE,
    reason_of,
    said,
    status_line,
    unschedulable,
    without_what_is_left,
)
from hekla.engine.ledger.arrays import Amounts
from hekla.engine.ledger.demand import sum_of
from hekla.engine.model.job import COMPLETED, INQUEUE, PENDING, RUNNING, UNKNOWN, Job
from hekla.engine.model.node import status_of_shard
from hekla.engine.model.queue import ROOT
from hekla.engine.model.resources import amounts_in
from hekla.engine.model.status import ALLOCATED_SET, TERMINATED_SET, Status
from hekla.engine.model.task import Task
from hekla.lazy import lazy
from hekla.objects import Condition, NodeShard
from hekla.objects.meta import ResourceList
from hekla.objects.scheduling import PodGroupStatus

if TYPE_CHECKING:
    from hekla.engine.framework.session import Session


class Conditions:
    """The PodGroup conditions of a session: one per type, replaced in place."""

    def __init__(self, session_uid: str, now: float) -> None:
        self._uid = session_uid
        self._now = now
        self._of_job: dict[str, list[Condition]] = {}
        self._unschedulable: set[str] = set()
        self._summaries: dict[str, str] = {}
        self._remarks: dict[str, list[str]] = {}

    @lazy
    def _time(self) -> datetime:
        return datetime.fromtimestamp(self._now, UTC)

    def summary_of(self, job: Job) -> str:
        """The line on the whole job as all actions left it; conditions and pods are told the same."""
        line = self._summaries.get(job.uid)
        if line is None:
            line = self._summaries[job.uid] = ". ".join([status_line(job), *self._remarks.get(job.uid, ())])
        return line

    def remark(self, job: Job, text: str) -> None:
        """Say something more on the whole job."""
        self._remarks.setdefault(job.uid, []).append(text)

    def of(self, job: Job) -> list[Condition]:
        known = self._of_job.get(job.uid)
        if known is None:
            known = self._of_job[job.uid] = [*job.pod_group.status.conditions]
        return known

    def write(self, job: Job, condition: Condition) -> None:
        """An unchanged condition keeps the time at which it was first written."""
        conditions = self.of(job)
        if condition.type == UNSCHEDULABLE:
            self._unschedulable.add(job.uid)
        at = next((i for i, known in enumerate(conditions) if known.type == condition.type), None)
        since = self._time
        if at is not None and said(conditions[at]) == said(condition):
            since = conditions[at].last_transition_time or since
        fresh = msgspec.structs.replace(condition, transition_id=self._uid, last_transition_time=since)
        if at is None:
            conditions.append(fresh)
        else:
            conditions[at] = fresh

    def withdraw(self, job: Job, kind: str) -> None:
        """What was said no longer holds."""
        self._of_job[job.uid] = [known for known in self.of(job) if known.type != kind]

    def is_unschedulable(self, job: Job) -> bool:
        """Whether this very session called the job unschedulable."""
        return job.uid in self._unschedulable


def close_session(session: Session) -> None:
    """Let plugins write their conditions, then turn everything that changed into decisions."""
    not_admitted = [session.jobs[uid] for uid in session.not_admitted if session.jobs[uid].is_pending]
    for job in not_admitted:
        session.conditions.remark(job, session.not_admitted[job.uid])
    for plugin in [session.plugins[at] for at in session.registrations.told_of_closing]:
        began = stopwatch()
        plugin.on_close()
        session.closing[plugin.name] = stopwatch() - began
    for job in not_admitted:
        # Of a gang that runs in part the gang plugin tells how it fares, or nothing.
        if not job.roster.having(Status.RUNNING) and not session.conditions.is_unschedulable(job):
            session.conditions.write(job, unschedulable(session.not_admitted[job.uid]))
    if session.beneficiaries is not None:
        session.beneficiaries.close()
    for job in session.changed_jobs():
        job.phase = phase_of(job)
        status = status_of_group(session, job)
        is_news = says_something_else(status, job.pod_group.status)
        if is_news:
            session.decisions.append(UpdatePodGroup(job.uid, status))
        pod_news = [*_pod_news(session, job)]
        session.decisions += pod_news
        _pay_attention(session, job, status if is_news else None, has_pod_news=bool(pod_news))
    session.decisions += [*_queue_news(session), *_shard_news(session)]


def _pay_attention(session: Session, job: Job, news: PodGroupStatus | None, *, has_pod_news: bool) -> None:
    """Jobs of which there is nothing more to decide or to tell need not be looked at in later cycles."""
    # Why a job lacks tasks is told in full by sessions that are not quiet, and goes by the job's phase.
    if job.roster.has_places or (news is None and not session.is_quiet):
        session.attention.report(job, news)
    if news is None and not has_pod_news and not session.is_quiet:
        session.attention.has_told(job, session.trace.jobs.get(job.uid, []))


def phase_of(job: Job) -> str:
    """Where a PodGroup stands; only what the cluster has seen placed counts."""
    roster = job.roster
    placed = roster.scheduled + roster.releasing_on_nodes
    if placed >= job.minimum:
        return COMPLETED if placed == roster.count(TERMINATED_SET) else RUNNING
    return INQUEUE if job.phase == INQUEUE else PENDING


def status_of_group(session: Session, job: Job) -> PodGroupStatus:
    roster = job.roster
    # Part of it runs, and the rest was found unschedulable just now: the cluster is told so, though
    # the cycle itself goes by what is placed. See docs/compat.md.
    # As in Volcano, best-effort tasks that wait do not make it so.
    runs_in_part = (
        roster.having(Status.RUNNING) and not roster.is_ready and session.conditions.is_unschedulable(job)
    )
    return PodGroupStatus(
        phase=UNKNOWN if runs_in_part else job.phase,
        conditions=job.pod_group.status.conditions if job.is_leaving else tuple(session.conditions.of(job)),
        running=len(roster.having(Status.RUNNING)),
        succeeded=len(roster.having(Status.SUCCEEDED)),
        failed=len(roster.having(Status.FAILED)),
    )


def says_something_else(status: PodGroupStatus, known: PodGroupStatus) -> bool:
    counts = (status.running, status.succeeded, status.failed)
    return (
        status.phase != known.phase
        or counts != (known.running, known.succeeded, known.failed)
        or [*map(said, status.conditions)] != [*map(said, known.conditions)]
    )


def _pod_news(session: Session, job: Job) -> Iterable[Decision]:
    """Why each task does not run yet, where that is news; and where it is nominated."""
    waiting = [
        task
        for status in (Status.ALLOCATED, Status.PENDING, Status.PIPELINED)
        for task in job.roster.having(status).values()
        if not task.is_gated and not (session.is_quiet and is_not_nominated(task))
    ]
    is_told = not session.is_quiet and not job.is_leaving
    line = session.conditions.summary_of(job) if waiting and is_told else ""
    for task in waiting:
        if is_told:
            reason, message = reason_of(job, task, session.nodes.names)
            if not _knows(task, reason, message or line):
                yield Tell(task.key, task.uid, reason, message or line)
        nominated = task.pod.status.nominated_node_name
        if (node := _nominated_node(session, task)) != nominated:
            yield Nominate(task.key, task.uid, node)


def is_not_nominated(task: Task) -> bool:
    """No node was named to the task before, and none was freed for it now."""
    return not task.evicted and not task.pod.status.nominated_node_name


def _nominated_node(session: Session, task: Task) -> str:
    """The node the task may count on: room was freed there for it, or is still being freed. See ADR 0007."""
    nominated, beneficiaries = task.pod.status.nominated_node_name, session.beneficiaries
    is_pipelined = task.status is Status.PIPELINED
    if is_pipelined and (task.evicted or (beneficiaries is not None and task.job in beneficiaries.new)):
        return task.node_name
    if nominated and beneficiaries is not None and task.job in beneficiaries.reserved:
        return task.node_name if is_pipelined else nominated
    row = session.nodes.row_of.get(nominated)
    return nominated if row is not None and session.nodes.releasing[row].any() else ""


def _knows(task: Task, reason: str, message: str) -> bool:
    return any(
        said(condition) == ("PodScheduled", "False", reason, without_what_is_left(message))
        for condition in task.pod.status.conditions
    )


def _queue_news(session: Session) -> Iterable[Decision]:
    """What each queue's tasks hold, rolled up to its parents, where that has changed."""
    if session.is_quiet:
        return
    held: dict[str, Amounts] = {}
    zero = np.zeros(len(session.axis), dtype=np.int64)
    amounts = [(name, sums.held) for name, sums in session.queue_sums.items()]
    amounts += [
        (job.queue, sum_of(job.roster.among(ALLOCATED_SET), zero) - job.held)
        for job in session.changed_jobs()
    ]
    for queue_name, amount in amounts:
        for name in _with_ancestors(session, queue_name):
            held[name] = held.get(name, zero) + amount
    for name, queue in session.queues.items():
        allocated = session.axis.resources(held.get(name, zero))
        known = queue.manifest.status.allocated if queue.manifest is not None else {}
        if allocated != _without_zeros(known):
            yield UpdateQueue(name, allocated)


def _shard_news(session: Session) -> Iterable[Decision]:
    """Which nodes the own shard has in use, where that has changed."""
    shard = session.snapshot.shard
    for manifest in session.snapshot.all_of(NodeShard):
        if manifest.metadata.name == shard.name:
            status = status_of_shard(manifest, shard)
            if status != manifest.status:
                yield UpdateShard(shard.name, status)


def _with_ancestors(session: Session, name: str) -> list[str]:
    """The queue and its parents up to the root; a cycle or a missing parent ends the walk."""
    line = [name]
    while line[-1] != ROOT:
        parent = session.queues[line[-1]].parent or ROOT
        if parent in line or parent not in session.queues:
            break
        line.append(parent)
    return line


def _without_zeros(allocated: ResourceList) -> dict[str, int]:
    return {name: amount for name, amount in amounts_in(allocated).items() if amount}
