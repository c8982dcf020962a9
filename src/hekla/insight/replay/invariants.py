"""Invariants: what no cycle may do, counted from the pods alone.

A node on which more is asked for than it has, by a pod that this cycle put there; and a gang of which this
cycle started fewer than start together. Whoever judges does not look into the engine's books.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from hekla.framework.decisions import Bind
from hekla.framework.session import Session
from hekla.model.requests import demand_of
from hekla.model.resources import Resources
from hekla.model.status import READY_SET, Status, status_of
from hekla.model.task import Task
from hekla.scheduler.cycle import CycleReport

OVERCOMMITTED, HALF_PLACED = "overcommitted node", "half-placed gang"


@dataclass(frozen=True)
class Breach:
    """One broken rule: which, whose, and by how much."""

    kind: str
    subject: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}: {self.detail}"


def breaches(report: CycleReport) -> list[Breach]:
    """What this cycle broke; nothing, unless there is a bug."""
    if not any(isinstance(decision, Bind) for decision in report.decisions):
        return []
    return [*_overcommitted(report), *_half_placed(report)]


def _overcommitted(report: CycleReport) -> Iterator[Breach]:
    bound = {decision.uid: decision.node for decision in report.decisions if isinstance(decision, Bind)}
    pods_on: dict[str, list[Task]] = defaultdict(list)
    for task in report.session.tasks:
        where = bound.get(task.uid, task.pod.spec.node_name)
        if where and status_of(task.pod) not in (Status.SUCCEEDED, Status.FAILED):
            pods_on[where].append(task)
    for name in dict.fromkeys(bound.values()):
        node = report.session.nodes.nodes[report.session.nodes.row_of[name]]
        added = _sum([task for task in pods_on[name] if task.uid in bound])
        for resource, amount in _sum(pods_on[name]).items():
            offered = node.allocatable.get(resource, 0)
            if added.get(resource, 0) > 0 and amount > offered:
                yield Breach(OVERCOMMITTED, name, f"{resource}: {amount} asked for, {offered} there")


def _sum(tasks: list[Task]) -> Resources:
    total: Resources = {}
    for task in tasks:
        for name, amount in demand_of(task.pod)[0].items():
            total[name] = total.get(name, 0) + amount
    return total


def _half_placed(report: CycleReport) -> Iterator[Breach]:
    session = report.session
    if not _is_strict_about_gangs(session):
        return
    for uid in dict.fromkeys(d.job for d in report.decisions if isinstance(d, Bind)):
        job = session.jobs.get(uid)
        if job is None:
            continue
        started = sum(
            task.status in READY_SET or (task.is_best_effort and task.status is Status.PENDING)
            for task in job.tasks.values()
        )
        if started < job.minimum:
            yield Breach(HALF_PLACED, uid, f"{started} of {job.minimum} that start together")


def _is_strict_about_gangs(session: Session) -> bool:
    return any(entry.name == "gang" and entry.enabled("enableJobReady") for entry in session.conf.plugins)
