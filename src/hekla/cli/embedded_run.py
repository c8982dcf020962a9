"""A run of an embedded cluster out of files: its loop, its events as lines, and what became of every job."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hekla.cli.from_files import manifests_in
from hekla.clock import Clock, VirtualClock
from hekla.cluster.embedded import EmbeddedCluster, Options
from hekla.conf import Conf
from hekla.engine.explain.explanation import Explanation
from hekla.engine.framework.decisions import Bind, Decision, Evict, UpdatePodGroup
from hekla.engine.framework.registry import Registry
from hekla.engine.framework.session import Session
from hekla.engine.ledger.domains import TOP
from hekla.engine.model.job import COMPLETED, INQUEUE, Job
from hekla.engine.model.status import READY_SET, TERMINATED_SET, Status
from hekla.objects import Manifest, VolcanoJob
from hekla.scheduler.cycle import CycleReport
from hekla.scheduler.loop import Loop
from hekla.scheduler.outcome import explanations
from hekla.text import UNCUT, counted, some_of, table

NAMES_SHOWN = 4


START = 1_767_225_600.0
"""When virtual time begins: the first second of 2026, so that timestamps look like timestamps."""


def narrate(report: CycleReport) -> list[tuple[str, str]]:
    """Action and sentence, in the order the actions ran."""
    session = report.session
    lines = [("enqueue", f"admits {name}") for name in admitted(report)]
    for action, decisions in report.by_action.items():
        lines += [(action, sentence) for sentence in _binds(session, decisions)]
        lines += [(action, sentence) for sentence in _evictions(session, decisions)]
    lines += [("close", f"{name} is complete") for name in _completed(report)]
    return lines


def _completed(report: CycleReport) -> list[str]:
    """Jobs of which nothing is left to run; a phase alone may say so while new pods are on their way."""
    done = {
        job.title
        for job in report.session.jobs.values()
        if job.roster.count(TERMINATED_SET) == len(job.roster)
    }
    return [name for name in _with_phase(report, COMPLETED) if name in done]


def admitted(report: CycleReport) -> list[str]:
    """Jobs that this cycle let into their queue."""
    return _with_phase(report, INQUEUE)


def _with_phase(report: CycleReport, phase: str) -> list[str]:
    jobs = report.session.jobs
    return [
        jobs[decision.pod_group].title
        for decision in report.decisions
        if isinstance(decision, UpdatePodGroup)
        and decision.status.phase == phase
        and jobs[decision.pod_group].pod_group.status.phase != phase
    ]


def _binds(session: Session, decisions: Iterable[Decision]) -> Iterator[str]:
    task_job = {task.uid: task.job for task in session.tasks}
    nodes_of: dict[str, Counter[str]] = defaultdict(Counter)
    for decision in decisions:
        if isinstance(decision, Bind):
            nodes_of[task_job[decision.uid]][decision.node] += 1
    for uid, nodes in nodes_of.items():
        count = sum(nodes.values())
        places = ", ".join(f"{node} ×{times}" if times > 1 else node for node, times in nodes.items())  # noqa: RUF001
        yield f"binds {counted(count, 'pod')} of {_name(session, uid)}{_domain(session, uid)} ({places})"


def _domain(session: Session, uid: str) -> str:
    """The network domain that the job asked for and got."""
    job = session.jobs[uid]
    return f" in {job.domain}" if job.has_topology and job.domain and job.domain != TOP else ""


def _evictions(session: Session, decisions: Iterable[Decision]) -> Iterator[str]:
    victims: dict[str, list[str]] = defaultdict(list)
    for decision in decisions:
        if isinstance(decision, Evict):
            victims[decision.beneficiary].append(decision.pod.partition("/")[2])
    for beneficiary, pods in victims.items():
        purpose = f" to make room for {_name(session, beneficiary)}" if beneficiary else ""
        yield f"evicts {some_of(pods, NAMES_SHOWN)}{purpose}"


def _name(session: Session, uid: str) -> str:
    return session.jobs[uid].title if uid in session.jobs else uid


def state_of(job: Job) -> str:
    """A PodGroup's state in the words that Volcano Jobs use too."""
    done = job.roster.count(TERMINATED_SET)
    if done and done == len(job.roster):
        return "Failed" if job.roster.having(Status.FAILED) else "Completed"
    return "Running" if job.roster.count(READY_SET) else "Pending"


@dataclass
class JobProgress:
    """One job's life so far; times are seconds since the run began."""

    name: str
    queue: str
    arrived: float
    started: float | None = None
    pods: int = 0
    bound: int = 0
    evicted: int = 0
    state: str = "Pending"

    def row(self) -> tuple[object, ...]:
        waited = "-" if self.started is None else f"{self.started - self.arrived:.0f}s"
        return (self.name, self.queue, self.state, self.pods, waited, self.bound, self.evicted)

    def moments(self) -> tuple[str, str]:
        """When it arrived and started."""
        return f"{self.arrived:.0f}s", "-" if self.started is None else f"{self.started:.0f}s"


@dataclass
class PrintedLog:
    """What became of every job, and what each action did."""

    start: float
    jobs: dict[str, JobProgress] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    waiting: list[Explanation] = field(default_factory=list)
    cycles: int = 0
    is_interrupted: bool = False
    """By Ctrl-C: what would have come is not known."""

    def record(self, report: CycleReport) -> list[tuple[str, str]]:
        """Take a cycle in; what there is to tell of it."""
        self.cycles += 1
        self._follow(report)
        self.counts["enqueue"] += len(admitted(report))
        for action, decisions in report.by_action.items():
            self.counts[action] += len(decisions)
        self.waiting = explanations(report)
        return narrate(report)

    def _follow(self, report: CycleReport) -> None:
        session = report.session
        job_of_task = {task.uid: task.job for task in session.tasks}
        now = round(session.now - self.start, 3)
        for uid, job in session.jobs.items():
            # Creation times keep the order of arrival in their last digits, which are not for display.
            arrived = max(0.0, round(job.created - self.start, 3))
            if uid not in self.jobs:
                # A job that runs when it is first seen has not waited for this scheduler.
                started = arrived if job.roster.ready else None
                self.jobs[uid] = JobProgress(f"{job.namespace}/{job.title}", job.queue, arrived, started)
            job_progress = self.jobs[uid]
            job_progress.pods = max(job_progress.pods, len(job.roster))
            job_progress.state = state_of(job)
        for decision in report.decisions:
            if isinstance(decision, Bind | Evict):
                job_progress = self.jobs[job_of_task[decision.uid]]
                if isinstance(decision, Evict):
                    job_progress.evicted += 1
                else:
                    job_progress.bound += 1
                    job_progress.started = now if job_progress.started is None else job_progress.started

    def settle(self, jobs: Iterable[VolcanoJob]) -> None:
        """At the end: Volcano Jobs say themselves how they ended; their PodGroups are gone by then."""
        phases = {job.key: job.status.state.phase for job in jobs}
        for job_progress in self.jobs.values():
            job_progress.state = phases.get(job_progress.name, job_progress.state)

    def table(self) -> str:
        headers = ("job", "queue", "state", "pods", "waited", "bound", "evicted")
        return table(headers, [job_progress.row() for job_progress in self.jobs.values()])

    def wide_table(self) -> str:
        """The same with the moments at which jobs arrived and started, cut by no terminal."""
        headers = ("job", "queue", "state", "pods", "waited", "bound", "evicted", "arrived", "started")
        rows = [(*job_progress.row(), *job_progress.moments()) for job_progress in self.jobs.values()]
        return table(headers, rows, UNCUT)

    def as_data(self) -> dict[str, object]:
        return {
            "cycles": self.cycles,
            "isInterrupted": self.is_interrupted,
            "jobs": [
                {
                    "name": job_progress.name,
                    "queue": job_progress.queue,
                    "state": job_progress.state,
                    "pods": job_progress.pods,
                    "waitedSeconds": None
                    if job_progress.started is None
                    else job_progress.started - job_progress.arrived,
                    "bound": job_progress.bound,
                    "evicted": job_progress.evicted,
                }
                for job_progress in self.jobs.values()
            ],
            "actions": dict(self.counts),
        }


@dataclass
class Embedded:
    """A cluster, its scheduler and their clock."""

    cluster: EmbeddedCluster
    loop: Loop
    clock: Clock


def embed(files: Sequence[Path], conf: Conf, registry: Registry, **more: Any) -> Embedded:
    """The cluster that these files describe; what in them cannot be used is told on standard error."""
    return embed_objects(manifests_in(files), conf, registry, **more)


def embed_objects(
    objects: Iterable[Manifest],
    conf: Conf,
    registry: Registry,
    *,
    clock: Clock | None = None,
    options: Options | None = None,
    period: float = 1.0,
) -> Embedded:
    """The same of objects that are read already; `period` is how many seconds pass between two cycles."""
    clock = clock or VirtualClock(START)
    cluster = EmbeddedCluster(objects, clock, options=options)
    loop = Loop(cluster, conf, clock, registry=registry, period=period)
    return Embedded(cluster, loop, clock)
