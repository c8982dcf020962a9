"""Intervals against tables and against sums done by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekla.insight.compare.pairs import over_blocks, over_seeds
from hekla.simulation.measures.intervals import neighbour_correlation, t_quantile, t_within, widening_for

NAN = float("nan")


@pytest.mark.parametrize(
    ("confidence", "freedom", "expected"),
    [
        (0.95, 1, 12.7062),
        (0.95, 2, 4.30265),
        (0.95, 3, 3.18245),
        (0.95, 4, 2.77645),
        (0.95, 9, 2.26216),
        (0.95, 30, 2.04227),
        (0.95, 1000, 1.96234),
        (0.90, 5, 2.01505),
        (0.99, 10, 3.16927),
    ],
)
def test_quantiles_are_those_of_the_tables(confidence: float, freedom: int, expected: float) -> None:
    assert t_quantile(confidence, freedom) == pytest.approx(expected, rel=1e-5)


@given(st.floats(0.01, 0.999), st.integers(1, 60))
def test_a_quantile_leaves_as_much_outside_as_was_asked_for(confidence: float, freedom: int) -> None:
    assert t_within(t_quantile(confidence, freedom), freedom) == pytest.approx(confidence, abs=1e-9)


def test_paired_differences_over_seeds() -> None:
    """1, 2, 3, 4, 5: mean 3, standard deviation sqrt(2.5), so 3 +- 2.77645 * sqrt(2.5 / 5)."""
    found = over_seeds(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), 0.95)
    assert found.difference == 3.0
    assert (found.low, found.high) == pytest.approx((3 - 1.96324, 3 + 1.96324), abs=1e-4)
    assert found.is_sure


def test_seeds_that_draw_from_one_trace_do_not_make_more_of_it() -> None:
    """Ten times the seeds, the same spread: the interval of the mean shrinks, the other does not."""
    few, many = np.array([1.0, 4.0] * 5), np.array([1.0, 4.0] * 50)
    narrow, narrower = (over_seeds(each, 0.95) for each in (few, many))
    assert narrower.high - narrower.low < (narrow.high - narrow.low) / 3
    wide = over_seeds(many, 0.95, is_spread=True)
    assert (wide.high - wide.low) / 2 == pytest.approx(t_quantile(0.95, 99) * many.std(ddof=1))
    assert not wide.is_sure


def test_a_seed_without_the_group_does_not_count() -> None:
    found = over_seeds(np.array([2.0, NAN, 4.0]), 0.95)
    assert (found.difference, found.count) == (3.0, 2)
    alone = over_seeds(np.array([2.0, NAN]), 0.95)
    assert alone.difference == 2.0
    assert math.isnan(alone.low)
    assert not alone.is_sure


def test_leaving_out_equal_blocks_is_the_interval_of_their_means() -> None:
    """Five blocks of equally many jobs with mean differences 1 to 5: as if each were a seed."""
    blocks = np.arange(1.0, 6.0)
    found = over_blocks(3.0, [(15 - block) / 4 for block in blocks.tolist()], 0.95)
    same = over_seeds(blocks, 0.95)
    assert (found.low, found.high) == pytest.approx((same.low, same.high))


def test_four_blocks_are_too_few() -> None:
    assert math.isnan(over_blocks(3.0, [3.0, 2.0, 4.0, 3.0], 0.95).low)


def test_blocks_that_are_like_their_neighbours_tell_less() -> None:
    """With 16 blocks a correlation of a half is as much as chance brings; 0.6 makes sqrt(1.6 / 0.4) = 2."""
    assert widening_for(0.5, 16) == 1.0
    assert widening_for(0.6, 16) == pytest.approx(2.0)
    assert widening_for(0.6, 10) == 1.0
    assert widening_for(0.99, 16) == widening_for(0.9, 16)
    plain, wide = (over_blocks(3.0, [1.0, 2.0, 3.0, 4.0, 5.0], 0.95, widening) for widening in (1.0, 2.0))
    assert wide.high - wide.low == pytest.approx(2 * (plain.high - plain.low))


def test_likeness_of_neighbours() -> None:
    """1..6 around 3.5: products 3.75 + .75 - .25 + .75 + 3.75 over 17.5."""
    assert neighbour_correlation(np.arange(1.0, 7.0)) == pytest.approx(8.75 / 17.5)
    assert neighbour_correlation(np.ones(10)) == 0.0
    assert neighbour_correlation(np.array([1.0, 2.0])) == 0.0
