"""A comparison as data: records for JSON, and files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from hekla.errors import InputError
from hekla.insight.compare.basis import cautions, interval_words
from hekla.insight.compare.compare import Comparison, RunSummary
from hekla.insight.compare.verdict import verdict_of
from hekla.simulation.measures.files import TABLE_FORMS, save_table
from hekla.simulation.measures.records import Column, Columns
from hekla.simulation.measures.waits import JobGroup
from hekla.simulation.measures.words import MILLISECONDS, PARTS, number
from hekla.simulation.workloads.arrivals import Jittered, Resampled

COUNTS = ("jobs", "completed", "failed", "running", "waiting", "refused", "never_started", "evictions")
SPREADS = ("wait", "response", "slowdown")
STATISTICS = ("mean", "p50", "p90", "p95", "p99", "most")


def comparison_data(comparison: Comparison) -> dict[str, Any]:
    """For JSON: intervals, verdicts and differences; null where there is nothing."""
    return {
        "title": comparison.title,
        "configurations": list(comparison.names),
        "base": comparison.names[0],
        "seeds": list(comparison.seeds),
        "isComplete": comparison.is_complete,
        "confidence": comparison.confidence,
        "chance": comparison.chance.value,
        "spanSeconds": _span(comparison),
        "interval": interval_words(comparison),
        "cautions": list(cautions(comparison)),
        "notes": list(comparison.notes),
        "comparisons": [
            {
                "configuration": against.name,
                "seeds": list(against.seeds),
                "blocks": against.blocks,
                "neighbourCorrelation": number(against.neighbour_correlation),
                "widening": number(against.widening),
                "isIdentical": against.is_identical,
                "verdict": verdict_of(against).as_data(),
                "jobs": against.outcome.as_data(),
                "differences": [difference.as_data() for difference in against.differences],
            }
            for against in comparison.against
        ],
    }


def _span(comparison: Comparison) -> float | None:
    """Of the blocks that are drawn, or of the shifts."""
    match comparison.arrivals:
        case Resampled(seconds) | Jittered(seconds):
            return number(seconds)
    return None


def save_comparison(comparison: Comparison, path: Path) -> None:
    """`.csv`, `.parquet`: one row per run and group of jobs. `.json`: the comparison and all summaries."""
    try:
        if form_of(path) == "json":
            path.write_text(json.dumps(_with_summaries(comparison), allow_nan=False) + "\n", "utf-8")
        else:
            save_table(summary_columns(comparison), path)
    except OSError as error:
        raise InputError(f'cannot write "{path}": {error.strerror}') from error


def form_of(path: Path) -> str:
    """What the name asks for; one that asks for nothing known is refused."""
    form = path.suffix.lower().removeprefix(".")
    if form not in ("json", *TABLE_FORMS):
        raise InputError(f'cannot write a comparison to "{path}": a name ends in .json, .csv or .parquet')
    return form


def _with_summaries(comparison: Comparison) -> dict[str, Any]:
    runs = [
        {"configuration": run.conf, "seed": run.seed, "summary": run.summary.as_data()}
        for run in comparison.summaries
    ]
    return {**comparison_data(comparison), "runs": runs}


def summary_columns(comparison: Comparison) -> Columns:
    """One row per run and group; empty names stand for all, and have the figures of the whole run."""
    rows = [(run, group) for run in comparison.summaries for group in _groups(run)]
    columns: Columns = {
        "configuration": [run.conf for run, _ in rows],
        "seed": np.array([run.seed for run, _ in rows], np.int64),
        "queue": [group.queue for _, group in rows],
        "size": [group.size for _, group in rows],
        **{name: np.array([getattr(group, name) for _, group in rows], np.int64) for name in COUNTS},
    }
    for what in SPREADS:
        for statistic in STATISTICS:
            found = [getattr(getattr(group, what), statistic) for _, group in rows]
            columns[f"{what}_{statistic}"] = np.array(found, np.float64).round(MILLISECONDS)
    return columns | _of_whole_runs(rows)


def _of_whole_runs(rows: list[tuple[RunSummary, JobGroup]]) -> dict[str, Column]:
    resources = dict.fromkeys(use.name for run, _ in rows for use in run.summary.resources)

    def column(values: list[dict[str, float]], key: str) -> Column:
        return np.array([value.get(key, np.nan) for value in values], np.float64).round(PARTS)

    found = [_figures(run) if not group.queue and not group.size else {} for run, group in rows]
    keys = ["makespan", "throughput", "jain"]
    keys += [f"{what}_{name}" for name in resources for what in ("utilisation", "fragmentation", "lost")]
    return {key: column(found, key) for key in keys}


def _figures(run: RunSummary) -> dict[str, float]:
    summary = run.summary
    figures = {"makespan": summary.makespan, "throughput": summary.throughput, "jain": summary.jain}
    for use in summary.resources:
        figures[f"utilisation_{use.name}"] = use.utilisation
        figures[f"fragmentation_{use.name}"] = use.fragmentation
        figures[f"lost_{use.name}"] = use.lost
    return figures


def _groups(run: RunSummary) -> list[JobGroup]:
    summary = run.summary
    return [summary.overall, *summary.by_queue, *summary.by_size, *summary.by_queue_and_size]
