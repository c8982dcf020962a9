"""Waits: how long jobs waited and took, spread over all of them, queues and sizes.

A wait ends with the first start, and only jobs that started have one; completion times and slowdowns are those
of completed jobs. Jobs that still wait are counted, and how long they have waited is told apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from hekla.sim.run import Floats, Run

SLOWDOWN_FLOOR = 10.0
"""Seconds. Jobs that run for less count as if they ran so long, or a short wait would look like a long one."""

SIZES = ("1", "2-8", "9-64", "65+")
"""Size classes, by the pods of a job."""


@dataclass(frozen=True)
class Spread:
    """How a quantity is spread over jobs; percentiles are interpolated, all is NaN where there are none."""

    count: int
    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    most: float

    def as_data(self) -> dict[str, object]:
        """camelCase keys; null where there are no jobs, otherwise rounded to milliseconds."""
        raise NotImplementedError


@dataclass(frozen=True)
class Group:
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
    """Seconds from submission to the end, of jobs that wait for their first start."""
    response: Spread
    """Seconds from submission to completion."""
    slowdown: Spread
    """Response over run time, both of at least ten seconds; never below 1."""

    def as_data(self) -> dict[str, object]:
        raise NotImplementedError


@dataclass(frozen=True)
class Curve:
    """A distribution as steps to draw: `share[i]` of the jobs waited for `seconds[i]` or less."""

    queue: str
    """Empty: all queues."""
    seconds: Floats
    """(K,) ascending, at most 200 points; empty where no job started."""
    share: Floats
    """(K,) of the jobs that started; the last is 1."""
    started: int
    never_started: int


def wait_distribution(run: Run, points: int = 200) -> list[Curve]:
    """The waits of all jobs, and then of each queue that had a job that started, in the run's order."""
    raise NotImplementedError
