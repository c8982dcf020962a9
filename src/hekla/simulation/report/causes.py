"""Causes: the part of the page that tells what jobs waited for, and why capacity was idle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from hekla.engine.model.resources import PODS
from hekla.simulation.measures.causes import RunCauses
from hekla.simulation.measures.lost_time import CauseOfWaits, LostTime, spoken_idle, spoken_waits, why_idle
from hekla.simulation.measures.summary import Summary
from hekla.simulation.measures.words import spoken_part, spoken_seconds
from hekla.simulation.report.charts import floats, milliseconds, varints
from hekla.simulation.report.tables import COLOURS, Table, Unit
from hekla.simulation.run import Cause, Floats, Run

OTHERS = "other causes"
Data = dict[str, Any]


class CauseGroups(msgspec.Struct, frozen=True):
    """Causes in the order in which they are drawn, the dearest of all runs first; the rest share a colour."""

    causes: tuple[Cause, ...]

    @property
    def names(self) -> list[str]:
        return [str(cause) for cause in self.causes[:COLOURS]] + [OTHERS] * (len(self.causes) > COLOURS)

    def together(self, causes: Sequence[Cause], values: Floats) -> Floats:
        """(T, C) of a run's causes -> (G, T)"""
        summed = np.zeros((len(self.names), len(values)))
        for cause, column in zip(causes, values.T, strict=True):
            if cause in self.causes:
                summed[min(self.causes.index(cause), COLOURS)] += column
        return summed

    def as_data(self) -> list[Data]:
        whys = [why_idle(cause) for cause in self.causes[:COLOURS]] + ["because of other causes"]
        rows = zip(self.names, whys, strict=False)
        return [{"name": name, "colour": at, "why": why} for at, (name, why) in enumerate(rows)]


def cause_groups(summaries: Sequence[Summary]) -> CauseGroups:
    """Those that cost any job time."""
    cost: defaultdict[Cause, float] = defaultdict(float)
    for summary in summaries:
        for one in summary.lost_time.waits if summary.lost_time else ():
            cost[one.cause] += one.seconds
    return CauseGroups(tuple(sorted(cost, key=lambda cause: -cost[cause])))


def causes_data(run: Run, groups: CauseGroups, units: Sequence[Unit], buckets: int) -> Data | None:
    """Jobs that waited and amounts that were idle, by cause, over time; and of each job, for how long."""
    if run.waits is None:
        return None
    known = RunCauses(run)
    series = known.over_time(buckets)
    columns = [run.resources.index(unit.resource) for unit in units]
    return {
        "waiting": [floats(row) for row in groups.together(known.causes, series.waiting.sum(axis=1))],
        "idle": [
            [
                floats(row)
                for row in (
                    *groups.together(known.causes, series.idle[:, at, :-1]) / unit.per,
                    series.idle[:, at, -1] / unit.per,
                )
            ]
            for at, unit in zip(columns, units, strict=True)
        ],
        "names": [str(cause) for cause in known.causes],
        "ofJobs": [varints(milliseconds(column)) for column in known.seconds.T],
    }


def captions(summary: Summary, units: Sequence[Unit]) -> dict[str, str]:
    """The same in words."""
    lost = summary.lost_time
    if lost is None:
        return {"causes": "It was not watched why jobs waited.", "idle": ""}
    every = sum(one.seconds for one in lost.waits)
    waits = f"Jobs waited {spoken_seconds(every)} in all: {spoken_waits(lost.waits)}." if every else ""
    used = {resource.name: resource.utilisation for resource in summary.resources}
    shown = [unit for unit in units if used[unit.resource] > 0 and unit.resource != PODS]
    said = {unit.label: spoken_idle(used[unit.resource], lost.idle.get(unit.resource, ())) for unit in shown}
    idle = " ".join(f"{label}: {text}." for label, text in said.items() if text)
    return {"causes": waits or "No job waited.", "idle": idle or "Nothing was idle."}


def causes_table(lost: LostTime, label: str = "") -> Table:
    """For each queue how long its jobs waited, and which part of that for what."""
    causes = [one.cause for one in lost.waits]
    headers = ("Queue", "Waited in all", *(str(cause) for cause in causes))
    rows = []
    for queue, waits in (("all queues", lost.waits), *lost.by_queue.items()):
        part_of = {one.cause: one.part for one in waits}
        parts = [spoken_part(part_of[cause]) if cause in part_of else "-" for cause in causes]
        rows.append((queue, spoken_seconds(sum(one.seconds for one in waits)), *parts))
    return Table(headers, rows, label)


def waits_side_by_side(summaries: Sequence[Summary], names: Sequence[str]) -> Table:
    """For each cause, how long it bound a job of each run on average."""
    rows = []
    for cause in cause_groups(summaries).causes:
        seconds = [
            sum(waits.seconds for waits in _waits_of(one) if waits.cause == cause) for one in summaries
        ]
        jobs = [max(one.overall.jobs - one.overall.refused, 1) for one in summaries]
        each = [spoken_seconds(of_run / count) for of_run, count in zip(seconds, jobs, strict=True)]
        rows.append((str(cause), *each))
    return Table(("Waited for, per job", *names), rows)


def idle_side_by_side(summaries: Sequence[Summary], names: Sequence[str]) -> Table:
    """Why the resource that was used most was idle: for each cause the part of the capacity."""
    used = {use.name: use.utilisation for one in summaries for use in one.resources if use.name != PODS}
    resource = max(used, key=lambda name: used[name] if used[name] > 0 else -1.0, default="")
    rows = []
    for cause in (*cause_groups(summaries).causes, None):
        parts = [_idle_part(one, resource, cause) for one in summaries]
        if max(parts) > 0:
            rows.append((f"idle {why_idle(cause)}", *map(spoken_part, parts)))
    return Table((f"{resource.rpartition('/')[2]}, part of all", *names), rows)


def _waits_of(summary: Summary) -> Sequence[CauseOfWaits]:
    return summary.lost_time.waits if summary.lost_time else ()


def _idle_part(summary: Summary, resource: str, cause: Cause | None) -> float:
    idle = summary.lost_time.idle.get(resource, ()) if summary.lost_time else ()
    return next((one.part for one in idle if one.cause == cause), 0.0)
