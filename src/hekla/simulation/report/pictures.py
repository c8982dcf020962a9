"""Pictures: what the scripts of the page draw, as plain data with packed columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from hekla.simulation.measures import (
    SIZES,
    Curve,
    Summary,
    backlog_over_time,
    jobs_over_time,
    node_use,
    shares_over_time,
    use_over_time,
    wait_distribution,
)
from hekla.simulation.measures.waits import size_classes, slowdowns, waits
from hekla.simulation.measures.words import number
from hekla.simulation.report import tables as captions
from hekla.simulation.report.causes import captions as causes_in_words
from hekla.simulation.report.causes import cause_groups, causes_data
from hekla.simulation.report.charts import Bars, bars, deltas, floats, milliseconds, octets, varints
from hekla.simulation.report.tables import QueueGroups, Unit
from hekla.simulation.run import Ending, Floats, Jobs, Run, State

Data = dict[str, Any]

BUCKETS = 480
"""Of time, in the charts: about one for every other pixel of a wide screen."""

HEAT_BUCKETS = 240
HEAT_ROWS = 250
HEAT_FULL = 200
"""The byte that stands for a node in full use: steps of half a percent."""
HEAT_AWAY = 255

AXIS_BEGINS = (0.1, 1.0, 10.0)
"""Seconds."""
AXIS_RANGE = 3e4
"""Where the longest wait is so many times as long, it is not fractions of a cycle that a reader looks for."""

TICKS = 1e7
"""Bars are placed to this part of the run, or to milliseconds."""


class Shown(msgspec.Struct, frozen=True):
    """One run, what it came to, and what it is called on the page."""

    run: Run
    summary: Summary
    label: str


def page_data(shown: Sequence[Shown], groups: QueueGroups, units: Sequence[Unit]) -> Data:
    """Everything that is drawn."""
    causes = cause_groups([one.summary for one in shown])
    return {
        "causes": causes.as_data(),
        "groups": [
            {"name": name, "colour": colour}
            for name, colour in zip(groups.names, groups.colours, strict=True)
        ],
        "resources": [{"name": unit.resource, "label": unit.label, "unit": unit.unit} for unit in units],
        "states": [state.name.lower() for state in State],
        "endings": [ending.name.lower() for ending in Ending],
        "span": max(one.run.end for one in shown),
        "shortestWait": shortest_wait([one.run for one in shown]),
        "runs": [
            run_data(one, groups, units)
            | {"causes": causes_data(one.run, causes, units, BUCKETS)}
            | ({"overlaid": overlaid_data(one, units)} if len(shown) > 1 else {})
            for one in shown
        ],
    }


def overlaid_data(shown: Shown, units: Sequence[Unit]) -> Data:
    """What is drawn only where runs lie over each other; with percentiles, which curves have no room for."""
    run, wait = shown.run, shown.summary.overall.wait
    backlog = backlog_over_time(run, BUCKETS)
    return {
        "backlog": [floats(backlog[:, run.resources.index(unit.resource)] / unit.per) for unit in units],
        "p50": number(wait.p50),
        "p95": number(wait.p95),
    }


def run_data(shown: Shown, groups: QueueGroups, units: Sequence[Unit]) -> Data:
    run, drawn = shown.run, bars(shown.run)
    series, in_words = series_data(shown, groups, units)
    heat = heat_data(run, units)
    return {
        "label": shown.label,
        "end": run.end,
        "queues": run.queues,
        "groupOfQueue": groups.of(run).tolist(),
        "nodes": run.nodes.names,
        "jobs": jobs_data(run, units),
        "series": series,
        "waits": waits_data(run, groups),
        "gantt": gantt_data(run, drawn),
        "heat": heat,
        "captions": {
            **in_words,
            **causes_in_words(shown.summary, units),
            "shares": captions.shares_caption(shown.summary),
            "waits": captions.waits_caption(shown.summary),
            "gantt": captions.gantt_caption(run, drawn),
            "heat": captions.heat_caption(run, heat["nodesPerRow"]),
        },
    }


def jobs_data(run: Run, units: Sequence[Unit]) -> Data:
    jobs, columns = run.jobs, [run.resources.index(unit.resource) for unit in units]
    users, user = np.unique(np.array(jobs.users, dtype=object), return_inverse=True)
    requests, request = np.unique(jobs.requests, axis=0, return_inverse=True)
    return {
        "names": jobs.names,
        "users": users.tolist(),
        "user": varints(user),
        "queue": varints(jobs.queue),
        "state": octets(jobs.state),
        "submitted": deltas(milliseconds(jobs.submitted)),
        "wait": varints(milliseconds(jobs.started - jobs.submitted)),
        "ran": varints(milliseconds(jobs.finished - jobs.started)),
        "slowdown": floats(slowdowns(run)),
        "pods": varints(jobs.pods),
        "evictions": varints(jobs.evictions),
        "failures": varints(jobs.failures),
        "restarts": varints(jobs.restarts),
        "request": varints(request.reshape(-1)),
        "requests": [
            [unit.shown(row[at]) for at, unit in zip(columns, units, strict=True)] for row in requests
        ],
    }


def series_data(shown: Shown, groups: QueueGroups, units: Sequence[Unit]) -> tuple[Data, dict[str, str]]:
    """One number per bucket of time, sums of queues where several share a colour; and the same in words."""
    run = shown.run
    use, jobs, shares = (
        use_over_time(run, BUCKETS),
        jobs_over_time(run, BUCKETS),
        shares_over_time(run, BUCKETS),
    )
    columns = [run.resources.index(unit.resource) for unit in units]
    series = {
        "used": [
            [floats(row) for row in groups.together(run, use.used[:, :, at]) / unit.per]
            for at, unit in zip(columns, units, strict=True)
        ],
        "capacity": [floats(use.capacity[:, at] / unit.per) for at, unit in zip(columns, units, strict=True)],
        "waiting": [floats(row) for row in groups.together(run, jobs.waiting)],
        "running": [floats(row) for row in groups.together(run, jobs.running)],
        "share": [floats(row) for row in groups.together(run, shares.share)],
        "deserved": [floats(row) for row in groups.together(run, shares.deserved)],
        "entitled": [floats(row) for row in groups.together(run, shares.entitled)],
    }
    in_words = {
        "use": captions.use_caption(run, use, shown.summary, units),
        "waiting": captions.presence_caption(jobs, jobs.waiting, "waited"),
        "running": captions.presence_caption(jobs, jobs.running, "ran"),
    }
    return series, in_words


def waits_data(run: Run, groups: QueueGroups) -> Data:
    """Curves by queue, those with a colour only, and by size; the first of each is that of all jobs."""
    all_jobs, *by_queue = wait_distribution(run)
    shown = [curve for curve in by_queue if groups.names[groups.number_of_queue[curve.queue]] == curve.queue]
    return {
        "queue": [
            curve_data(all_jobs, "all jobs", None),
            *(curve_data(curve, curve.queue, groups.number_of_queue[curve.queue]) for curve in shown),
        ],
        "size": [curve_data(all_jobs, "all jobs", None), *by_size(run)],
    }


def shortest_wait(runs: Sequence[Run]) -> float:
    """Where the axis of waits begins: at a round time that only a few of those that waited are below."""
    waited = np.concatenate([waits(run) for run in runs])
    positive = waited[waited > 0]
    low = max(np.percentile(positive, 5), positive.max() / AXIS_RANGE) if len(positive) else 0.0
    return max((seconds for seconds in AXIS_BEGINS if seconds <= low), default=AXIS_BEGINS[0])


def by_size(run: Run) -> list[Data]:
    classes = size_classes(run)
    found = []
    for at, size in enumerate(SIZES):
        all_jobs = wait_distribution(replace(run, jobs=only(run.jobs, classes == at)))[0]
        if all_jobs.started:
            name = "1 pod" if size == "1" else f"{size} pods"
            found.append(curve_data(all_jobs, name, at) | {"isSize": True})
    return found


def only(jobs: Jobs, chosen: Any) -> Jobs:
    """The jobs of the chosen rows."""
    rows = np.flatnonzero(chosen)
    columns: Data = {
        name: [column[row] for row in rows] if isinstance(column, list) else column[rows]
        for name, column in vars(jobs).items()
    }
    return Jobs(**columns)


def curve_data(curve: Curve, label: str, number: int | None) -> Data:
    return {
        "label": label,
        "number": number,
        "seconds": floats(curve.seconds),
        "share": floats(curve.share),
        "started": curve.started,
        "neverStarted": curve.never_started,
    }


def gantt_data(run: Run, drawn: Bars) -> Data:
    tick = tick_seconds(run.end)
    began, ended = (np.round(times / tick).astype(np.int64) for times in (drawn.began, drawn.ended))
    return {
        "tick": tick,
        "slots": drawn.slots,
        "firstOfNode": deltas(np.searchsorted(drawn.node, np.arange(len(run.nodes.names) + 1))),
        "began": deltas(began),
        "length": varints(ended - began),
        "job": deltas(drawn.job),
        "pods": varints(drawn.pods),
        "ending": octets(drawn.ending),
        "slot": octets(drawn.slot),
        "height": octets(drawn.height),
        "away": [[node, round(began, 3), round(ended, 3)] for node, began, ended in times_away(run)],
        "leftOut": drawn.left_out,
        "timeLeftOut": drawn.time_left_out,
    }


def tick_seconds(end: float) -> float:
    """The smallest power of ten that cuts the run into few enough parts; not below a millisecond."""
    tick = 0.001
    while end / tick > TICKS:
        tick *= 10
    return round(tick, 3)


def times_away(run: Run) -> list[tuple[int, float, float]]:
    """When nodes were out of service: before they came, between two spans, and after the last."""
    nodes = run.nodes
    order = np.lexsort((nodes.service_began, nodes.service))
    there = np.zeros(len(nodes.names))
    away: list[tuple[int, float, float]] = []
    for row in order.tolist():
        node, began = int(nodes.service[row]), float(nodes.service_began[row])
        if began > there[node]:
            away.append((node, float(there[node]), began))
        there[node] = max(there[node], float(nodes.service_ended[row]))
    away.extend((node, float(since), run.end) for node, since in enumerate(there) if since < run.end)
    return sorted(away)


def heat_data(run: Run, units: Sequence[Unit]) -> Data:
    """Nodes by time, a byte each; many nodes share a row, which shows their mean."""
    nodes = len(run.nodes.names)
    per_row = -(-nodes // HEAT_ROWS) or 1
    return {
        "buckets": HEAT_BUCKETS,
        "nodesPerRow": per_row,
        "full": HEAT_FULL,
        "away": HEAT_AWAY,
        "cells": [octets(heat_cells(node_use(run, unit.resource, HEAT_BUCKETS), per_row)) for unit in units],
    }


def heat_cells(use: Floats, per_row: int) -> Any:
    """(N, T) parts of a node in use, NaN while away  ->  (rows, T) bytes."""
    starts = np.arange(0, len(use), per_row)
    if not len(starts):
        return np.zeros((0, use.shape[1] if use.ndim == 2 else 0), np.uint8)
    there = np.add.reduceat(~np.isnan(use), starts, axis=0)
    total = np.add.reduceat(np.nan_to_num(use), starts, axis=0)
    mean = np.divide(total, there, out=np.zeros_like(total), where=there > 0)
    return np.where(there > 0, np.round(mean.clip(0, 1) * HEAT_FULL), HEAT_AWAY).astype(np.uint8)
