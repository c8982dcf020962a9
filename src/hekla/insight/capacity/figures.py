"""Figures: what several runs say of a goal, and within which bounds that surely lies.

Where there are several seeds, each is one observation of the whole; where one run is all there is, blocks of
consecutive jobs are. What all of them say together is the figure, what it is without each of them tells how
far chance could carry it (the jackknife). A percentile lies between the values of which the share of jobs
beyond is surely more, and surely less, than it should be.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from hekla.insight.capacity.goals import LONGEST, Goal
from hekla.simulation.measures.intervals import (
    FEWEST_BLOCKS,
    neighbour_correlation,
    reach_over_seeds,
    t_quantile,
    widening_for,
)
from hekla.simulation.run import Floats

MOST_BLOCKS = 20
FEWEST_JOBS_OF_BLOCK = 5
LARGEST_STEP = 0.5
"""How far the square root of a reciprocal may go down by chance: its value could be four times as large."""


@dataclass(frozen=True)
class GoalFigure:
    """A goal's figure, and where it surely lies; both ends are NaN where that is unknown."""

    goal: Goal
    value: float
    low: float
    high: float
    jobs: int = 0
    """How many it rests on; 0 where it is of a run and not of jobs."""

    @property
    def has_interval(self) -> bool:
        return not math.isnan(self.low)

    @property
    def is_met(self) -> bool:
        return self.goal.is_met_by(self.value)

    @property
    def is_surely_met(self) -> bool:
        """With the worse end as well; without an interval the runs themselves are all that is asked about."""
        return self.is_met and (not self.has_interval or self.goal.is_met_by(self._ends[1]))

    @property
    def is_surely_missed(self) -> bool:
        return not self.is_met and (not self.has_interval or not self.goal.is_met_by(self._ends[0]))

    @property
    def _ends(self) -> tuple[float, float]:
        """The better one first."""
        return (self.low, self.high) if self.goal.is_upper else (self.high, self.low)


class ValueInterval(NamedTuple):
    """A value, and where it lies; NaN at both ends where that is unknown."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Certainty:
    """How sure intervals are to be, and what seeds stand for."""

    confidence: float = 0.95
    is_spread: bool = False
    """Seeds draw anew from one trace: more of them do not make more of it."""


def figure_of(goal: Goal, runs: Sequence[Floats], certainty: Certainty) -> GoalFigure:
    """The goal's figure over runs, one per seed, each with what was observed in it."""
    if not goal.is_of_jobs:
        values = np.concatenate(runs)
        middle = float(values.mean())
        reach = reach_over_seeds(values, certainty.confidence, is_spread=certainty.is_spread)
        return GoalFigure(goal, middle, middle - reach, middle + reach)
    values = np.concatenate(runs)
    if not len(values):
        return GoalFigure(goal, math.nan, math.nan, math.nan)
    if goal.statistic == LONGEST:
        return GoalFigure(goal, float(values.max()), math.nan, math.nan, len(values))
    is_one = len(runs) == 1
    parts = Observations(blocks_of(values) if is_one else runs, certainty, are_blocks=is_one)
    found = parts.mean() if goal.level is None else parts.percentile(goal.level)
    return GoalFigure(goal, found.value, found.low, found.high, len(values))


def blocks_of(values: Floats) -> list[Floats]:
    """Consecutive jobs in blocks of equally many; all in one where they are too few to tell anything."""
    count = min(MOST_BLOCKS, len(values) // FEWEST_JOBS_OF_BLOCK)
    return np.array_split(values, count) if count >= FEWEST_BLOCKS else [values]


class Observations:
    """Values of jobs by seed, or by block of consecutive jobs."""

    def __init__(self, parts: Sequence[Floats], certainty: Certainty, *, are_blocks: bool) -> None:
        self._parts = [np.sort(part) for part in parts if len(part)]
        self._all = np.sort(np.concatenate(self._parts))
        self._sizes = np.array([len(part) for part in self._parts], np.float64)
        self._certainty = certainty
        self._are_blocks = are_blocks

    def mean(self) -> ValueInterval:
        """The mean, and where it lies."""
        value = float(self._all.mean())
        if math.isinf(value):
            return ValueInterval(value, value, value)
        down, up = self._factors(np.array([part.sum() for part in self._parts]))
        return ValueInterval(value, value * down, value * up)

    def percentile(self, level: float) -> ValueInterval:
        """The value that this part of the jobs does not exceed, and where it lies."""
        value = quantile(self._all, level)
        if len(self._parts) < 2 or self._alone(1 - level) >= 1 - level:
            return ValueInterval(value, math.nan, math.nan)
        # The share of jobs beyond a value falls as the value rises: both ends are found by halving.
        known = np.unique(self._all)
        above = bisect_left(known, True, key=lambda at: self._is_surely_less_beyond(at, 1 - level))
        below = bisect_left(known, True, key=lambda at: not self._is_surely_more_from(at, 1 - level))
        low = float(known[max(below - 1, 0)])
        high = float(known[above]) if above < len(known) else math.inf
        return ValueInterval(value, min(low, value), max(high, value))

    def _is_surely_less_beyond(self, value: float, share: float) -> bool:
        counts = self._sizes - [np.searchsorted(part, value, side="right") for part in self._parts]
        found = self._mean_of(counts)
        return max(found * self._factors(counts)[1], found + self._alone(share)) < share

    def _is_surely_more_from(self, value: float, share: float) -> bool:
        counts = self._sizes - [np.searchsorted(part, value, side="left") for part in self._parts]
        found = self._mean_of(counts)
        return min(found * self._factors(counts)[0], found - self._alone(share)) > share

    def _alone(self, share: float) -> float:
        """How far from a share chance would carry jobs that have nothing to do with each other.

        Where no job at all lies beyond, parts do not differ; and yet few jobs tell little.
        """
        normal = NormalDist().inv_cdf((1 + self._certainty.confidence) / 2)
        return normal * math.sqrt(share * (1 - share) / float(self._sizes.sum()))

    def _mean_of(self, sums: Floats) -> float:
        return float(sums.sum() / self._sizes.sum())

    def _factors(self, sums: Floats) -> tuple[float, float]:
        """By which factors the mean of so much, summed up for each part, may be off, downwards and upwards.

        The nearer a queue is to being overloaded, the more it varies, and more than in proportion: its length
        goes with one over the idle part, and that is what varies evenly. Few busy parts therefore say less
        about how bad it can be than about how good, and the interval reaches further up than down. Halfway to
        the reciprocal, at one over the square root, intervals hold what they promise (a test measures that).
        """
        count, mean = len(self._parts), self._mean_of(sums)
        if count < 2 or not mean:
            return (math.nan, math.nan) if count < 2 else (1.0, 1.0)
        without = (sums.sum() - sums) / (self._sizes.sum() - self._sizes)
        error = math.sqrt((count - 1) / count * float(((without - without.mean()) ** 2).sum()))
        if self._certainty.is_spread:
            error *= math.sqrt(count)
        if self._are_blocks:
            error *= widening_for(neighbour_correlation(sums / self._sizes), count)
        half = t_quantile(self._certainty.confidence, count - 1) * error / mean / 2
        near = min(half, LARGEST_STEP)
        # Beyond, where one part outweighs all of the rest, it goes on growing at the same rate.
        return (1 + half) ** -2, (1 - near) ** -2 * math.exp((half - near) * 2 / (1 - near))


def quantile(ordered: Floats, level: float) -> float:
    """Of ascending values, interpolated between the two nearest."""
    place = (len(ordered) - 1) * level
    below = math.floor(place)
    low, high = float(ordered[below]), float(ordered[min(below + 1, len(ordered) - 1)])
    return low if low == high or place == below else low + (high - low) * (place - below)
