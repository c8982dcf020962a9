"""How outcomes look: a table for people, JSON and YAML for machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekla.cli.profile import profile_table
from hekla.cli.style import Style, echo_data
from hekla.cli.table import table
from hekla.cli.terminal import echo
from hekla.framework.explain import Explanation
from hekla.model.status import Status
from hekla.scheduler.cycle import CycleReport
from hekla.scheduler.outcome import Outcome, explanations


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
