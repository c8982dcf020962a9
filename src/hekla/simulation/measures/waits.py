"""Waits: how long jobs waited and took, spread over all of them, queues and sizes.

A wait ends with the first start, and only jobs that started have one; completion times and slowdowns are
those of completed jobs. Jobs that still wait are counted, and how long they have waited is told apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from hekla.engine.ledger.arrays import distinct
from hekla.simulation.measures.spans import Mask, Rows, ratio, taken_in, totals
from hekla.simulation.measures.words import number
from hekla.simulation.run import Floats, Run, State

SLOWDOWN_FLOOR = 10.0
"""Seconds. Jobs that run for less count as if they ran so long: else the shortest would decide all."""

SIZES = ("1", "2-8", "9-64", "65+")
"""Size classes, by the pods of a job."""
LARGEST_OF_SIZE = (1, 8, 64)

Names = Sequence[tuple[str, str]]
"""Queue and size of each group."""

PERCENTILES = (0.5, 0.9, 0.95, 0.99, 1.0)


class Spread(msgspec.Struct, frozen=True):
    """How a quantity is spread over jobs; percentiles are interpolated, all is NaN where there are none."""

    count: int
    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    most: float

    def as_data(self) -> dict[str, object] | None:
        """None where there are no jobs."""
        if not self.count:
            return None
        names = ("mean", "p50", "p90", "p95", "p99")
        figures = {name: number(getattr(self, name)) for name in names}
        return {"count": self.count, **figures, "max": number(self.most)}


class JobGroup(msgspec.Struct, frozen=True):
    """Jobs that are looked at together; empty names stand for all queues and all sizes."""

    queue: str
    size: str
    """One of `SIZES`."""
    jobs: int
    completed: int
    failed: int
    running: int
    waiting: int
    """At the end; with those that started once, and wait again."""
    refused: int
    never_started: int
    """Of the jobs that were taken in."""
    evictions: int
    failures: int
    restarts: int
    wait: Spread
    """Seconds from submission to the first start."""
    wait_so_far: Spread
    """Seconds from submission to the end of the run, of jobs that wait for their first start."""
    response: Spread
    """Seconds from submission to completion."""
    slowdown: Spread
    """Response over run time, where a run time below ten seconds counts as ten; never below 1."""

    def as_data(self) -> dict[str, object]:
        whose = {"queue": self.queue, "size": self.size}
        return {
            **{key: name for key, name in whose.items() if name},
            "jobs": self.jobs,
            "completed": self.completed,
            "failed": self.failed,
            "running": self.running,
            "waiting": self.waiting,
            "refused": self.refused,
            "neverStarted": self.never_started,
            "evictions": self.evictions,
            "failures": self.failures,
            "restarts": self.restarts,
            "wait": self.wait.as_data(),
            "waitSoFar": self.wait_so_far.as_data(),
            "response": self.response.as_data(),
            "slowdown": self.slowdown.as_data(),
        }


class Curve(msgspec.Struct, frozen=True):
    """A distribution as steps to draw: `share[i]` of the jobs waited for `seconds[i]` or less."""

    queue: str
    """Empty: all queues."""
    seconds: Floats
    """(K,) ascending; empty where no job started."""
    share: Floats
    """(K,) of the jobs that started; the last is 1."""
    started: int
    never_started: int


def wait_distribution(run: Run, points: int = 200) -> list[Curve]:
    """The waits of all jobs, and then of each queue that had jobs, in the run's order."""
    curves = [_curve(run, "", np.ones(len(run.jobs), np.bool_), points)]
    for row, name in enumerate(run.queues):
        is_its = run.jobs.queue == row
        if is_its.any():
            curves.append(_curve(run, name, is_its, points))
    return curves


def _curve(run: Run, queue: str, among: Mask, points: int) -> Curve:
    is_taken = among & taken_in(run)
    waited = waits(run)[is_taken]
    seconds = np.sort(waited[~np.isnan(waited)])
    count = len(seconds)
    # Ranks evenly spread: steep parts of the curve get as many points as they have jobs.
    ranks = distinct(np.linspace(0, count - 1, min(points, count)).round().astype(np.int64))
    return Curve(queue, seconds[ranks], (ranks + 1) / max(count, 1), count, len(waited) - count)


def waits(run: Run) -> Floats:
    """(J,) Seconds from submission to the first start; NaN where it never came."""
    return run.jobs.started - run.jobs.submitted


def waits_so_far(run: Run) -> Floats:
    """(J,) Seconds from submission to the end, of jobs that wait for their first start; NaN for the rest."""
    jobs = run.jobs
    is_waiting = (jobs.state == State.WAITING) & np.isnan(jobs.started)
    return np.where(is_waiting, run.end - jobs.submitted, np.nan)


def responses(run: Run) -> Floats:
    """(J,) Seconds from submission to completion; NaN where it never came."""
    jobs = run.jobs
    return np.where(jobs.state == State.COMPLETED, jobs.finished - jobs.submitted, np.nan)


def slowdowns(run: Run) -> Floats:
    """(J,) max(1, response / max(run time, 10 s)); NaN where the job did not complete."""
    return np.maximum(responses(run) / np.maximum(run.jobs.run_seconds, SLOWDOWN_FLOOR), 1.0)


def size_classes(run: Run) -> Rows:
    """(J,) Into `SIZES`."""
    return np.searchsorted(LARGEST_OF_SIZE, run.jobs.pods)


class Ranked(msgspec.Struct, frozen=True):
    """A quantity of jobs in ascending order; jobs that do not have it are left out."""

    jobs: Rows
    values: Floats


def ranked(values: Floats) -> Ranked:
    """Of values (J,), NaN where a job has none."""
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    return Ranked(order, values[order])


def groupings(run: Run, keys: Sequence[tuple[Rows, Names]]) -> list[list[JobGroup]]:
    """For every key (J,) a group per name, of the jobs whose key is its place; -1 is in none."""
    quantities = [ranked(of(run)) for of in (waits, waits_so_far, responses, slowdowns)]
    return [_groups(run, key, names, quantities) for key, names in keys]


def _groups(run: Run, key: Rows, names: Names, quantities: Sequence[Ranked]) -> list[JobGroup]:
    jobs, count = run.jobs, len(names)
    member = np.flatnonzero(key >= 0)
    of = key[member]

    def counted(values: npt.NDArray[Any]) -> list[int]:
        return [int(total) for total in totals(of, values[member], count).tolist()]

    columns = zip(
        names,
        counted(np.ones(len(jobs))),
        *(counted(jobs.state == state) for state in _STATES_OF_GROUP),
        counted(np.isnan(jobs.started) & taken_in(run)),
        counted(jobs.evictions),
        counted(jobs.failures),
        counted(jobs.restarts),
        *(spreads(quantity, key, count) for quantity in quantities),
        strict=True,
    )
    return [JobGroup(*whose, *figures) for whose, *figures in columns]


_STATES_OF_GROUP = (State.COMPLETED, State.FAILED, State.RUNNING, State.WAITING, State.REFUSED)
"""In the order of the fields of `JobGroup`."""


def spreads(quantity: Ranked, key: Rows, groups: int) -> list[Spread]:
    """How it is spread in each group; jobs of group -1 take no part."""
    of = key[quantity.jobs]
    # Values are in order already: a stable sort by group keeps that, and small integers are sorted quickest.
    order = np.argsort(of.astype(np.min_scalar_type(-groups - 1)), kind="stable")
    order = order[np.count_nonzero(of < 0) :]
    ordered, of = quantity.values[order], of[order]
    counts = np.bincount(of, minlength=groups)
    starts = np.cumsum(counts) - counts
    means = ratio(totals(of, ordered, groups), counts.astype(np.float64), np.nan)
    figures = [means, *(_percentile(ordered, starts, counts, part) for part in PERCENTILES)]
    rows = zip(counts.tolist(), *(column.tolist() for column in figures), strict=True)
    return [Spread(*row) for row in rows]


def _percentile(ordered: Floats, starts: Rows, counts: Rows, part: float) -> Floats:
    """Of each run of ordered values, interpolated between the two nearest."""
    result = np.full(len(counts), np.nan)
    some = np.flatnonzero(counts)
    place = (counts[some] - 1) * part
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, counts[some] - 1)
    low, high = ordered[starts[some] + below], ordered[starts[some] + above]
    result[some] = low + (high - low) * (place - below)
    return result
