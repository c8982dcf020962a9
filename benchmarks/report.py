"""How figures look: one line per workload, and whether it keeps its limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from figures import Figures, Results
from machine import REFERENCE
from workloads import Limits, Workload

HEADERS = (
    "workload",
    "nodes",
    "pods",
    "open",
    "actions",
    "close",
    "pods/s",
    "scaled",
    "must",
    "aim",
    "verdict",
)
GAP = "  "
WHOLE = ("snapshot", "open", "close")
TOO_SLOW, TOO_BIG = "TOO SLOW", "TOO BIG"


def heading(results: Results) -> str:
    """What the figures were measured with, in two lines."""
    machine, commit = results.machine, results.commit
    calibrations = [figures.calibration for figures in results.figures]
    dirty = " and changes" if commit.is_dirty else ""
    return (
        f"hekla at {commit.revision}{dirty}, Python {machine.python}, NumPy {machine.numpy}, "
        f"{machine.cpus} processors ({machine.model})\n"
        f"calibration {min(calibrations):.3f} to {max(calibrations):.3f} s (reference {REFERENCE:.3f} s); "
        "scaled seconds are compared with the limits"
    )


def table_of(pairs: Sequence[tuple[Workload, Figures]]) -> str:
    return aligned([HEADERS, *(row for workload, figures in pairs for row in rows_of(workload, figures))])


def rows_of(workload: Workload, figures: Figures) -> Iterator[tuple[str, ...]]:
    """A line about time, and one about memory where that is limited too."""
    run = figures.best
    limits = Limits(workload.must, workload.aim)
    yield (
        workload.name,
        f"{workload.nodes:,}",
        f"{run.pods:,}",
        seconds(run.times.get("snapshot", 0.0) + run.times["open"]),
        seconds(actions_of(run.times)),
        seconds(run.times["close"]),
        f"{run.decided / run.seconds:,.0f}" if run.decided else "-",
        seconds(figures.scaled),
        f"{limits.must:g}",
        f"{limits.aim:g}",
        verdict(figures.scaled, limits, TOO_SLOW),
    )
    if workload.gigabytes is not None and run.gigabytes is not None:
        limits = workload.gigabytes
        yield (
            "  its memory, GB",
            *[""] * 6,
            f"{run.gigabytes:.2f}",
            f"{limits.must:g}",
            f"{limits.aim:g}",
            verdict(run.gigabytes, limits, TOO_BIG),
        )


def verdict(value: float, limits: Limits, broken: str) -> str:
    if value > limits.must:
        return broken
    return "aim met" if value <= limits.aim else "kept"


def breaks_a_must(workload: Workload, figures: Figures) -> bool:
    return any(row[-1] in {TOO_SLOW, TOO_BIG} for row in rows_of(workload, figures))


def actions_of(times: dict[str, float]) -> float:
    """Everything but what goes before and after the actions."""
    return sum(spent for part, spent in times.items() if part not in WHOLE)


def seconds(value: float) -> str:
    """Three digits that mean something."""
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns below their headers: words to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        GAP.join(
            cell.ljust(width) if at in {0, len(row) - 1} else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
