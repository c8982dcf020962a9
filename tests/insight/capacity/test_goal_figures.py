"""Figures of several runs and their intervals: by hand, and against a queue of which all is known."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

import numpy as np
import pytest
from test_known_capacity import wait

from hekla.insight.capacity import GoalFigure, read_goal
from hekla.insight.capacity.figures import Certainty, figure_of
from hekla.simulation.run import Floats

RNG = np.random.default_rng(11)


def of(text: str, *runs: Sequence[float] | Floats, certainty: Certainty | None = None) -> GoalFigure:
    return figure_of(read_goal(text), [np.array(run, np.float64) for run in runs], certainty or Certainty())


def test_the_mean_is_over_all_jobs_of_all_seeds() -> None:
    figure = of("wait.mean < 10", [1, 2, 3], [4, 5, 6], [7, 8])
    assert figure.value == pytest.approx(36 / 8)
    assert figure.jobs == 8
    assert figure.low < figure.value < figure.high


def test_the_interval_reaches_further_up_than_down_for_queues_vary_with_their_length() -> None:
    figure = of("wait.mean < 10", *RNG.exponential(5.0, (6, 400)))
    assert figure.high - figure.value > figure.value - figure.low > 0
    # Nearly even where seeds hardly differ: then it is Student's.
    sums = [100.0, 101.0, 102.0, 103.0, 104.0]
    near = of("wait.mean < 10", *([[each] for each in sums]))
    reach = 2.77645 * np.std(sums, ddof=1) / math.sqrt(5)
    assert near.high - near.value == pytest.approx(reach, rel=0.05)
    assert near.value - near.low == pytest.approx(reach, rel=0.05)


def test_seeds_that_draw_from_one_trace_do_not_narrow_the_interval() -> None:
    runs = RNG.exponential(5.0, (16, 100))
    plain, drawn = (
        of("wait.mean < 10", *runs, certainty=Certainty(is_spread=is_spread)) for is_spread in (False, True)
    )
    assert drawn.high - drawn.low > 3.5 * (plain.high - plain.low)


def test_a_job_that_never_starts_makes_the_mean_endless_and_counts_in_percentiles() -> None:
    runs = [[1.0] * 99 + [math.inf], [1.0] * 100]
    assert of("wait.mean < 10", *runs).is_surely_missed
    assert of("wait.p95 < 10", *runs).is_met
    lost = [[1.0] * 90 + [math.inf] * 10] * 3
    figure = of("wait.p95 < 10", *lost)
    assert math.isinf(figure.value)
    assert figure.is_surely_missed


def test_percentiles_are_interpolated_as_in_summaries() -> None:
    assert of("wait.p50 < 10", [1.0, 2.0, 3.0, 4.0]).value == 2.5
    assert of("wait.p95 < 10", np.arange(101.0)).value == 95.0
    assert of("wait.longest < 10", [1.0, 7.0], [3.0]).value == 7.0


def test_few_jobs_have_no_interval_and_the_answer_is_about_themselves() -> None:
    figure = of("wait.p95 < 10", [0.0] * 60)
    assert not figure.has_interval
    assert figure.is_surely_met
    assert not of("wait.mean < 10", [0.0, 1.0]).has_interval


def test_many_jobs_that_all_start_at_once_are_sure_to_meet_any_limit() -> None:
    figure = of("wait.p95 < 10", *[[0.0] * 100] * 5)
    assert (figure.low, figure.value, figure.high) == (0.0, 0.0, 0.0)


def test_one_run_is_cut_into_blocks_of_consecutive_jobs() -> None:
    even, rising = [5.0, 7.0] * 200, list(np.linspace(0.0, 12.0, 400))
    steady, growing = of("wait.mean < 10", even), of("wait.mean < 10", rising)
    assert steady.value == pytest.approx(growing.value)
    assert growing.high - growing.low > 10 * (steady.high - steady.low)


def test_goals_that_ask_for_more_are_judged_by_their_lower_end() -> None:
    figure = of("utilisation.cpu > 60%", [0.58], [0.62], [0.66])
    assert figure.is_met
    assert not figure.is_surely_met
    assert of("utilisation.cpu > 60%", [0.70], [0.71], [0.72]).is_surely_met
    assert of("utilisation.cpu > 60%", [0.40], [0.41], [0.42]).is_surely_missed


@pytest.mark.parametrize(("load", "nodes", "statistic"), [(3, 5, "p95"), (8, 11, "mean")])
def test_intervals_hold_what_they_promise(load: float, nodes: int, statistic: str) -> None:
    """Of 60 intervals of 95 %, three miss the truth on average; more than eight would hardly ever.

    Waits are those of a queue with exponential arrivals and run times.
    """
    truth = wait(load, nodes, statistic)
    goal = read_goal(f"wait.{statistic} < 1s")
    missed = 0
    for repeat in range(60):
        rng = np.random.default_rng((repeat, nodes))
        figure = figure_of(goal, [queue_waits(rng, load, nodes, 1000) for _ in range(8)], Certainty())
        missed += not figure.low <= truth <= figure.high
    assert missed <= 8


def queue_waits(rng: np.random.Generator, load: float, nodes: int, jobs: int) -> Floats:
    """First come, first served, with the first tenth left out."""
    arrivals = np.cumsum(rng.exponential(1 / load, jobs)).tolist()
    free = [0.0] * nodes
    waits = []
    for arrival, span in zip(arrivals, rng.exponential(1.0, jobs).tolist(), strict=True):
        start = max(arrival, free[0])
        heapq.heapreplace(free, start + span)
        waits.append(start - arrival)
    return np.array(waits[jobs // 10 :])
