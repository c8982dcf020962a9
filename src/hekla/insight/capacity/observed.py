"""Observed: what one run says of a goal.

A job that never starts waits without end, and one that is never done takes without end: more jobs left behind
never look like shorter waits. Jobs handed in during the warm-up are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hekla.insight.capacity.goals import UTILISATION, Goal
from hekla.simulation.measures.spans import Mask, edges_of, ratio, taken_in
from hekla.simulation.measures.usage import capacity as capacity_of
from hekla.simulation.measures.usage import jain, shares_over_time, used_by_queue
from hekla.simulation.measures.waits import SLOWDOWN_FLOOR, responses, waits
from hekla.simulation.run import Floats, Run, State

MOMENTS = 400
"""In so many parts of a run shares are compared."""


@dataclass(frozen=True)
class WarmUp:
    """The first part of a run, in which the cluster is emptier than it will be: whichever is longer."""

    part: float = 0.0
    """Of the time until the last submission."""
    seconds: float = 0.0

    def ends_at(self, run: Run) -> float:
        first, last = (run.jobs.submitted.min(initial=0.0), run.jobs.submitted.max(initial=0.0))
        return max(self.seconds, self.part * float(last)) if last > first else self.seconds


def observed(run: Run, goal: Goal, warm_up: WarmUp) -> Floats:
    """What the run says of the goal: a value per job that was measured, in order of submission, or one."""
    since = warm_up.ends_at(run)
    among = taken_in(run) & (run.jobs.submitted >= since)
    if goal.queue:
        number = run.queues.index(goal.queue) if goal.queue in run.queues else -2
        among &= run.jobs.queue == number
    if not goal.is_of_jobs:
        return np.array([_of_run(run, goal, among, since)])
    values = _OF_JOBS[goal.measure](run)[among]
    return values[~np.isnan(values)]


def _waits(run: Run) -> Floats:
    return np.where(np.isnan(run.jobs.started), _left_behind(run), waits(run))


def _completions(run: Run) -> Floats:
    """Jobs that failed, or are meant to run for ever, have none."""
    jobs = run.jobs
    has_none = (jobs.state == State.FAILED) | np.isinf(jobs.run_seconds)
    unfinished = np.where(has_none, np.nan, _left_behind(run))
    return np.where(jobs.state == State.COMPLETED, responses(run), unfinished)


def _slowdowns(run: Run) -> Floats:
    return np.maximum(_completions(run) / np.maximum(run.jobs.run_seconds, SLOWDOWN_FLOOR), 1.0)


def _left_behind(run: Run) -> Floats:
    """Without end for what never comes; where the run was cut short, at least the time so far."""
    return np.full(len(run.jobs), math.inf) if run.is_complete else run.end - run.jobs.submitted


_OF_JOBS: dict[str, Callable[[Run], Floats]] = {
    "wait": _waits, "completion": _completions, "slowdown": _slowdowns,
}  # fmt: skip


def _of_run(run: Run, goal: Goal, among: Mask, since: float) -> float:
    jobs = run.jobs
    match goal.measure:
        case "completed":
            return float((jobs.state[among] == State.COMPLETED).mean()) if among.any() else math.nan
        case "evictions":
            return float(jobs.evictions[among].sum())
        case "jain":
            return float(jain(shares_over_time(run, MOMENTS).satisfaction))
        case "makespan":
            return _makespan(run, among)
    assert goal.measure == UTILISATION
    return utilisation(run, since).get(goal.statistic, math.nan)


def _makespan(run: Run, among: Mask) -> float:
    jobs = run.jobs
    is_done = among & (jobs.state == State.COMPLETED)
    if run.is_complete and (among & np.isin(jobs.state, (State.WAITING, State.RUNNING))).any():
        return math.inf
    return float(jobs.finished[is_done].max() - jobs.submitted[among].min()) if is_done.any() else math.nan


def utilisation(run: Run, since: float = 0.0) -> dict[str, float]:
    """By resource that nodes offer, the part of it that jobs held, from that moment on."""
    edges = edges_of(run, 1)
    edges[0] = min(since, edges[-1])
    used, offered = used_by_queue(run, edges).sum(axis=(0, 1)), capacity_of(run, edges)[0]
    parts = ratio(used, offered).tolist()
    return {name: parts[at] for at, name in enumerate(run.resources) if offered[at] > 0}
