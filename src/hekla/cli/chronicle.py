"""Chronicle: what became of every job in a run, counted cycle by cycle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from hekla.cli.narrate import admitted, narrate
from hekla.cli.table import table
from hekla.framework.decisions import Bind, Evict
from hekla.framework.explain import Explanation
from hekla.model.job import Job
from hekla.model.status import READY_SET, TERMINATED_SET, Status
from hekla.objects import VolcanoJob
from hekla.scheduler.cycle import CycleReport
from hekla.scheduler.outcome import explanations


def state_of(job: Job) -> str:
    """A PodGroup's state in the words that Volcano Jobs use too."""
    done = job.roster.count(TERMINATED_SET)
    if done and done == len(job.roster):
        return "Failed" if job.roster.having(Status.FAILED) else "Completed"
    return "Running" if job.roster.count(READY_SET) else "Pending"


@dataclass
class Fate:
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


@dataclass
class Chronicle:
    """Fates by job, what each action did, and the lines told so far."""

    start: float
    fates: dict[str, Fate] = field(default_factory=dict)
    deeds: Counter[str] = field(default_factory=Counter)
    waiting: list[Explanation] = field(default_factory=list)
    cycles: int = 0

    def record(self, report: CycleReport) -> list[tuple[str, str]]:
        """Take a cycle in; what there is to tell of it."""
        self.cycles += 1
        self._follow(report)
        self.deeds["enqueue"] += len(admitted(report))
        for action, decisions in report.by_action.items():
            self.deeds[action] += len(decisions)
        self.waiting = explanations(report)
        return narrate(report)

    def _follow(self, report: CycleReport) -> None:
        session = report.session
        job_of_task = {task.uid: task.job for task in session.tasks}
        now = round(session.now - self.start, 3)
        for uid, job in session.jobs.items():
            # Creation times keep the order of arrival in their last digits, which nobody wants to see.
            arrived = max(0.0, round(job.created - self.start, 3))
            if uid not in self.fates:
                # A job that runs when it is first seen has not waited for this scheduler.
                started = arrived if job.roster.ready else None
                self.fates[uid] = Fate(f"{job.namespace}/{job.title}", job.queue, arrived, started)
            fate = self.fates[uid]
            fate.pods = max(fate.pods, len(job.roster))
            fate.state = state_of(job)
        for decision in report.decisions:
            if isinstance(decision, Bind | Evict):
                fate = self.fates[job_of_task[decision.uid]]
                if isinstance(decision, Evict):
                    fate.evicted += 1
                else:
                    fate.bound += 1
                    fate.started = now if fate.started is None else fate.started

    def settle(self, jobs: Iterable[VolcanoJob]) -> None:
        """At the end: Volcano Jobs say themselves how they ended; their PodGroups are gone by then."""
        phases = {job.key: job.status.state.phase for job in jobs}
        for fate in self.fates.values():
            fate.state = phases.get(fate.name, fate.state)

    def table(self) -> str:
        headers = ("job", "queue", "state", "pods", "waited", "bound", "evicted")
        return table(headers, [fate.row() for fate in self.fates.values()])

    def as_data(self) -> dict[str, object]:
        return {
            "cycles": self.cycles,
            "jobs": [
                {
                    "name": fate.name,
                    "queue": fate.queue,
                    "state": fate.state,
                    "pods": fate.pods,
                    "waitedSeconds": None if fate.started is None else fate.started - fate.arrived,
                    "bound": fate.bound,
                    "evicted": fate.evicted,
                }
                for fate in self.fates.values()
            ],
            "actions": dict(self.deeds),
        }
