"""Records: a run as plain columns and rows, the same bytes for equal runs. Times are rounded to milliseconds.

Columns have names like `run_seconds`, in JSON `runSeconds`. Amounts are in cores, bytes, devices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hekla.engine.model.resources import PODS
from hekla.simulation.measures.causes import RunCauses, causes_over_time
from hekla.simulation.measures.spans import Rows, Series
from hekla.simulation.measures.summary import Summary, summarize
from hekla.simulation.measures.usage import jobs_over_time, shares_over_time, use_over_time
from hekla.simulation.measures.words import MILLISECONDS, PARTS, number, numbers, plain_amount
from hekla.simulation.run import NOTHING, Cause, Ending, Floats, Run, State

Column = list[str | None] | npt.NDArray[Any]
Columns = dict[str, Column]
"""Equally long, by name; where an array has NaN there is nothing."""


def run_data(run: Run, summary: Summary | None = None) -> dict[str, Any]:
    """The run for JSON: summary and jobs; times are seconds, null where they never came or have no end."""
    summary = summarize(run) if summary is None else summary
    return {
        "title": run.title,
        "configuration": run.conf,
        "seed": run.seed,
        "end": number(run.end),
        "isComplete": run.is_complete,
        "cycles": run.cycles,
        "notes": list(run.notes),
        "summary": summary.as_data(),
        "jobs": _job_records(run),
    }


def _job_records(run: Run) -> list[dict[str, Any]]:
    columns = job_columns(run)
    requests = {name: columns.pop(name) for name in run.resources if name != PODS}
    rows = records({camel_case(name): column for name, column in columns.items()})
    for row, request in zip(rows, records(requests), strict=True):
        row["requests"] = request
    if run.waits is not None:
        known = RunCauses(run)
        for row, seconds in zip(rows, known.seconds, strict=True):
            row["waitSeconds"] = {
                str(cause): number(float(waited))
                for cause, waited in zip(known.causes, seconds, strict=True)
                if waited > 0
            }
    return rows


def job_columns(run: Run) -> Columns:
    """One row per job; a column for each resource that all its pods ask for together."""
    jobs = run.jobs
    return {
        "name": [name.rpartition("/")[2] for name in jobs.names],
        "namespace": [name.rpartition("/")[0] for name in jobs.names],
        "queue": names_at(run.queues, jobs.queue),
        "user": list(jobs.users),
        "state": names_at([state.name.lower() for state in State], jobs.state),
        "submitted": jobs.submitted.round(MILLISECONDS),
        "started": jobs.started.round(MILLISECONDS),
        "finished": jobs.finished.round(MILLISECONDS),
        "run_seconds": jobs.run_seconds.round(MILLISECONDS),
        "estimate": jobs.estimate.round(MILLISECONDS),
        "pods": jobs.pods,
        "minimum": jobs.minimum,
        "evictions": jobs.evictions,
        "failures": jobs.failures,
        "restarts": jobs.restarts,
        **_what_was_waited_for(run),
        **{
            name: plain(name, jobs.requests[:, column])
            for column, name in enumerate(run.resources)
            if name != PODS
        },
    }


def _what_was_waited_for(run: Run) -> Columns:
    """For each job that waited, the cause that bound it longest; nothing where that was not watched."""
    if run.waits is None:
        return {}
    known = RunCauses(run)
    longest = np.where(known.seconds.any(axis=1), known.seconds.argmax(axis=1), NOTHING)
    return {"waited_for": names_at([str(cause) for cause in known.causes], longest)}


def pod_run_columns(run: Run) -> Columns:
    """One row per time that a pod spent on a node; a column for each resource that it held."""
    pod_runs = run.pod_runs
    held = run.shapes[pod_runs.shape]
    return {
        "job": names_at(run.jobs.names, pod_runs.job),
        "pod": pod_runs.pod,
        "node": names_at(run.nodes.names, pod_runs.node),
        "began": pod_runs.began.round(MILLISECONDS),
        "ended": pod_runs.ended.round(MILLISECONDS),
        "ending": names_at([ending.name.lower() for ending in Ending], pod_runs.ending),
        "kept": pod_runs.kept.round(MILLISECONDS),
        "beneficiary": names_at(run.jobs.names, pod_runs.beneficiary),
        **{name: plain(name, held[:, column]) for column, name in enumerate(run.resources)},
    }


def queue_columns(run: Run, summary: Summary | None = None) -> Columns:
    """One row per queue that had jobs: counts, waits, slowdowns, shares."""
    summary = summarize(run) if summary is None else summary
    groups, fairness = summary.by_queue, summary.fairness
    counts = ("jobs", "completed", "failed", "running", "waiting", "refused", "never_started", "evictions")
    columns: Columns = {"queue": [group.queue for group in groups]}
    columns |= {name: np.array([getattr(group, name) for group in groups], np.int64) for name in counts}
    for what in ("wait", "response", "slowdown"):
        for figure in ("mean", "p50", "p95", "most"):
            found = [getattr(getattr(group, what), figure) for group in groups]
            columns[f"{what}_{figure}"] = np.array(found, np.float64).round(MILLISECONDS)
    for figure in ("share", "entitled", "satisfaction", "shortfall", "excess"):
        found = [getattr(one, figure) for one in fairness]
        columns[figure] = np.array(found, np.float64).round(PARTS)
    return columns


def series_columns(run: Run, buckets: int = 400) -> Columns:
    """One row per part of the run and queue: jobs and pods that waited and ran, and shares."""
    jobs, shares = jobs_over_time(run, buckets), shares_over_time(run, buckets)
    figures = {
        "jobs_waiting": jobs.waiting,
        "jobs_running": jobs.running,
        "pods_waiting": jobs.pods_waiting,
        "pods_running": jobs.pods_running,
        "share": shares.share,
        "demand": shares.demand,
        "deserved": shares.deserved,
        "entitled": shares.entitled,
    }
    queues = np.tile(np.arange(len(run.queues)), len(jobs.times))
    return {
        **_parts(jobs, len(run.queues)),
        "queue": names_at(run.queues, queues),
        **{name: values.ravel().round(PARTS) for name, values in figures.items()},
    }


def use_columns(run: Run, buckets: int = 400) -> Columns:
    """One row per part of the run, queue and resource: what the queue used, of what there was for all."""
    use = use_over_time(run, buckets)
    parts, queues, resources = use.used.shape
    per_unit = np.array([plain_amount(name, 1.0) for name in run.resources])

    def for_every_queue(values: Floats) -> Floats:
        return np.repeat(values[:, None, :], queues, axis=1).ravel().round(PARTS)

    return {
        **_parts(use, queues * resources),
        "queue": names_at(run.queues, np.tile(np.repeat(np.arange(queues), resources), parts)),
        "resource": names_at(run.resources, np.tile(np.arange(resources), parts * queues)),
        "used": (use.used * per_unit).ravel().round(PARTS),
        "capacity": for_every_queue(use.capacity * per_unit),
        "fragmentation": for_every_queue(use.fragmentation),
    }


def cause_columns(run: Run, buckets: int = 400) -> Columns:
    """One row per part of the run, queue and cause: how many jobs it bound."""
    series = causes_over_time(run, buckets)
    parts, queues, causes = series.waiting.shape
    queue, cause = np.divmod(np.tile(np.arange(queues * causes), parts), max(causes, 1))
    return {
        **_parts(series, queues * causes),
        "queue": names_at(run.queues, queue),
        **_names_of(series.causes, cause),
        "jobs_waiting": series.waiting.ravel().round(PARTS),
    }


def idle_columns(run: Run, buckets: int = 400) -> Columns:
    """One row per part of the run, resource and cause: what was idle because of it, or not asked for."""
    series = causes_over_time(run, buckets)
    parts, resources, causes = series.idle.shape
    resource, cause = np.divmod(np.tile(np.arange(resources * causes), parts), max(causes, 1))
    per_unit = np.array([plain_amount(name, 1.0) for name in run.resources])
    return {
        **_parts(series, resources * causes),
        "resource": names_at(run.resources, resource),
        **_names_of(series.causes, np.where(cause < len(series.causes), cause, NOTHING)),
        "idle": (series.idle * per_unit[:, None]).ravel().round(PARTS),
    }


def _names_of(causes: Sequence[Cause], numbers: Rows) -> Columns:
    return {
        "reason": names_at([cause.reason.value for cause in causes], numbers),
        "plugin": [name or None for name in names_at([cause.plugin for cause in causes], numbers)],
    }


def _parts(series: Series, rows: int) -> Columns:
    """From when to when, so many rows for each part."""
    began, ended = series.edges[:-1].round(MILLISECONDS), series.edges[1:].round(MILLISECONDS)
    return {"began": np.repeat(began, rows), "ended": np.repeat(ended, rows)}


def records(columns: Mapping[str, Column]) -> list[dict[str, Any]]:
    """The rows of the columns, one dictionary each; None where there is nothing."""
    names = list(columns)
    rows = zip(*(values_of(column) for column in columns.values()), strict=True)
    return [dict(zip(names, row, strict=True)) for row in rows]


def values_of(column: Column) -> list[Any]:
    """The values as plain Python; None for NaN and for what has no end."""
    if isinstance(column, list):
        return column
    return numbers(column, PARTS) if column.dtype.kind == "f" else column.tolist()


def names_at(names: Iterable[str], at: npt.NDArray[np.integer]) -> list[str | None]:
    """The name at each number; None at -1."""
    found: list[str | None] = np.array([*names, None], dtype=object)[at].tolist()
    return found


def plain(resource: str, amounts: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Canonical amounts in cores, bytes, devices; whole numbers stay whole."""
    return amounts if plain_amount(resource, 1.0) == 1.0 else amounts / 1000


def camel_case(name: str) -> str:
    """`run_seconds` as `runSeconds`."""
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)
