"""Scale: where values of a goal lie between the least and the most that is shown; times by orders of size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hekla.insight.capacity.figures import GoalFigure
from hekla.insight.capacity.goals import PARTS, SECONDS, Goal
from hekla.simulation.report.svg import TIME_STEPS

DEPTH = 1000.0
"""What is less than this part of the limit is drawn as nothing."""
_STEPS = (1, 2, 5)
MOST_TICKS = 7


@dataclass(frozen=True)
class GoalScale:
    """From `low` to `high`, in proportion or by orders of size."""

    goal: Goal
    low: float
    high: float

    @property
    def is_even(self) -> bool:
        return self.goal.measure in (*PARTS, "jain")

    def part(self, value: float) -> float:
        """From 0 to 1."""
        if math.isnan(value) or value <= self.low:
            return 0.0
        if value >= self.high:
            return 1.0
        if self.is_even:
            return (value - self.low) / (self.high - self.low)
        return math.log(value / self.low) / math.log(self.high / self.low)

    def ticks(self) -> list[float]:
        """Round values to write beside it."""
        if self.is_even:
            return [self.low + (self.high - self.low) * step / 4 for step in range(5)]
        if self.goal.measure in SECONDS:
            known = [time for time in TIME_STEPS if self.low <= time <= self.high]
        else:
            decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            found = [step * 10.0**decade for decade in decades for step in _STEPS]
            known = [tick for tick in found if self.low <= tick <= self.high]
        return known[:: math.ceil(len(known) / MOST_TICKS) or 1]


def scale_of(goal: Goal, figures: Sequence[GoalFigure]) -> GoalScale:
    """On which all of them have a place, and the limit too."""
    if goal.measure in (*PARTS, "jain"):
        return GoalScale(goal, 0.0, 1.0)
    shown = [each.value for each in figures] + [goal.limit]
    positive = [value for value in shown if 0 < value < math.inf] or [1.0]
    most = max(positive)
    least = max(min(positive), (goal.limit or most) / DEPTH)
    return GoalScale(goal, least / 2, max(most, 2 * least) * 1.5)
