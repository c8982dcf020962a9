"""Intervals: where a figure lies, judged by how much it differs from seed to seed or from block to block."""

from __future__ import annotations

import math
from functools import cache

from hekla.simulation.run import Floats

FEWEST_BLOCKS = 5
"""With fewer, an interval would be a guess about a guess."""
MOST_LIKENESS = 0.9
"""Beyond, so few blocks cannot tell how much they are alike."""


def reach_over_seeds(values: Floats, confidence: float, *, is_spread: bool = False) -> float:
    """How far from the mean of one value per seed the truth may be; NaN where one value tells nothing.

    `is_spread`: where seeds draw anew from one and the same trace, more seeds do not make more of it; then
    the spread of the values itself is the error, and not that of their mean.
    """
    count = len(values)
    if count < 2:
        return math.nan
    error = float(values.std(ddof=1)) / (1.0 if is_spread else math.sqrt(count))
    return t_quantile(confidence, count - 1) * error


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
    """How much wider an interval must be, as blocks that are like their neighbours tell less.

    What chance alone would bring with so many blocks does not count.
    """
    if count < FEWEST_BLOCKS or correlation <= 2 / math.sqrt(count):
        return 1.0
    likeness = min(correlation, MOST_LIKENESS)
    return math.sqrt((1 + likeness) / (1 - likeness))
