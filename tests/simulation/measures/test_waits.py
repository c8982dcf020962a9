"""Waits, completion times and slowdowns by hand, and percentiles against NumPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs_by_hand import JobOf, Scene, scenes

from hekla.simulation.measures import SIZES, Spread, summarize, wait_distribution
from hekla.simulation.measures.waits import ranked, size_classes, slowdowns, spreads
from hekla.simulation.run import State


def test_waits_are_those_of_jobs_that_started_and_completions_those_of_completed_ones() -> None:
    run = Scene(
        jobs=[
            JobOf("done", submitted=0, started=10, finished=60, run=50),
            JobOf("running", submitted=0, started=30),
            JobOf("waiting", submitted=40),
            JobOf("failed", submitted=0, started=20, finished=30, state=State.FAILED),
            JobOf("failed early", submitted=0, finished=5, state=State.FAILED),
            JobOf("refused", submitted=0, queue=None, state=State.REFUSED),
        ],
        end=100,
    ).run()
    overall = summarize(run).overall
    assert (overall.jobs, overall.completed, overall.failed) == (6, 1, 2)
    assert (overall.running, overall.waiting, overall.refused) == (1, 1, 1)
    assert overall.never_started == 2, "the one that waits and the one that failed early"
    assert (overall.wait.count, overall.wait.mean, overall.wait.p50, overall.wait.most) == (3, 20, 20, 30)
    assert (overall.wait_so_far.count, overall.wait_so_far.mean) == (1, 60)
    assert (overall.response.count, overall.response.mean) == (1, 60)
    assert overall.slowdown.mean == 60 / 50


def test_where_no_job_started_there_is_no_wait_instead_of_a_wait_of_zero() -> None:
    overall = summarize(Scene(jobs=[JobOf("a")]).run()).overall
    assert overall.wait.count == 0
    assert math.isnan(overall.wait.mean)
    assert overall.as_data()["wait"] is None


@pytest.mark.parametrize(
    ("run_seconds", "response", "slowdown"),
    [(1, 11, 1.1), (1, 5, 1.0), (10, 20, 2.0), (100, 250, 2.5), (100, 100, 1.0)],
)
def test_a_run_time_below_ten_seconds_counts_as_ten(
    run_seconds: float, response: float, slowdown: float
) -> None:
    job = JobOf("a", started=response - run_seconds, finished=response, run=run_seconds)
    assert slowdowns(Scene(jobs=[job], end=300).run()).tolist() == [slowdown]


def test_sizes_are_by_pods() -> None:
    pods = [1, 2, 8, 9, 64, 65, 5000]
    run = Scene(jobs=[JobOf(f"j{count}", pods=count) for count in pods]).run()
    assert [SIZES[size] for size in size_classes(run)] == ["1", "2-8", "2-8", "9-64", "9-64", "65+", "65+"]


def test_groups_are_queues_sizes_and_both_and_empty_ones_are_left_out() -> None:
    run = Scene(
        jobs=[
            JobOf("a", queue="x", started=1, finished=2),
            JobOf("b", queue="x", started=3, finished=9, pods=4, evictions=2),
            JobOf("c", queue="y", started=5, pods=4, failures=1, restarts=1),
        ],
        queues=("x", "unused", "y"),
    ).run()
    summary = summarize(run)
    assert [(group.queue, group.jobs, group.wait.mean) for group in summary.by_queue] == [
        ("x", 2, 2.0),
        ("y", 1, 5.0),
    ]
    assert [(group.size, group.jobs, group.wait.mean) for group in summary.by_size] == [
        ("1", 1, 1.0),
        ("2-8", 2, 4.0),
    ]
    both = [(group.queue, group.size, group.wait.mean) for group in summary.by_queue_and_size]
    assert both == [("x", "1", 1.0), ("x", "2-8", 3.0), ("y", "2-8", 5.0)]
    assert [group.evictions for group in summary.by_queue] == [2, 0]
    assert [(group.failures, group.restarts) for group in summary.by_queue] == [(0, 0), (1, 1)]


def test_a_curve_climbs_to_one_over_the_jobs_that_started() -> None:
    jobs = [JobOf(f"j{wait}", started=wait, queue="x") for wait in (4, 1, 2, 2)]
    run = Scene(jobs=[*jobs, JobOf("late", queue="y")], queues=("x", "y", "unused")).run()
    whole, x, y = wait_distribution(run)
    assert (whole.queue, x.queue, y.queue) == ("", "x", "y")
    assert whole.seconds.tolist() == [1, 2, 2, 4]
    assert whole.share.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert (whole.started, whole.never_started) == (4, 1)
    assert (y.started, y.never_started, len(y.seconds)) == (0, 1, 0)


def test_a_curve_of_many_jobs_has_few_points_and_keeps_its_ends() -> None:
    jobs = [JobOf(f"j{wait}", started=wait) for wait in range(1000)]
    (curve, _) = wait_distribution(Scene(jobs=jobs, end=2000).run(), points=50)
    assert len(curve.seconds) == 50
    assert (curve.seconds[0], curve.seconds[-1], curve.share[-1]) == (0, 999, 1.0)
    assert np.all(np.diff(curve.seconds) > 0)


@given(
    st.lists(st.tuples(st.integers(-1, 3), st.one_of(st.just(float("nan")), st.floats(0, 1e6))), max_size=40)
)
def test_spreads_agree_with_numpy_group_by_group(rows: list[tuple[int, float]]) -> None:
    key, values = np.array([row[0] for row in rows], np.int64), np.array([row[1] for row in rows], np.float64)
    for group, spread in enumerate(spreads(ranked(values), key, 4)):
        own = values[(key == group) & ~np.isnan(values)]
        assert spread.count == len(own)
        if len(own):
            figures = (spread.mean, spread.p50, spread.p90, spread.p95, spread.p99, spread.most)
            plain = (own.mean(), *np.percentile(own, [50, 90, 95, 99, 100]))
            np.testing.assert_allclose(figures, plain, rtol=1e-9)


@given(scenes())
def test_percentiles_lie_in_order_between_nothing_and_the_run(scene: Scene) -> None:
    summary = summarize(scene.run())
    for group in (summary.overall, *summary.by_queue_and_size):
        for spread in (group.wait, group.wait_so_far, group.response):
            assert is_ordered(spread, 0, scene.end)
        assert is_ordered(group.slowdown, 1, math.inf)
        states = group.completed + group.failed + group.running + group.waiting + group.refused
        assert states == group.jobs
    assert sum(group.jobs for group in summary.by_queue) == summary.overall.jobs
    assert sum(group.jobs for group in summary.by_size) == summary.overall.jobs


def is_ordered(spread: Spread, least: float, most: float) -> bool:
    row = [least, spread.p50, spread.p90, spread.p95, spread.p99, spread.most, most]
    return spread.count == 0 or (row == sorted(row) and least <= spread.mean <= spread.most + 1e-9)
