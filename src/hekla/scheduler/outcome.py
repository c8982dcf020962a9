"""Outcome: what a cycle came to, as plain data for people and machines."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from hekla.engine.explain.explanation import Explanation, explain_all
from hekla.engine.explain.findings import waits
from hekla.engine.framework.decisions import Bind, Evict
from hekla.engine.framework.profile import Line
from hekla.engine.model.status import Status
from hekla.scheduler.cycle import CycleReport


@dataclass(frozen=True)
class CycleOutcome:
    """Pods are written `namespace/name`; times are seconds."""

    name: str
    binds: dict[str, str]
    evictions: list[Evict]
    pipelined: dict[str, str]
    phases: dict[str, str]
    times: dict[str, float]
    profile: tuple[Line, ...] | None = None
    """Where the time went, if that was asked for."""

    def as_data(self) -> dict[str, object]:
        """The shape that scripts read."""
        data: dict[str, object] = {
            "name": self.name,
            "binds": self.binds,
            "evictions": [eviction.pod for eviction in self.evictions],
            "pipelined": self.pipelined,
            "podGroups": self.phases,
            "times": {part: round(seconds, 6) for part, seconds in self.times.items()},
        }
        if self.profile is not None:
            data["profile"] = [{**asdict(line), "seconds": round(line.seconds, 6)} for line in self.profile]
        return data


def outcome_of(name: str, report: CycleReport, *, load_seconds: float = 0.0) -> CycleOutcome:
    session = report.session
    return CycleOutcome(
        name=name,
        binds={decision.pod: decision.node for decision in report.decisions if isinstance(decision, Bind)},
        evictions=[decision for decision in report.decisions if isinstance(decision, Evict)],
        pipelined={task.key: task.node_name for task in session.tasks if task.status is Status.PIPELINED},
        phases={uid: job.phase for uid, job in session.jobs.items()},
        times={"load": load_seconds, **report.times},
        profile=None if report.profile is None else tuple(report.profile.lines(report.times)),
    )


def explanations(report: CycleReport) -> list[Explanation]:
    """Why each job that still waits does so, in the order the jobs were created."""
    jobs = sorted(report.session.jobs.values(), key=lambda job: (job.created, job.uid))
    return explain_all(report.session, [job for job in jobs if waits(job)])
