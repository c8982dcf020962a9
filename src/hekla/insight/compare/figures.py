"""Figures: what is held against each other, for all jobs, for every queue and for every size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np

from hekla.engine.model.resources import PODS
from hekla.insight.compare.pairs import SPREAD_OUT, JobFigures, Pair
from hekla.simulation.measures.spans import Mask, Rows, totals
from hekla.simulation.measures.summary import Summary
from hekla.simulation.measures.waits import SIZES, Ranked, ranked, spreads
from hekla.simulation.measures.words import (
    MILLISECONDS,
    PARTS,
    spoken_number,
    spoken_part,
    spoken_seconds,
    spoken_work,
    unit_of,
)
from hekla.simulation.run import Floats

STATISTICS = ("mean", "p50", "p95", "p99")

Group = tuple[str, str]
"""Queue and size; empty names stand for all."""
ALL: Group = ("", "")
Figures = dict[str, Floats]
"""By the key of a measure: (3, G) of the base, of the candidate, and of how many jobs."""


class FigureUnit(Enum):
    SECONDS = "seconds"
    TIMES = "times"
    PART = "part"
    INDEX = "index"
    COUNT = "count"
    WORK = "amount-seconds"


@dataclass(frozen=True)
class Measure:
    """One thing to compare."""

    key: str
    label: str
    unit: FigureUnit
    is_less_better: bool = True
    resource: str = ""

    @property
    def digits(self) -> int:
        return PARTS if self.unit in (FigureUnit.PART, FigureUnit.INDEX) else MILLISECONDS

    def spoken(self, value: float) -> str:
        """In words; work without its unit, which the label has."""
        if math.isnan(value):
            return "-"
        match self.unit:
            case FigureUnit.SECONDS:
                return spoken_seconds(value)
            case FigureUnit.PART:
                return spoken_part(value)
            case FigureUnit.INDEX:
                return f"{value:.3f}"
            case FigureUnit.WORK:
                return spoken_work(self.resource, value).partition(" ")[0]
            case FigureUnit.TIMES | FigureUnit.COUNT:
                return spoken_number(value)


CAUSE = "waitedFor."
"""Before the name of a cause, in the keys of measures."""


def measures_for(resources: Sequence[str], causes: Sequence[str] = ()) -> list[Measure]:
    """All of them, in the order in which they are told."""
    return [
        *(
            Measure(f"{quantity}.{statistic}", f"{quantity}, {statistic}", unit)
            for quantity, unit in zip(
                SPREAD_OUT, (FigureUnit.SECONDS, FigureUnit.SECONDS, FigureUnit.TIMES), strict=True
            )
            for statistic in STATISTICS
        ),
        Measure("completed", "completed jobs", FigureUnit.COUNT, is_less_better=False),
        Measure("makespan", "makespan", FigureUnit.SECONDS),
        *(
            Measure(f"utilisation.{name}", f"utilisation, {plain_name(name)}", FigureUnit.PART, False, name)
            for name in resources
        ),
        Measure("jain", "Jain's index", FigureUnit.INDEX, is_less_better=False),
        Measure("evictions", "evicted pods", FigureUnit.COUNT),
        *(
            Measure(f"lost.{name}", f"lost {unit_of(name)}-hours", FigureUnit.WORK, True, name)
            for name in resources
        ),
        *(Measure(f"{CAUSE}{name}", f"wait, {name}", FigureUnit.SECONDS) for name in causes),
    ]


def plain_name(resource: str) -> str:
    """`gpu` for `nvidia.com/gpu`."""
    return resource.rpartition("/")[2]


def wanted_resources(*summaries: Summary) -> list[str]:
    """What jobs held in any of the runs."""
    used = (use.name for summary in summaries for use in summary.resources if use.used)
    return [name for name in dict.fromkeys(used) if name != PODS]


def causes_in(*summaries: Summary) -> list[str]:
    """What jobs waited for in any of the runs; nothing where that is not known of all."""
    lost = [summary.lost_time for summary in summaries]
    if None in lost:
        return []
    return list(dict.fromkeys(str(one.cause) for found in lost if found is not None for one in found.waits))


def seconds_waited(summary: Summary, causes: Sequence[str]) -> dict[str, float]:
    """By the key of the measure, for how long each cause bound a job on average."""
    jobs = max(summary.overall.jobs - summary.overall.refused, 1)
    waits = summary.lost_time.waits if summary.lost_time is not None else ()
    seconds = {str(one.cause): one.seconds for one in waits}
    return {f"{CAUSE}{cause}": seconds.get(cause, 0.0) / jobs for cause in causes}


def run_figures(summary: Summary, makespan: float, causes: Sequence[str] = ()) -> dict[str, float]:
    """What there is one of in a run, by the key of the measure; the makespan is that of jobs in pairs."""
    return {
        **seconds_waited(summary, causes),
        "completed": float(summary.overall.completed),
        "makespan": makespan,
        "jain": summary.jain,
        **{f"utilisation.{use.name}": use.utilisation for use in summary.resources},
    }


class PairFigures:
    """The figures of the jobs of a pair, of all or of a part of them."""

    def __init__(self, pair: Pair, resources: Sequence[str]) -> None:
        self._pair = pair
        self._resources = resources
        queues = pair.base.queues
        self._names: list[list[Group]] = [
            [ALL],
            [(queue, "") for queue in queues],
            [("", size) for size in SIZES],
            [(queue, size) for queue in queues for size in SIZES],
        ]
        queue, size = pair.base.queue[pair.base_rows], pair.base.size[pair.base_rows]
        both = np.where(queue >= 0, queue * len(SIZES) + size, queue)
        self._keys: list[Rows] = [np.zeros(len(pair), np.int64), queue, size, both]

    @property
    def groups(self) -> list[Group]:
        """In the order of the columns of all figures."""
        return [group for names in self._names for group in names]

    @cached_property
    def _ranked(self) -> Mapping[str, tuple[Ranked, Ranked]]:
        both = {quantity: self._pair.values(quantity) for quantity in SPREAD_OUT}
        return {quantity: (ranked(base), ranked(other)) for quantity, (base, other) in both.items()}

    @cached_property
    def _summed(self) -> Mapping[str, tuple[Floats, Floats]]:
        pair = self._pair
        sides = ((pair.base, pair.base_rows), (pair.candidate, pair.candidate_rows))
        base, other = ([side.evictions[rows]] for side, rows in sides)
        for name in self._resources:
            for found, (side, rows) in zip((base, other), sides, strict=True):
                found.append(_lost(side, name)[rows])
        keys = ["evictions", *(f"lost.{name}" for name in self._resources)]
        return dict(zip(keys, zip(base, other, strict=True), strict=True))

    def of(self, keep: Mask | None = None) -> Figures:
        """Of the jobs to keep; sums are those of all jobs, as these let expect."""
        all_jobs = np.ones(len(self._pair), np.bool_)
        keep = all_jobs if keep is None else keep
        figures = dict(self._spread_out(keep))
        counts, all_counts = self._per_group(keep), self._per_group(all_jobs)
        scale = np.divide(all_counts, counts, out=np.full(len(counts), np.nan), where=counts > 0)
        for key, (base, other) in self._summed.items():
            sums = [self._per_group(np.where(keep, values, 0.0)) * scale for values in (base, other)]
            figures[key] = np.array([*sums, counts])
        return figures

    def _spread_out(self, keep: Mask) -> Iterator[tuple[str, Floats]]:
        for quantity, sides in self._ranked.items():
            base, other = (self._spreads(side, keep) for side in sides)
            for column, statistic in enumerate(STATISTICS, start=1):
                yield f"{quantity}.{statistic}", np.array([base[:, column], other[:, column], base[:, 0]])

    def _spreads(self, side: Ranked, keep: Mask) -> Floats:
        """(G, 5) Count and statistics of each group."""
        is_kept = keep[side.jobs]
        kept = Ranked(side.jobs[is_kept], side.values[is_kept])
        found = [
            (spread.count, *(getattr(spread, statistic) for statistic in STATISTICS))
            for key, names in zip(self._keys, self._names, strict=True)
            for spread in spreads(kept, key, len(names))
        ]
        return np.array(found, np.float64).reshape(-1, 1 + len(STATISTICS))

    def _per_group(self, values: Floats | Mask) -> Floats:
        """(G,)"""
        return np.concatenate(
            [
                totals(key[key >= 0], values[key >= 0], len(names))
                for key, names in zip(self._keys, self._names, strict=True)
            ]
        )


def _lost(side: JobFigures, resource: str) -> Floats:
    if resource not in side.resources:
        return np.zeros(len(side.names))
    return side.lost[:, side.resources.index(resource)]
