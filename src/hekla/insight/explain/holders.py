"""Holders: which jobs hold what a job waits for, on the nodes that it may use or in its queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Amounts, Counts, Indices, Mask
from hekla.engine.model.job import Job
from hekla.engine.model.resources import Resources, as_quantities, total
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.engine.model.wait_reason import WaitReason
from hekla.insight.explain.position import left_to_ask

OF_ROOM = frozenset(
    {
        WaitReason.RELEASE,
        WaitReason.ADMISSION_LIMIT,
        WaitReason.NO_ROOM,
        WaitReason.FRAGMENTATION,
        WaitReason.TOPOLOGY,
        WaitReason.ORDER,
    }
)
"""Reasons for which a job waits that pods on nodes could end."""
TAKING = (Status.ALLOCATED, Status.BINDING, Status.BOUND, Status.RUNNING, Status.RELEASING, Status.UNKNOWN)


@dataclass(frozen=True)
class Holder:
    """A job, and what its pods hold there."""

    job: str
    """Empty: pods of no job that this scheduler knows."""
    queue: str
    pods: int
    amounts: Resources
    """Of what the waiting job asks for."""

    def as_data(self) -> dict[str, object]:
        return {
            "job": self.job or None,
            "queue": self.queue or None,
            "pods": self.pods,
            "holds": as_quantities(self.amounts),
        }


@dataclass(frozen=True)
class Holders:
    """Who holds what a job waits for; biggest first."""

    resource: str
    """What is shortest of all that the job asks for."""
    queue: str
    """The queue in which it is held; empty where nodes are short."""
    nodes: tuple[str, ...]
    """The nodes that the job may use; none where its queue is short."""
    held: Resources
    """By all holders together."""
    of: Resources
    """What those nodes have, or the limits of the queue, as far as there are any."""
    jobs: tuple[Holder, ...]

    def as_data(self) -> dict[str, object]:
        return {
            "resource": self.resource,
            "queue": self.queue or None,
            "nodes": list(self.nodes),
            "held": as_quantities(self.held),
            "of": as_quantities(self.of),
            "jobs": [each.as_data() for each in self.jobs],
        }


def holders_of(session: Session, job: Job, code: WaitReason | None) -> Holders | None:
    """Who holds what the job waits for; None where it waits for something else."""
    asked = left_to_ask(session, job)
    if not asked.any():
        return None
    if code is WaitReason.QUEUE_SHARE:
        return _in_queue(session, job, asked)
    return _on_nodes(session, job, asked) if code in OF_ROOM else None


def _on_nodes(session: Session, job: Job, asked: Amounts) -> Holders | None:
    ledger, usable = session.nodes, usable_nodes(session, job)
    rows = np.flatnonzero(usable)
    if not len(rows):
        return None
    tasks = [task for row in rows.tolist() for task in ledger.tasks_on[row].values()]
    column = shortest(session, job, asked, rows)
    jobs = _holders(session, tasks, asked, column, job)
    names = tuple(ledger.names[row] for row in rows.tolist())
    of = _named(session, ledger.allocatable[rows].sum(axis=0), asked, column)
    return Holders(session.axis.names[column], "", names, _held(jobs), of, jobs) if jobs else None


def usable_nodes(session: Session, job: Job) -> Mask:
    """Those that an end of other work could open for some pod of the job; all where it has no pods yet."""
    waiting = [*job.roster.having(Status.PENDING).values(), *job.roster.having(Status.PIPELINED).values()]
    if not waiting:
        every = np.ones(len(session.nodes), dtype=np.bool_)
        return every if session.hard_shard is None else session.hard_shard.copy()
    usable = np.zeros(len(session.nodes), dtype=np.bool_)
    for task in {session.scoring.key_of(task): task for task in waiting}.values():
        session.scoring.class_of(task)
        usable |= session.scoring.curable_nodes(task)
    return usable


def shortest(session: Session, job: Job, asked: Amounts, rows: Indices) -> int:
    """The column of the resource by which the fewest pods of the job fit; of equals that most is short of."""
    idle = np.maximum(session.nodes.idle[rows], 0)
    waiting = list(job.roster.having(Status.PENDING).values())

    def room(column: int) -> tuple[float, float]:
        sizes = [int(task.vector[column]) for task in waiting if task.vector[column]]
        return part_that_fits(idle[:, column], sizes), float(idle[:, column].sum() / asked[column])

    return min(_columns(asked), key=room)


def part_that_fits(idle: Counts, sizes: Sequence[int]) -> float:
    """Which part of some pods has room by one resource alone, each size by itself; 1 for none."""
    if not sizes:
        return 1.0
    fitting = (min(int((idle // size).sum()), len(sizes)) * count for size, count in Counter(sizes).items())
    return sum(fitting) / len(sizes) ** 2


def _in_queue(session: Session, job: Job, asked: Amounts) -> Holders | None:
    """Of its own queue; where that holds nothing the limit is one further up, and the branch there counts."""
    shares = asked / np.maximum(session.total, 1)
    column = int(np.argmax(shares))
    for name in _with_ancestors(session, job.queue):
        branch = {each for each in session.queues if name in _with_ancestors(session, each)}
        members = [each for each in session.jobs.values() if each.queue in branch]
        tasks = [task for each in members for task in each.roster.among(TAKING)]
        jobs = _holders(session, tasks, asked, column, job)
        if jobs:
            held, limits = _held(jobs), session.queues[name].capability
            of = {resource: limits[resource] for resource in held if resource in limits}
            return Holders(session.axis.names[column], name, (), held, of, jobs)
    return None


def _with_ancestors(session: Session, queue: str) -> list[str]:
    """The queue and those above it, up to the root."""
    found: list[str] = []
    while queue in session.queues and queue not in found:
        found.append(queue)
        queue = session.queues[queue].parent
    return found


def _holders(
    session: Session, tasks: Iterable[Task], asked: Amounts, column: int, but: Job
) -> tuple[Holder, ...]:
    """By job, those that hold most of one resource first."""
    amounts: dict[str, Amounts] = {}
    pods: Counter[str] = Counter()
    for task in tasks:
        if task.status in TAKING and task.job != but.uid and task.vector[column]:
            uid = task.job if task.job in session.jobs else ""
            amounts[uid] = amounts.get(uid, 0) + task.vector
            pods[uid] += 1
    order = sorted(amounts, key=lambda uid: (-amounts[uid][column], uid))
    return tuple(
        _holder(session, uid, pods[uid], _named(session, amounts[uid], asked, column)) for uid in order
    )


def _holder(session: Session, uid: str, pods: int, held: Resources) -> Holder:
    if not uid:
        return Holder("", "", pods, held)
    job = session.jobs[uid]
    return Holder(f"{job.namespace}/{job.title}", job.queue, pods, held)


def _columns(asked: Amounts) -> list[int]:
    columns: list[int] = np.flatnonzero(asked).tolist()
    return columns


def _named(session: Session, amounts: Amounts, asked: Amounts, column: int) -> Resources:
    """Of what is asked for, by name; places for pods only where these are short."""
    names, places = session.axis.names, session.axis.pods
    return {names[at]: int(amounts[at]) for at in _columns(asked) if at == column or at != places}


def _held(jobs: Iterable[Holder]) -> Resources:
    return total(each.amounts for each in jobs)
