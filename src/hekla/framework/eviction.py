"""Eviction: what preempt and reclaim have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np

from hekla.conf import argument
from hekla.framework.heap import Heap
from hekla.framework.orders import jobs_in_order
from hekla.framework.session import Session
from hekla.ledger.arrays import Amounts, Mask
from hekla.ledger.nodes import covers
from hekla.model.job import Job
from hekla.model.status import Status
from hekla.model.task import NOWHERE, Task

Filter = Callable[[Task], bool]

NEVER = "Never"


def victim_mode_argument() -> Literal["tiers", "intersectAll"]:
    """How plugins agree on victims, which preempt and reclaim have under the same name."""
    return argument(
        "tiers", key="victimMode", help="victims are agreed on tier by tier, or by all plugins together"
    )


def starving_jobs(session: Session, jobs: Iterable[Job]) -> dict[str, Heap[Job]]:
    """Jobs that need others to make room, by queue."""
    by_queue: dict[str, Heap[Job]] = {}
    for job in jobs:
        if session.is_starving(job):
            by_queue.setdefault(job.queue, jobs_in_order(session)).push(job)
    return by_queue


def ungated_tasks(job: Job) -> list[Task]:
    return [task for task in job.roster.having(Status.PENDING).values() if not task.is_gated]


def candidates_on(session: Session, row: int, is_candidate: Filter) -> list[Task]:
    """Tasks on a node that the filter lets through, in order of their names."""
    on_node = session.nodes.tasks_on[row]
    return [task for key in sorted(on_node) if is_candidate(task := on_node[key])]


def room_held_by(session: Session, tasks: Iterable[Task]) -> Amounts:
    """What these tasks hold on each node; (N, R)."""
    placed = [task for task in tasks if task.node != NOWHERE]
    held = np.zeros_like(session.nodes.future)
    if placed:
        rows = np.array([task.node for task in placed], dtype=np.intp)
        np.add.at(held, rows, np.stack([task.vector for task in placed]))
    return held


def would_fit(session: Session, task: Task, held: Amounts) -> Mask:
    """Nodes that could hold the task if everything counted in `held` went.

    An upper bound is enough: it only spares nodes the closer look that would refuse them too.
    """
    if not session.shortcuts.upper_bounds:
        return np.ones(len(session.nodes), dtype=np.bool_)
    return covers(session.nodes.future + held, task)


def fits_with(session: Session, task: Task, row: int, victims: list[Task]) -> bool:
    """Would the node hold the task with these victims gone?"""
    room = session.nodes.future[row].copy()
    for victim in victims:
        room += victim.vector
    return bool((room >= task.vector)[list(task.asked)].all())


def without_hopeless(session: Session, task: Task) -> Mask:
    """All nodes but those that refused the task for good earlier in this cycle."""
    entry = session.jobs[task.job].fit_errors.get(task.uid)
    if entry is None or entry.unresolvable is None:
        return np.ones(len(session.nodes), dtype=np.bool_)
    return ~entry.unresolvable
