"""Pairs: every job under two configurations, side by side; a job that ended in only one is counted apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hekla.simulation.measures.intervals import FEWEST_BLOCKS, reach_over_seeds, t_quantile
from hekla.simulation.measures.spans import Mask, Rows, totals
from hekla.simulation.measures.summary import lost_seconds
from hekla.simulation.measures.waits import responses, size_classes, slowdowns, waits
from hekla.simulation.measures.words import plain_amount
from hekla.simulation.run import Floats, Run, State

SPREAD_OUT = ("wait", "completion", "slowdown")
"""Quantities of jobs that are told as mean and percentiles."""


@dataclass(frozen=True)
class JobFigures:
    """What a comparison needs to know of the jobs of a run, one row each."""

    names: list[str]
    queues: list[str]
    resources: tuple[str, ...]
    queue: Rows
    size: Rows
    submitted: Floats
    finished: Floats
    """NaN where the job did not complete."""
    spread_out: dict[str, Floats]
    """Each of `SPREAD_OUT`; NaN where a job has none."""
    has_failed: Mask
    evictions: Floats
    lost: Floats
    """(J, R) Amount-seconds of work that did not count, in cores, bytes, devices."""


def job_figures(run: Run) -> JobFigures:
    pod_runs, jobs = run.pod_runs, run.jobs
    is_of_job = pod_runs.job >= 0
    seconds = lost_seconds(run)[is_of_job, None] * run.shapes[pod_runs.shape[is_of_job]]
    lost = [
        plain_amount(name, 1.0) * totals(pod_runs.job[is_of_job], seconds[:, column], len(jobs))
        for column, name in enumerate(run.resources)
    ]
    return JobFigures(
        names=jobs.names,
        queues=run.queues,
        resources=run.resources,
        queue=jobs.queue.astype(np.int64),
        size=size_classes(run),
        submitted=jobs.submitted,
        finished=jobs.submitted + responses(run),
        spread_out={"wait": waits(run), "completion": responses(run), "slowdown": slowdowns(run)},
        has_failed=jobs.state == State.FAILED,
        evictions=jobs.evictions.astype(np.float64),
        lost=np.array(lost, np.float64).reshape(len(run.resources), len(jobs)).T,
    )


@dataclass(frozen=True)
class PairOutcome:
    """How many jobs completed in both runs, in one, in none."""

    both: int
    only_base: int
    only_candidate: int
    neither: int
    unmatched_base: int
    """Jobs that only the base was handed: those that they wait for never ended in the other."""
    unmatched_candidate: int
    failed_in_both: int = 0
    """Of those that completed in none: they came to an end, though not to a good one."""

    def __add__(self, other: PairOutcome) -> PairOutcome:
        return PairOutcome(*(mine + its for mine, its in zip(self.counts, other.counts, strict=True)))

    @property
    def counts(self) -> tuple[int, ...]:
        return (
            self.both,
            self.only_base,
            self.only_candidate,
            self.neither,
            self.unmatched_base,
            self.unmatched_candidate,
            self.failed_in_both,
        )

    def as_data(self) -> dict[str, int]:
        keys = ("both", "onlyBase", "onlyCandidate", "neither", "unmatchedBase", "unmatchedCandidate")
        return dict(zip((*keys, "failedInBoth"), self.counts, strict=True))


@dataclass(frozen=True)
class Pair:
    """Two runs of the same arrivals: the rows of the same jobs, in the order of the base's submissions."""

    base: JobFigures
    candidate: JobFigures
    base_rows: Rows
    candidate_rows: Rows

    def __len__(self) -> int:
        return len(self.base_rows)

    def values(self, quantity: str) -> tuple[Floats, Floats]:
        """Of every job in both runs; NaN where it is missing in either."""
        base = self.base.spread_out[quantity][self.base_rows]
        candidate = self.candidate.spread_out[quantity][self.candidate_rows]
        is_known = ~np.isnan(base) & ~np.isnan(candidate)
        return np.where(is_known, base, np.nan), np.where(is_known, candidate, np.nan)

    @property
    def outcome(self) -> PairOutcome:
        base = ~np.isnan(self.base.spread_out["completion"])[self.base_rows]
        candidate = ~np.isnan(self.candidate.spread_out["completion"])[self.candidate_rows]
        return PairOutcome(
            both=_count(base & candidate),
            only_base=_count(base & ~candidate),
            only_candidate=_count(~base & candidate),
            neither=_count(~base & ~candidate),
            unmatched_base=len(self.base.names) - len(self),
            unmatched_candidate=len(self.candidate.names) - len(self),
            failed_in_both=_count(
                self.base.has_failed[self.base_rows] & self.candidate.has_failed[self.candidate_rows]
            ),
        )

    @property
    def makespans(self) -> tuple[float, float]:
        """From the first submission to the last completion, of the jobs that completed in both runs."""
        sides = ((self.base, self.base_rows), (self.candidate, self.candidate_rows))
        is_done = ~np.isnan(self.values("completion")[0])
        if not is_done.any():
            return np.nan, np.nan
        base, candidate = (
            float(side.finished[rows][is_done].max() - side.submitted[rows].min()) for side, rows in sides
        )
        return base, candidate

    @property
    def is_identical(self) -> bool:
        """Whether not one job fared otherwise: none waited, ended, was evicted or lost work differently."""
        base, candidate = self.base, self.candidate
        if not len(base.names) == len(candidate.names) == len(self) or base.resources != candidate.resources:
            return False
        both = [(base.spread_out[quantity], candidate.spread_out[quantity]) for quantity in SPREAD_OUT]
        both += [(base.evictions, candidate.evictions), (base.lost, candidate.lost)]
        return all(
            np.array_equal(one[self.base_rows], other[self.candidate_rows], equal_nan=True)
            for one, other in both
        )


def paired(base: JobFigures, candidate: JobFigures) -> Pair:
    """By name, and by number where a name comes again."""
    if base.names == candidate.names:
        rows = np.arange(len(base.names))
        return Pair(base, candidate, rows, rows)
    row_of_job = {job: row for row, job in enumerate(_numbered(candidate.names))}
    found = [row_of_job.get(job, -1) for job in _numbered(base.names)]
    candidate_rows = np.array(found, np.int64)
    base_rows = np.flatnonzero(candidate_rows >= 0)
    return Pair(base, candidate, base_rows, candidate_rows[base_rows])


def _numbered(names: list[str]) -> list[tuple[str, int]]:
    seen: dict[str, int] = {}
    numbered = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        numbered.append((name, seen[name]))
    return numbered


def _count(mask: Mask) -> int:
    return int(np.count_nonzero(mask))


@dataclass(frozen=True)
class Estimate:
    """A difference, and where it lies as surely as was asked for; NaN at both ends where that is unknown."""

    difference: float
    low: float
    high: float
    count: int
    """Seeds or blocks that it rests on."""

    @property
    def is_sure(self) -> bool:
        """Whether zero lies outside."""
        return self.low > 0 or self.high < 0


def over_seeds(differences: Floats, confidence: float, *, is_spread: bool = False) -> Estimate:
    """The mean of paired differences, one per seed (NaN where a seed has none).

    `is_spread`: where seeds draw anew from one and the same trace, more seeds do not make more of it; then
    the spread of the differences itself is the error, and not that of their mean.
    """
    known = differences[~np.isnan(differences)]
    count = len(known)
    mean = float(known.mean()) if count else math.nan
    reach = reach_over_seeds(known, confidence, is_spread=is_spread)
    return Estimate(mean, mean - reach, mean + reach, count)


def over_blocks(
    difference: float, without: Sequence[float], confidence: float, widening: float = 1.0
) -> Estimate:
    """The difference in the whole run, and what it is without each of its blocks."""
    left = np.array([each for each in without if not math.isnan(each)])
    count = len(left)
    if count < FEWEST_BLOCKS or math.isnan(difference):
        return Estimate(difference, math.nan, math.nan, count)
    error = math.sqrt((count - 1) / count * float(((left - left.mean()) ** 2).sum()))
    reach = t_quantile(confidence, count - 1) * widening * error
    return Estimate(difference, difference - reach, difference + reach, count)
