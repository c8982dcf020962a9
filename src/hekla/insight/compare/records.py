"""A comparison as data: records for JSON, tables for the page of the report."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

from hekla.errors import InputError
from hekla.insight.compare.arrivals import Jittered, Resampled
from hekla.insight.compare.compare import Against, Comparison, RunSummary
from hekla.insight.compare.differences import FigureDifference, Judgement, of_queues_and_sizes
from hekla.insight.compare.figures import ALL, FigureUnit
from hekla.insight.compare.trials import Chance
from hekla.insight.compare.verdict import considered, signed, verdict_of
from hekla.simulation.measures.files import TABLE_FORMS, save_table
from hekla.simulation.measures.records import Column, Columns
from hekla.simulation.measures.text import WIDTH
from hekla.simulation.measures.waits import JobGroup
from hekla.simulation.measures.words import MILLISECONDS, PARTS, number, spoken_seconds
from hekla.simulation.report import Table, write_report
from hekla.text import aligned, counted, shortened

LABEL = 14
LONGEST_NAME = 12
LONGEST_GROUP = 20
MOST_QUEUES = 15
_TIED = "\u00a0%"
BY_GROUP = ("wait.mean", "completion.mean", "evictions")


def write_comparison_report(comparison: Comparison, path: Path) -> None:
    """One HTML file: the verdict, all differences, and the runs of the first seed in pictures."""
    said = [interval_words(comparison), *cautions(comparison)]
    write_report(
        comparison.runs,
        path,
        title=f"{comparison.title}: {' / '.join(comparison.names)}",
        verdict="\n\n".join((*(str(verdict_of(against)) for against in comparison.against), *said)),
        differences=difference_table(comparison),
    )


def difference_table(comparison: Comparison) -> Table:
    """Every figure for all jobs; for single queues and sizes only what is not the same."""
    level = f"{comparison.confidence * 100:g} % interval"
    base = comparison.names[0]
    heads = ("Figure", "Against", base, "There", "FigureDifference", level, "Part", "Judgement")
    return Table(
        heads,
        list(_rows(comparison)),
        caption=f"Differences from {base}; of queues and sizes those that are sure",
    )


def _rows(comparison: Comparison) -> Iterator[tuple[str, ...]]:
    for against in comparison.against:
        for each in against.differences:
            is_part = bool(each.queue or each.size)
            is_told = (
                each.judgement in (Judgement.BETTER, Judgement.WORSE) if is_part else not each.is_nothing
            )
            if is_told and not (each.queue and each.size):
                yield (whose_row(each), against.name, *cells(each))


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


def comparison_lines(comparison: Comparison) -> list[str]:
    """The verdict on every candidate, what it rests on, and the figures side by side."""
    lines = wrapped(interval_words(comparison), WIDTH)
    for caution in cautions(comparison):
        lines += wrapped(caution, WIDTH)
    for against in comparison.against:
        lines += ["", *verdict_lines(against), "", *figure_table(against, comparison.confidence)]
        for key in BY_GROUP:
            table = group_table(against, key, comparison.confidence)
            lines += ["", *table] if table else []
    return lines


def verdict_lines(against: Against) -> Iterator[str]:
    (_, headline), *others = verdict_of(against).lines
    yield from wrapped(headline, WIDTH)
    for label, text in others:
        first, *more = wrapped(text, WIDTH - LABEL)
        yield f"  {label:{LABEL - 2}}{first}"
        yield from (" " * LABEL + line for line in more)


def interval_words(comparison: Comparison) -> str:
    """Which kind of interval there is, and what it is about."""
    level = f"{comparison.confidence * 100:g} %"
    seeds = max((len(against.seeds) for against in comparison.against), default=0)
    if seeds < 2:
        blocks = max((against.blocks for against in comparison.against), default=0)
        if not blocks:
            return "one run each, too few jobs for intervals"
        return (
            f"one run each; {level} intervals from leaving out each of {blocks} blocks of consecutive jobs "
            "in turn: what other jobs of this kind might bring. Figures of whole runs have none"
        )
    paired = f"{level} intervals, paired over {seeds} seeds: "
    match comparison.chance, comparison.arrivals:
        case Chance.RESAMPLED, Resampled(block):
            return (
                f"{paired}each draws blocks of {spoken_seconds(block)} of the workload anew; the intervals "
                "tell what another workload like it might bring"
            )
        case Chance.JITTERED, Jittered(most):
            return (
                f"{paired}each puts off arrivals by up to {spoken_seconds(most)} at random; the intervals "
                "are about this workload, not about similar ones"
            )
        case Chance.FAILURES, _:
            return f"{paired}the same jobs in all, other failures in each"
    return f"{paired}each brings other jobs, and all configurations get the same"


def cautions(comparison: Comparison) -> Iterator[str]:
    """What a reader of the verdict should bear in mind."""
    if not comparison.is_complete:
        complete = min((len(against.seeds) for against in comparison.against), default=0)
        yield f"stopped: {complete} of {counted(len(comparison.seeds), 'seed')} complete"
    for against in comparison.against:
        if against.widening > 1:
            likeness, times = f"{against.neighbour_correlation:.2f}", f"{against.widening:.1f} times"
            yield (
                f"{against.name}: blocks are like their neighbours (correlation {likeness}), so the "
                f"intervals are made {times} as wide; other arrivals would tell more"
            )
    judged = sum(
        each.judgement in (Judgement.BETTER, Judgement.WORSE, Judgement.UNSURE)
        for against in comparison.against
        for each in considered(against)
    )
    expected = round(judged * (1 - comparison.confidence))
    if expected:
        yield (
            f"each interval stands for itself: of {judged} that may or may not exclude zero, about "
            f"{expected} would do so by chance alone"
        )


def figure_table(against: Against, confidence: float) -> list[str]:
    """All jobs and the whole cluster."""
    shown = [each for each in against.differences if each.group == ALL and not each.is_nothing]
    rows = [(each.measure.label, *cells(each)) for each in shown]
    return _table("all jobs", against, confidence, rows)


def group_table(against: Against, key: str, confidence: float) -> list[str]:
    """One measure, for each queue and each size; the queues with the most jobs where there are many."""
    found = [each for each in of_queues_and_sizes(against.differences, key) if not each.is_nothing]
    queues = sorted((each for each in found if each.queue), key=lambda each: -each.jobs)
    beyond = len(queues) - MOST_QUEUES
    shown = [*queues[:MOST_QUEUES], *(each for each in found if each.size)]
    if not shown:
        return []
    rows = [(shortened(group_label(each), LONGEST_GROUP), *cells(each)) for each in shown]
    more = [f"and {counted(beyond, 'queue')} with fewer jobs"] if beyond > 0 else []
    return _table(shown[0].measure.label, against, confidence, rows) + more


def whose_row(difference: FigureDifference) -> str:
    """`wait, mean` of all jobs, `wait, mean: queue research` of some."""
    label = difference.measure.label
    return label if difference.group == ALL else f"{label}: {group_label(difference)}"


def group_label(difference: FigureDifference) -> str:
    if difference.size:
        return "1 pod" if difference.size == "1" else f"{difference.size} pods"
    return f"queue {difference.queue}"


def _table(what: str, against: Against, confidence: float, rows: Sequence[Sequence[str]]) -> list[str]:
    names = (shortened(name, LONGEST_NAME) for name in (against.base, against.name))
    heads = (what, *names, "difference", f"{confidence * 100:g}% interval", "part", "")
    return [line.rstrip() for line in aligned(heads, rows)]


def cells(difference: FigureDifference) -> Sequence[str]:
    """Base, candidate, difference, interval, part, judgement."""
    estimate, measure = difference.estimate, difference.measure
    low, high = (signed(difference, end) for end in (estimate.low, estimate.high))
    part = difference.part
    is_percent = measure.unit not in (FigureUnit.PART, FigureUnit.INDEX) and not math.isnan(part)
    return (
        measure.spoken(difference.base),
        measure.spoken(difference.candidate),
        signed(difference, estimate.difference),
        "-" if low == "-" else f"{low} to {high}",
        _spoken_part(part) if is_percent else "",
        {Judgement.UNKNOWN: ""}.get(difference.judgement, difference.judgement.value),
    )


def _spoken_part(part: float) -> str:
    text = f"{part:+.0%}"
    return "0%" if text in ("+0%", "-0%") else text


def wrapped(text: str, width: int) -> list[str]:
    """Lines of the text; a number and its per cent stay together."""
    return [line.replace(_TIED, " %") for line in wrap(text.replace(" %", _TIED), width)]
