"""Intervals: how far a difference might be from zero by chance, from several seeds or from parts of one run.

Several seeds: the same arrivals through both, so the differences are paired, and Student's t does. One seed:
the run is cut into blocks of consecutive jobs, and what every figure becomes without each of them tells how
much it hangs on any (the jackknife over blocks). Neither draws anything: same runs, same interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from hekla.simulation.run import Floats

FEWEST_BLOCKS = 5
"""With fewer, an interval would be a guess about a guess."""
MOST_LIKENESS = 0.9
"""Beyond, so few blocks cannot tell how much they are alike."""


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
    if count < 2:
        return Estimate(mean, math.nan, math.nan, count)
    error = float(known.std(ddof=1)) / (1.0 if is_spread else math.sqrt(count))
    return _around(mean, error, count, confidence)


def over_blocks(
    difference: float, without: Sequence[float], confidence: float, widening: float = 1.0
) -> Estimate:
    """The difference in the whole run, and what it is without each of its blocks."""
    left = np.array([each for each in without if not math.isnan(each)])
    count = len(left)
    if count < FEWEST_BLOCKS or math.isnan(difference):
        return Estimate(difference, math.nan, math.nan, count)
    error = math.sqrt((count - 1) / count * float(((left - left.mean()) ** 2).sum()))
    return _around(difference, widening * error, count, confidence)


def _around(middle: float, error: float, count: int, confidence: float) -> Estimate:
    reach = t_quantile(confidence, count - 1) * error
    return Estimate(middle, middle - reach, middle + reach, count)


@cache
def t_quantile(confidence: float, freedom: int) -> float:
    """How far from zero Student's t stays with this probability, on either side."""
    low, high = 0.0, 1.0
    while t_within(high, freedom) < confidence:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if t_within(middle, freedom) < confidence else (low, middle)
    return high


def t_within(t: float, freedom: int) -> float:
    """The probability that Student's t is no further than that from zero; a finite sum for whole degrees."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    is_odd = freedom % 2
    term = cosine if is_odd else 1.0
    total = 0.0
    for power in range(is_odd, freedom - 1, 2):
        total += term
        term *= cosine * cosine * (power + 1) / (power + 2)
    return 2 / math.pi * (angle + sine * total) if is_odd else sine * total


def neighbour_correlation(values: Floats) -> float:
    """How much each value is like the one before, from -1 to 1; 0 where there is nothing to tell."""
    if len(values) < FEWEST_BLOCKS:
        return 0.0
    centred = values - values.mean()
    whole = float((centred**2).sum())
    return float((centred[1:] * centred[:-1]).sum()) / whole if whole > 0 else 0.0


def widening_for(correlation: float, count: int) -> float:
    """How much wider an interval must be, as blocks that are like their neighbours tell less than others.

    What chance alone would bring with so many blocks does not count.
    """
    if count < FEWEST_BLOCKS or correlation <= 2 / math.sqrt(count):
        return 1.0
    likeness = min(correlation, MOST_LIKENESS)
    return math.sqrt((1 + likeness) / (1 - likeness))
