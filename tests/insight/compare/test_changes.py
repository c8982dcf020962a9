"""Differences in a few characters: where a figure goes, by how much, how surely, and whether that is good."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from fates import Fate, against, run_of

from hekla.insight.compare.changes import FigureChange, change_of
from hekla.insight.compare.differences import FigureDifference
from hekla.insight.compare.figures import FigureUnit, Measure
from hekla.insight.compare.pairs import Estimate
from hekla.insight.compare.verdict import VerdictKind, verdict_of

WAIT = Measure("wait.mean", "wait, mean", FigureUnit.SECONDS)
USED = Measure("utilisation.cpu", "utilisation, cpu", FigureUnit.PART, is_less_better=False, resource="cpu")
EVEN = Measure("jain", "Jain's index", FigureUnit.INDEX, is_less_better=False)
NAN = math.nan


def change(
    measure: Measure, base: float, difference: float, low: float = NAN, high: float = NAN
) -> FigureChange:
    estimate = Estimate(difference, low, high, 5)
    return change_of(FigureDifference(measure, "", "", 10, base, base + difference, estimate))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (change(WAIT, 100, -61, -96, -26), FigureChange("↓", "61%", "-96 to -26%", "better")),
        (change(WAIT, 100, 40, 20, 60), FigureChange("↑", "40%", "+20 to +60%", "worse")),
        (change(USED, 0.4, 0.049, 0.025, 0.073), FigureChange("↑", "4.9 pts", "+2.5 to +7.3", "better")),
        (change(USED, 0.4, -0.049, -0.073, -0.025), FigureChange("↓", "4.9 pts", "-7.3 to -2.5", "worse")),
        (change(EVEN, 0.9, 0.016, -0.018, 0.05), FigureChange("≈", "+0.016", "-0.018 to +0.050", "unsure")),
        (change(WAIT, 100, -5, -30, 20), FigureChange("≈", "-5%", "-30 to +20%", "unsure")),
        (change(WAIT, 100, 0.1, -0.2, 0.3), FigureChange("=", "", "", "same")),
        (change(WAIT, 100, 0), FigureChange("=", "", "", "same")),
        (change(WAIT, 100, -28), FigureChange("↓", "28%", "", "no interval")),
        (change(WAIT, NAN, NAN), FigureChange("", "-", "", "")),
    ],
    ids=str,
)
def test_a_change_says_where_it_goes_and_whether_that_is_good(
    found: FigureChange, expected: FigureChange
) -> None:
    assert found == expected


def test_where_there_was_nothing_amounts_are_told_and_no_parts() -> None:
    assert change(WAIT, 0, 90, 60, 600) == FigureChange("↑", "90 s", "+60 s to +10 min", "worse")
    assert change(WAIT, 1, 90, 60, 600).amount == "90 s"


def test_no_interval_tells_of_more_than_all_of_it_less() -> None:
    assert change(WAIT, 100, -90, -130, -50).interval == "-100 to -50%"


def test_nothing_has_no_sign() -> None:
    assert change(WAIT, 1000, -500, -999, -1).interval == "-100 to 0%"


def waiting(*seconds: float) -> list[Fate]:
    return [Fate(f"j{number}", wait, 10.0 * number) for number, wait in enumerate(seconds)]


@pytest.mark.parametrize(
    ("factors", "outcome"),
    [
        ((0.5, 0.51), VerdictKind.BETTER),
        ((2, 2.01), VerdictKind.WORSE),
        ((0.5, 2), VerdictKind.UNSURE),
        ((1, 1), VerdictKind.SAME),
    ],
)
def test_a_verdict_in_a_word(factors: tuple[float, float], outcome: VerdictKind) -> None:
    base = run_of(waiting(*[100.0] * 10))
    found = against(*((base, run_of(waiting(*[100.0 * factor] * 10))) for factor in factors))
    # Shares and makespans of runs by hand follow from waits in ways of their own.
    of_waits = [each for each in found.differences if each.measure.key.startswith("wait.")]
    verdict = verdict_of(replace(found, differences=tuple(of_waits)))
    assert verdict.outcome is outcome
    assert verdict.as_data()["outcome"] == outcome.value


def test_a_verdict_that_is_both_is_mixed() -> None:
    slow, fast = (run_of(waiting(*[wait] * 10)) for wait in (100.0, 50.0))
    found = against((slow, fast), (slow, fast))
    mean, p95 = found.difference("wait.mean"), found.difference("wait.p95")
    longer = replace(p95, estimate=Estimate(50.0, 40.0, 60.0, 2))
    verdict = verdict_of(replace(found, differences=(mean, longer)))
    assert verdict.outcome is VerdictKind.MIXED
    assert verdict.headline == "b is better than a at some things and worse at others"
