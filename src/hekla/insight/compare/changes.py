"""Changes: a difference in a few characters, `↓ 61%`, `-96 to -26%`, `better`, for tables and pages.

The arrow says where the figure goes, and the word whether that is good: for waits down is better, for
utilisation up is. Neither needs a colour.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hekla.insight.compare.differences import FigureDifference, Judgement
from hekla.insight.compare.figures import FigureUnit

LARGEST_PART = 10.0
"""Beyond, a part of the base says less than the amount."""

POINTS = " pts"

MEANINGS = {
    Judgement.BETTER: "better",
    Judgement.WORSE: "worse",
    Judgement.SAME: "same",
    Judgement.UNSURE: "unsure",
    Judgement.UNKNOWN: "no interval",
}
"""As words that stand beside a change."""


@dataclass(frozen=True)
class FigureChange:
    """A difference as it is shown."""

    arrow: str
    """`↓` or `↑` where it goes, `≈` where that may be chance, `=` where it does not."""
    amount: str
    """`61%`, `7.4 pts`, `5.2 min`; with a sign where no arrow tells it; empty where there is none."""
    interval: str
    """`-96 to -26%`; empty where there is none."""
    meaning: str

    @property
    def text(self) -> str:
        return f"{self.arrow} {self.amount}".rstrip()


def change_of(difference: FigureDifference) -> FigureChange:
    judgement, estimate = difference.judgement, difference.estimate
    if math.isnan(estimate.difference):
        return FigureChange("", "-", "", "")
    write, unit = writing(difference)
    middle, low, high = (write(amount) for amount in (estimate.difference, estimate.low, estimate.high))
    # Points are told once, beside the interval.
    interval = "" if math.isnan(estimate.low) else f"{low} to {high}{unit.removesuffix(POINTS)}"
    meaning = MEANINGS[judgement]
    if judgement is Judgement.SAME:
        return FigureChange("=", "", "", meaning)
    if judgement is Judgement.UNSURE:
        return FigureChange("≈", f"{middle}{unit}", interval, meaning)
    return FigureChange(
        "↓" if estimate.difference < 0 else "↑", f"{middle.lstrip('+-')}{unit}", interval, meaning
    )


def writing(difference: FigureDifference) -> tuple[Callable[[float], str], str]:
    """How amounts of the difference are written, and the unit that stands once behind them."""
    measure = difference.measure
    if measure.unit is FigureUnit.PART:
        return (lambda amount: _plus_or_minus(f"{amount * 100:+.1f}")), POINTS
    if measure.unit is FigureUnit.INDEX:
        return (lambda amount: _plus_or_minus(f"{amount:+.3f}")), ""
    if difference.base and abs(difference.part) <= LARGEST_PART:
        # Less than nothing is no wait and no work: the interval is cut there.
        return (lambda amount: _plus_or_minus(f"{max(difference.as_part(amount), -1.0) * 100:+.0f}")), "%"
    return (lambda amount: signed(difference, amount)), ""


def _plus_or_minus(text: str) -> str:
    """The text; nothing has no sign."""
    return text if any(digit in text for digit in "123456789") else text[1:]


def signed(difference: FigureDifference, amount: float) -> str:
    text = difference.measure.spoken(amount)
    return f"+{text}" if amount > 0 else text
