"""Shares of queues against what they were entitled to, by hand."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs_by_hand import JobOf, NodeOf, PodRunOf, Scene, scenes

from hekla.simulation.measures import shares_over_time, summarize
from hekla.simulation.measures.usage import jain


def two_queues(**changes: object) -> Scene:
    """Eight cores for 100 s: x holds six of them, y two, and both want all eight."""
    scene = {
        "jobs": [
            JobOf("a", queue="x", started=0, cpu=6),
            JobOf("b", queue="y", started=0, cpu=2),
            JobOf("more", queue="x", cpu=2),
            JobOf("much more", queue="y", cpu=6),
        ],
        "pod_runs": [PodRunOf("a", "n1", 0, 100), PodRunOf("b", "n1", 0, 100)],
        "nodes": [NodeOf("n1", cpu=8, gpu=4)],
        "queues": ("x", "y"),
        **changes,
    }
    return Scene(**scene)  # type: ignore[arg-type]


def test_where_no_plugin_says_queues_with_demand_are_entitled_to_equal_parts() -> None:
    series = shares_over_time(two_queues().run(), buckets=2)
    assert series.share.tolist() == [[0.75, 0.25]] * 2
    assert series.demand.tolist() == [[1.0, 1.0]] * 2
    assert np.isnan(series.deserved).all()
    assert series.entitled.tolist() == [[0.5, 0.5]] * 2
    # x has all that it may ask for, y half of it: (1 + 1/2)^2 / (2 * (1 + 1/4))
    assert series.jain.tolist() == pytest.approx([0.9, 0.9])
    assert series.satisfaction.tolist() == [1.0, 0.5]
    assert series.shortfall.tolist() == [0, 25]
    assert series.excess.tolist() == [25, 0]


def test_what_plugins_said_holds_from_then_on() -> None:
    deserved = {0.0: {"x": (6, 0), "y": (2, 0)}, 50.0: {"x": (4, 0), "y": (4, 0)}}
    series = shares_over_time(two_queues(deserved=deserved).run(), buckets=2)
    assert series.deserved.tolist() == [[0.75, 0.25], [0.5, 0.5]]
    assert series.jain.tolist() == pytest.approx([1.0, 0.9])
    assert series.shortfall.tolist() == [0, 12.5]


def test_only_resources_that_a_queue_asks_for_count_for_what_it_deserves() -> None:
    series = shares_over_time(two_queues(deserved={0.0: {"x": (6, 4), "y": (2, 4)}}).run(), buckets=1)
    assert series.deserved.tolist() == [[0.75, 0.25]]


def test_a_resource_that_the_cluster_lacks_says_nothing_of_what_is_deserved() -> None:
    series = shares_over_time(
        Scene(jobs=[JobOf("a", cpu=4, gpu=1)], nodes=[NodeOf("n1", cpu=4, gpu=0)]).run(), buckets=1
    )
    assert np.isnan(series.deserved).all()
    assert series.entitled.tolist() == [[1.0]]


def test_no_queue_deserves_more_than_the_cluster() -> None:
    series = shares_over_time(two_queues(deserved={0.0: {"x": (1e12, 0), "y": (2, 0)}}).run(), buckets=1)
    assert series.deserved.tolist() == [[1.0, 0.25]]


def test_a_queue_that_asks_for_little_and_gets_it_is_satisfied() -> None:
    jobs = [JobOf("a", queue="x", started=0, cpu=7), JobOf("b", queue="y", started=0, cpu=1)]
    series = shares_over_time(two_queues(jobs=jobs).run(), buckets=1)
    assert series.entitled.tolist() == [[0.5, 0.125]]
    assert series.jain.tolist() == [1.0]


def test_the_dominant_share_is_the_largest_of_any_resource() -> None:
    jobs = [JobOf("a", queue="x", started=0, cpu=2, gpu=2), JobOf("b", queue="y", started=0, cpu=4)]
    series = shares_over_time(two_queues(jobs=jobs).run(), buckets=1)
    assert series.share.tolist() == [[0.5, 0.5]]


def test_places_for_pods_are_not_shared() -> None:
    """The second column stands for places here: x takes four of four."""
    jobs = [JobOf("a", queue="x", started=0, cpu=2, gpu=4), JobOf("b", queue="y", started=0, cpu=4)]
    run = dataclasses.replace(two_queues(jobs=jobs).run(), resources=("cpu", "pods"))
    assert shares_over_time(run, buckets=1).share.tolist() == [[0.25, 0.5]]


def test_before_plugins_say_anything_their_first_word_counts() -> None:
    deserved = {60.0: {"x": (6, 0), "y": (2, 0)}, 90.0: {"x": (2, 0), "y": (6, 0)}}
    series = shares_over_time(two_queues(deserved=deserved).run(), buckets=2)
    assert series.deserved.tolist() == [[0.75, 0.25], [0.75, 0.25]]


def test_a_queue_without_jobs_takes_no_part() -> None:
    run = two_queues(queues=("x", "y", "idle")).run()
    series = shares_over_time(run, buckets=1)
    assert series.entitled.tolist() == [[0.5, 0.5, 0.0]]
    assert series.jain.tolist() == pytest.approx([0.9])
    summary = summarize(run)
    assert [fairness.queue for fairness in summary.fairness] == ["x", "y"]
    assert summary.jain == pytest.approx(0.9)


def test_without_any_demand_there_is_no_index() -> None:
    assert np.isnan(shares_over_time(Scene().run(), buckets=2).jain).all()


@pytest.mark.parametrize(
    ("values", "index"),
    [([1, 1, 1], 1), ([1, 0, 0, 0], 0.25), ([1, 0.5], 0.9), ([0, 0], 1), ([3, math.nan], 1), ([], math.nan)],
)
def test_jains_index(values: list[float], index: float) -> None:
    assert float(jain(np.array(values, np.float64))) == pytest.approx(index, nan_ok=True)


@given(scenes(), st.integers(1, 9))
def test_indices_lie_between_one_queue_has_all_and_all_are_equal(scene: Scene, buckets: int) -> None:
    series = shares_over_time(scene.run(), buckets)
    known = series.jain[~np.isnan(series.jain)]
    assert ((known >= 1 / len(scene.queues) - 1e-9) & (known <= 1 + 1e-9)).all()
    assert (series.entitled <= series.demand + 1e-9).all()
    assert (series.shortfall >= 0).all()
