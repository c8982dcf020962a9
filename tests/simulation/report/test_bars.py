"""Bars: pods that stay together are one, and what lies side by side does not overlap."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from fakes.made_runs import empty_run, made_run
from hekla.simulation.report.charts import SLOTS, Bars, bars, place
from hekla.simulation.run import Ending, PodRuns, Run


def run_with(*pod_runs: tuple[int, int, int, float, float]) -> Run:
    """Each: job, shape (0 is one GPU of eight, 3 is all of them), node, from, to."""
    job, shape, node, began, ended = (np.array(column) for column in zip(*pod_runs, strict=True))
    order = np.argsort(ended, kind="stable")
    count = len(order)
    return replace(
        made_run(jobs=8, nodes=2),
        pod_runs=PodRuns(
            job=job[order].astype(np.int32),
            pod=np.zeros(count, np.int32),
            shape=shape[order].astype(np.int32),
            node=node[order].astype(np.int32),
            began=began[order].astype(float),
            ended=ended[order].astype(float),
            ending=np.full(count, Ending.DONE, np.uint8),
            kept=(ended - began)[order].astype(float),
            beneficiary=np.full(count, -1, np.int32),
        ),
    )


def drawn(found: Bars) -> list[tuple[int, int, int, int, int]]:
    """Each: job, node, pods, slot, height."""
    columns = (found.job, found.node, found.pods, found.slot, found.height)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_pods_that_come_and_go_together_are_one_bar_as_high_as_all_of_them() -> None:
    run = run_with((0, 0, 0, 0, 10), (0, 0, 0, 0, 10), (0, 0, 1, 0, 10))
    assert drawn(bars(run)) == [(0, 0, 2, 0, 6), (0, 1, 1, 0, 3)]


def test_a_pod_that_leaves_earlier_has_a_bar_of_its_own() -> None:
    run = run_with((0, 0, 0, 0, 10), (0, 0, 0, 0, 9))
    assert drawn(bars(run)) == [(0, 0, 1, 0, 3), (0, 0, 1, 3, 3)]


def test_a_bar_takes_the_place_of_one_that_has_ended() -> None:
    run = run_with((0, 3, 0, 0, 10), (1, 0, 0, 10, 20), (2, 0, 0, 12, 20), (3, 0, 0, 21, 22))
    assert drawn(bars(run)) == [(0, 0, 1, 0, 24), (1, 0, 1, 0, 3), (2, 0, 1, 3, 3), (3, 0, 1, 0, 3)]


def test_where_no_run_of_slots_is_long_enough_the_longest_is_taken() -> None:
    assert place(0b1100_0111, wanted=3, slots=8) == (0, 3)
    assert place(0b1100_0011, wanted=3, slots=8) == (0, 2)
    assert place(0, wanted=3, slots=8) == (7, 1)


def test_more_bars_side_by_side_than_slots_make_more_slots() -> None:
    run = run_with(*((job % 8, 0, 0, job / 1000, 50 + job) for job in range(40)))
    assert bars(run).slots == 40
    assert bars(run_with((0, 0, 0, 0, 1))).slots == SLOTS


def test_beyond_the_limit_the_shortest_are_left_out_and_it_is_known_how_much_that_is() -> None:
    run = run_with((0, 0, 0, 0, 1), (1, 0, 0, 0, 6), (2, 0, 1, 0, 3))
    found = bars(run, most=2)
    assert found.job.tolist() == [1, 2]
    assert (found.left_out, round(found.time_left_out, 3)) == (1, 0.1)


def test_nothing_makes_no_bars() -> None:
    assert len(bars(empty_run())) == 0


def test_bars_of_a_whole_run_keep_apart() -> None:
    """By brute force: no two bars of a node overlap in time and in height."""
    found = bars(made_run(jobs=200, nodes=6))
    for node in range(6):
        mine = np.flatnonzero(found.node == node)
        for bar, later in pairwise(mine):
            assert found.began[bar] <= found.began[later]
        for bar in mine:
            beside = mine[
                (found.began[mine] < found.ended[bar])
                & (found.ended[mine] > found.began[bar])
                & (mine != bar)
            ]
            low, high = int(found.slot[bar]), int(found.slot[bar]) + int(found.height[bar])
            assert not ((found.slot[beside] < high) & (found.slot[beside] + found.height[beside] > low)).any()
