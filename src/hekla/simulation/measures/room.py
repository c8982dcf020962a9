"""Room: what was free on which node at chosen moments, and which pods it was enough for.

By amounts alone: taints, affinity and topology are not known to a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from hekla.engine.ledger.arrays import distinct
from hekla.simulation.measures.spans import Mask, Rows, edges_of, ratio, taken_in, totals, until_end
from hekla.simulation.run import Amounts, Floats, Run

COMPARISONS = 60_000_000
"""So many comparisons of an amount with a request are made at most; fewer moments are looked at beyond."""
FEWEST_MOMENTS = 50
SHAPES_IN_MIX = 16
"""Of every resource, so many kinds of pods that ask for it, the most frequent ones, make up the mix."""


class BesideRoom(msgspec.Struct, frozen=True):
    """How long gangs waited for their first start while at least one of their pods fitted some node."""

    seconds: Floats
    """(J,) per job; 0 for jobs whose gang is a single pod"""
    resolution: float
    """Seconds between the moments that were looked at"""

    @property
    def gangs(self) -> int:
        """How many did at all."""
        return int(np.count_nonzero(self.seconds))


def waited_beside_room(run: Run, moments: int = 500, *, comparisons: int = COMPARISONS) -> BesideRoom:
    """Each gang's wait while there was room for a part of it, seen at equally spaced moments.

    Only the shape of a job's first role is looked at. At most 500 moments; fewer, and at least 50, on very
    large clusters.
    """
    jobs = run.jobs
    gangs = np.flatnonzero(taken_in(run) & (jobs.minimum > 1))
    shapes, shape = np.unique(jobs.shape[gangs], return_inverse=True)
    edges = edges_of(run, affordable(run, len(shapes), moments, comparisons))
    looked_at = (edges[:-1] + edges[1:]) / 2
    first = np.searchsorted(looked_at, jobs.submitted[gangs])
    until = np.searchsorted(looked_at, until_end(run, np.fmin(jobs.started, jobs.finished))[gangs])
    fits = _fits_somewhere(run, looked_at, run.shapes[shapes], _present(first, until, shape, len(edges)))
    before = np.vstack((np.zeros(len(shapes), np.int64), fits.cumsum(axis=0)))
    width = float(edges[1] - edges[0])
    seconds = np.zeros(len(jobs))
    seconds[gangs] = (before[np.maximum(until, first), shape] - before[first, shape]) * width
    return BesideRoom(seconds, width)


def _present(first: Rows, until: Rows, shape: Rows, edges: int) -> Mask:
    """(moments, shapes) Which shapes some gang waits with at which moment."""
    kinds = int(shape.max(initial=-1)) + 1
    changes = np.zeros((edges, kinds), np.int64)
    waits = first < until
    np.add.at(changes, (first[waits], shape[waits]), 1)
    np.subtract.at(changes, (until[waits], shape[waits]), 1)
    return changes.cumsum(axis=0)[:-1] > 0


def _fits_somewhere(run: Run, moments: Floats, shapes: Amounts, present: Mask) -> Mask:
    """(moments, shapes) Whether some node had room for one; told only of the shapes that are present."""
    fits = np.zeros(present.shape, np.bool_)
    if not present.any():
        return fits
    for row, (free, is_up, _) in enumerate(free_at(run, moments)):
        wanted = np.flatnonzero(present[row])
        if len(wanted) and is_up.any():
            asked = shapes[wanted]
            # In a full cluster few nodes could hold even the smallest of everything.
            nodes = np.flatnonzero(is_up & (free >= asked.min(axis=0)[:, None]).all(axis=0))
            fits[row, wanted] = can_hold(free[:, nodes], asked).any(axis=1)
    return fits


def fragments(run: Run, moments: Floats, *, comparisons: int = COMPARISONS) -> tuple[Floats, Floats]:
    """(T, R) What was idle and of no use to a pod of the mix, and all that was idle, at these moments.

    The mix are the pods of the run: for each resource those that ask for it, each kind by its number. What
    is free on a node counts as stuck by the part of the mix that does not fit there. Where looking at all
    moments would take too long, some stand for their neighbours.
    """
    shapes, mix = pod_mix(run)
    stuck = np.zeros((len(moments), len(run.resources)))
    idle = np.zeros_like(stuck)
    looked_at = _spread(len(moments), affordable(run, len(shapes), len(moments), comparisons))
    before = 0
    for row, (free, is_up, is_as_before) in zip(looked_at, free_at(run, moments[looked_at]), strict=True):
        if is_as_before:  # often so in a short run
            stuck[row], idle[row] = stuck[before], idle[before]
        else:
            left = np.where(is_up, np.maximum(free, 0), 0)
            stuck[row] = (left * (mix @ ~can_hold(left, shapes))).sum(axis=1)
            idle[row] = left.sum(axis=1)
        before = row
    stands_in = looked_at[np.clip(np.searchsorted(looked_at, np.arange(len(moments))), 0, len(looked_at) - 1)]
    asked_for = np.where(mix.any(axis=1), 1.0, np.nan)
    return stuck[stands_in] * asked_for, idle[stands_in]


def _spread(count: int, chosen: int) -> npt.NDArray[np.int64]:
    """So many of the first whole numbers, evenly spread."""
    return distinct(np.linspace(0, count - 1, chosen).round().astype(np.int64))


def pod_mix(run: Run) -> tuple[Amounts, Floats]:
    """Kinds of pods (S, R), and for every resource the part of each among those that ask for it (R, S)."""
    count = pods_by_shape(run)
    asking = np.where(run.shapes > 0, count[:, None], 0.0).T
    rank = (-asking).argsort(axis=1, kind="stable").argsort(axis=1)
    asking = np.where(rank < SHAPES_IN_MIX, asking, 0.0)
    chosen = np.flatnonzero(asking.any(axis=0))
    parts = asking[:, chosen]
    return run.shapes[chosen], ratio(parts, parts.sum(axis=1, keepdims=True))


def pods_by_shape(run: Run) -> Floats:
    """(shapes,) How many pods asked for it; pods that never ran count as of their job's first role."""
    pod_runs, jobs, kinds = run.pod_runs, run.jobs, len(run.shapes)
    key = pod_runs.job.astype(np.int64) * (int(jobs.pods.max(initial=0)) + 1) + pod_runs.pod
    _, once = np.unique(key, return_index=True)
    once = once[pod_runs.job[once] >= 0]
    ran = np.bincount(pod_runs.job[once], minlength=len(jobs))
    never_ran = np.where(taken_in(run), np.maximum(jobs.pods - ran, 0), 0)
    return totals(pod_runs.shape[once], np.ones(len(once)), kinds) + totals(jobs.shape, never_ran, kinds)


def free_at(run: Run, moments: Floats) -> Iterator[tuple[Amounts, Mask, bool]]:
    """Moment by moment, what is free (R, N), which nodes are in service (N,), and whether both are as before.

    The arrays are used again.
    """
    pod_runs, nodes = run.pod_runs, run.nodes
    free = np.ascontiguousarray(nodes.allocatable.T).copy()
    spans_up = np.zeros(len(nodes.names), np.int64)
    is_up = spans_up > 0
    gone = _between(until_end(run, pod_runs.ended), moments)
    come = _between(pod_runs.began, moments)
    down = _between(until_end(run, nodes.service_ended), moments)
    up = _between(nodes.service_began, moments)
    for moment, (began, ended, rises, falls) in enumerate(zip(come, gone, up, down, strict=True)):
        if moment > 0 and not any(map(len, (began, ended, rises, falls))):
            yield free, is_up, True
            continue
        for row, amounts in zip(free, run.shapes.T, strict=True):
            np.subtract.at(row, pod_runs.node[began], amounts[pod_runs.shape[began]])
            np.add.at(row, pod_runs.node[ended], amounts[pod_runs.shape[ended]])
        np.add.at(spans_up, nodes.service[rises], 1)
        np.subtract.at(spans_up, nodes.service[falls], 1)
        is_up = spans_up > 0
        yield free, is_up, False


def _between(times: Floats, moments: Floats) -> Sequence[Rows]:
    """Which times come after the moment before, and not after this one."""
    order = np.argsort(times, kind="stable")
    return np.split(order, np.searchsorted(times[order], moments, side="right"))[: len(moments)]


def can_hold(free: Amounts, shapes: Amounts) -> Mask:
    """(S, N) Whether one more pod of each shape (S, R) fits what is free (R, N)."""
    fits = np.ones((len(shapes), free.shape[1]), np.bool_)
    for row, asked in zip(free, shapes.T, strict=True):
        fits &= (row >= asked[:, None]) | (asked == 0)[:, None]
    return fits


def affordable(run: Run, shapes: int, moments: int, comparisons: int) -> int:
    """How many of the moments may be looked at."""
    cost = max(len(run.nodes.names) * len(run.resources) * shapes, 1)
    return max(1, min(moments, max(FEWEST_MOMENTS, comparisons // cost)))
