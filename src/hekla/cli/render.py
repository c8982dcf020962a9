"""How cycles look on the terminal: decisions, diagnoses, and where the time went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hekla.cli.output import Style, echo, echo_data
from hekla.cli.table import counted, table
from hekla.engine.framework.explain import Explanation
from hekla.engine.framework.profile import Line
from hekla.engine.model.status import Status
from hekla.scheduler.cycle import CycleReport
from hekla.scheduler.outcome import Outcome, explanations

TRIFLE = 0.001
"""Lines below this part of the whole are not worth reading; they are added up in one."""


def profile_table(lines: Sequence[Line]) -> str:
    """Every part of the cycle with its plugins, largest first; what is left of it is the engine's."""
    whole = sum(line.seconds for line in lines)
    told = [line for line in lines if line.seconds >= TRIFLE * whole]
    if hidden := [line for line in lines if line.seconds < TRIFLE * whole]:
        told.append(_added_up(hidden, "-", counted(len(hidden), "smaller line")))
    told.append(Line("whole cycle", "", "", 0, whole))
    return table(
        ("part", "who", "question", "calls", "seconds", "share"), [_row(line, whole) for line in told]
    )


def _added_up(lines: Sequence[Line], part: str, who: str) -> Line:
    return Line(part, who, "", sum(line.calls for line in lines), sum(line.seconds for line in lines))


def _row(line: Line, whole: float) -> tuple[str, ...]:
    calls = f"{line.calls:,}" if line.calls else ""
    share = line.seconds / whole if whole else 0.0
    return line.part, line.who, line.question, calls, f"{line.seconds:.4f}", f"{share:.1%}"


def echo_outcome(outcome: Outcome, report: CycleReport, style: Style) -> None:
    if style is not Style.TABLE:
        echo_data(outcome.as_data(), style)
        return
    sections = [
        _section("bound", ("pod", "node"), sorted(outcome.binds.items())),
        _section(
            "evicted",
            ("pod", "from", "by", "for"),
            [(e.pod, e.node, e.reason, e.beneficiary or "-") for e in outcome.evictions],
        ),
        _section("promised room", ("pod", "node"), sorted(outcome.pipelined.items())),
        _section("pod groups", ("name", "queue", "phase", "ready", "waiting"), _pod_groups(report)),
    ]
    waiting = explanations(report)
    if waiting:
        sections.append("why they wait\n" + "\n".join(str(explanation) for explanation in waiting))
    sections.append(summary(outcome, waiting))
    if outcome.profile is not None:
        sections.append(f"where the time went\n{profile_table(outcome.profile)}")
    echo("\n\n".join(section for section in sections if section))


def summary(outcome: Outcome, waiting: list[Explanation]) -> str:
    return (
        f"{len(outcome.binds)} bound, {len(outcome.evictions)} evicted, "
        f"{len(outcome.pipelined)} promised room, {len(waiting)} of {len(outcome.phases)} pod groups wait"
    )


def _section(title: str, headers: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    return f"{title}\n{table(headers, rows)}" if rows else ""


def _pod_groups(report: CycleReport) -> list[tuple[Any, ...]]:
    jobs = sorted(report.session.jobs.values(), key=lambda job: (job.created, job.uid))
    return [
        (
            job.uid,
            job.queue,
            job.phase,
            f"{job.roster.ready}/{job.minimum}",
            job.roster.count((Status.PENDING, Status.PIPELINED)),
        )
        for job in jobs
    ]


def as_mapping(explanation: Explanation) -> Mapping[str, object]:
    return {
        "job": explanation.job,
        "queue": explanation.queue,
        "phase": explanation.phase,
        "headline": explanation.headline,
        "reasons": list(explanation.reasons),
    }
