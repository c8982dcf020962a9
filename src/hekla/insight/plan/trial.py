"""Trial: let cycles decide on a job until it has started, or until nothing changes without pods ending.

A job has started once as many of its pods are bound as its gang needs. Evictions take a second cycle, in
which the room they made must really go to the job: being pipelined is not enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from hekla.engine.explain.explanation import Explanation, explain
from hekla.engine.framework.decisions import Bind, Evict
from hekla.engine.model.diagnosis import Diagnosis
from hekla.engine.model.job import Job
from hekla.engine.model.status import READY_SET
from hekla.insight.plan.whatif import WhatIfCluster
from hekla.objects import Manifest
from hekla.scheduler.cycle import CycleReport
from hekla.scheduler.left_out import explain_left_out

MOST_CYCLES = 50
"""More than any plan needs; jobs that evict each other in turns end sooner, when no new pod is evicted."""


class PlannedStart(Enum):
    """When a job would start."""

    NOW = "now"
    LATER = "later"
    NOT = "not"


@dataclass(frozen=True)
class Loser:
    """A job that loses pods to the planned one."""

    job: str
    queue: str
    action: str
    """The action that takes them: preempt, reclaim, ..."""
    pods: tuple[str, ...]
    left: int
    """How many pods it has on nodes afterwards."""
    minimum: int

    @property
    def is_broken(self) -> bool:
        """Too few of it are left to go on as a gang."""
        return self.left < self.minimum

    def as_data(self) -> dict[str, object]:
        return {
            "job": self.job,
            "queue": self.queue,
            "action": self.action,
            "pods": list(self.pods),
            "left": self.left,
            "minimum": self.minimum,
        }


@dataclass(frozen=True)
class Shortage:
    """One reason that keeps pods off nodes, and how many nodes it speaks for."""

    reason: str
    nodes: int
    of: int

    def as_data(self) -> dict[str, object]:
        return {"reason": self.reason, "nodes": self.nodes, "of": self.of}


@dataclass(frozen=True)
class Trial:
    """What became of a job, and of the other jobs meanwhile."""

    start: PlannedStart
    cycles: int
    placements: Mapping[str, str]
    """Node by pod."""
    explanation: Explanation
    """Of the job as the last cycle left it."""
    losers: tuple[Loser, ...] = ()
    leaving: int = 0
    """How many pods were on their way out already."""
    shortages: tuple[Shortage, ...] = ()
    bound_of_others: Mapping[str, int] = field(default_factory=dict)
    """How many pods of each other job were bound meanwhile."""

    @property
    def starts(self) -> bool:
        return self.start is not PlannedStart.NOT

    @property
    def pods_lost(self) -> int:
        return sum(len(loser.pods) for loser in self.losers)


def try_out(
    cluster: WhatIfCluster,
    objects: Sequence[Manifest],
    uid: str,
    *,
    instead_of: Sequence[Manifest] = (),
    keep: bool = False,
) -> Trial:
    """What would become of the job that these objects make up, in the place of others or beside them.

    Without objects it is a job that is there already. The cluster is left as it was, or kept.
    """
    for manifest in instead_of:
        cluster.remove(manifest)
    for manifest in objects:
        cluster.put(manifest)
    run = _Run(cluster, uid, 0 if objects else len(cluster.pods_on_nodes(uid)))
    try:
        trial = run.to_the_end()
        if keep:
            cluster.carry_out(run.last.decisions)
    finally:
        if keep:
            cluster.keep()
        else:
            cluster.take_back()
    return trial


def bound_without(cluster: WhatIfCluster, cycles: int, gone: Sequence[Manifest] = ()) -> Counter[str]:
    """How many pods of each job would be bound in so many cycles if nothing came, and these were gone."""
    bound: Counter[str] = Counter()
    memory = cluster.fresh_memory()
    for manifest in gone:
        cluster.remove(manifest)
    try:
        for number in range(1, cycles + 1):
            report = cluster.cycle(number, memory)
            bound.update(d.job for d in report.decisions if isinstance(d, Bind))
            if number < cycles:
                cluster.carry_out(report.decisions)
    finally:
        cluster.take_back()
    return bound


class _Run:
    """One job on its way through the cycles."""

    def __init__(self, cluster: WhatIfCluster, uid: str, on_nodes: int) -> None:
        self._cluster = cluster
        self._uid = uid
        self._on_nodes = on_nodes
        self._placements: dict[str, str] = {}
        self._bound: Counter[str] = Counter()
        self._victims: dict[str, Evict] = {}
        self._owner_of: dict[str, str] = {}
        self._evicted: set[str] = set()
        self._makes_room = False
        self._leaving = cluster.leaving_pods
        self.last: CycleReport

    def to_the_end(self) -> Trial:
        memory = self._cluster.fresh_memory()
        for number in range(1, MOST_CYCLES + 1):
            self.last = self._cluster.cycle(number, memory)
            self._note(self.last)
            if self._has_started() or number == MOST_CYCLES or not self._may_go_on():
                break
            self._cluster.carry_out(self.last.decisions)
        return self._trial(number)

    def _note(self, report: CycleReport) -> None:
        evicted = {decision.pod for decision in report.decisions if isinstance(decision, Evict)}
        self._makes_room = not evicted <= self._evicted
        self._evicted |= evicted
        for decision in report.decisions:
            if isinstance(decision, Bind):
                self._bound[decision.job] += 1
                if decision.job == self._uid:
                    self._placements[decision.pod] = decision.node
            elif isinstance(decision, Evict) and decision.beneficiary == self._uid:
                self._victims.setdefault(decision.pod, decision)
                task = report.session.tasks.get(decision.pod)
                self._owner_of[decision.pod] = "" if task is None else task.job

    @property
    def _job(self) -> Job | None:
        return self.last.session.jobs.get(self._uid)

    def _has_started(self) -> bool:
        job = self._job
        return job is not None and self._on_nodes + len(self._placements) >= max(job.minimum, 1)

    def _may_go_on(self) -> bool:
        """Whether the next cycle may see the job in a better light: room is made, or it was let in late."""
        job = self._job
        if job is None:
            return False
        actions = self._cluster.setting.conf.actions
        is_let_in_late = not job.is_pending and bool(actions) and actions[0] != "enqueue"
        was_let_in = is_let_in_late and job.pod_group.status.phase != job.phase
        return self._makes_room or was_let_in or self._cluster.leaving_pods > 0

    def _trial(self, cycles: int) -> Trial:
        started = self._has_started()
        others = {uid: count for uid, count in self._bound.items() if uid != self._uid}
        start = (PlannedStart.NOW if cycles == 1 else PlannedStart.LATER) if started else PlannedStart.NOT
        explanation, shortages = self._why()
        return Trial(
            start,
            cycles,
            dict(sorted(self._placements.items())),
            explanation,
            self._losers(),
            self._leaving,
            shortages,
            others,
        )

    def _why(self) -> tuple[Explanation, tuple[Shortage, ...]]:
        session, job = self.last.session, self._job
        if job is None:
            told = explain_left_out(session, self._uid)
            assert told is not None, f"{self._uid} is in the cluster"
            return told, ()
        notes = session.trace.notes_of(job.uid)
        diagnoses = [note.diagnosis for note in notes if note.diagnosis is not None]
        return explain(session, job), shortages_in(diagnoses)

    def _losers(self) -> tuple[Loser, ...]:
        pods: dict[tuple[str, str], list[str]] = {}
        for pod, eviction in self._victims.items():
            pods.setdefault((self._owner_of[pod], eviction.reason), []).append(pod)
        return tuple(self._loser(uid, action, lost) for (uid, action), lost in sorted(pods.items()))

    def _loser(self, uid: str, action: str, pods: list[str]) -> Loser:
        job = self.last.session.jobs.get(uid)
        if job is None:
            return Loser("", "", action, tuple(sorted(pods)), 0, 0)
        left, name = job.roster.count(READY_SET), f"{job.namespace}/{job.title}"
        return Loser(name, job.queue, action, tuple(sorted(pods)), left, job.minimum)


def shortages_in(diagnoses: Sequence[Diagnosis]) -> tuple[Shortage, ...]:
    """What the diagnosis of the first pod that found no node counts, most nodes first."""
    for diagnosis in diagnoses:
        if diagnosis.reasons:
            counted = sorted(diagnosis.reasons, key=lambda r: (-r.count, r.plain or r.text))
            return tuple(Shortage(r.plain or r.text, r.count, diagnosis.nodes) for r in counted)
    return ()
