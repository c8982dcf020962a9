"""Gangs that waited with a partial fit, and what was free when."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from runs_by_hand import JobOf, NodeOf, PodRunOf, Scene, scenes

from hekla.simulation.measures import summarize, waited_beside_room
from hekla.simulation.measures.room import fragments, free_at, pod_mix
from hekla.simulation.run import State


def test_a_gang_has_a_partial_fit_while_one_of_its_pods_would_fit() -> None:
    """Four cores: full until 40, two free until 60, then the gang of two pods with two cores starts."""
    run = Scene(
        jobs=[
            JobOf("first", started=0, finished=40, cpu=2),
            JobOf("second", started=0, finished=60, cpu=2),
            JobOf("gang", started=60, finished=100, pods=2, cpu=2),
            JobOf("single", started=60, finished=100, cpu=0),
        ],
        pod_runs=[
            PodRunOf("first", "n1", 0, 40),
            PodRunOf("second", "n1", 0, 60),
            PodRunOf("gang", "n1", 60, 100, pod=0),
            PodRunOf("gang", "n1", 60, 100, pod=1),
        ],
    ).run()
    beside = waited_beside_room(run, moments=100)
    assert beside.resolution == 1.0
    assert beside.seconds.tolist() == [0, 0, 20, 0]
    assert beside.gangs == 1
    assert summarize(run).beside_room_gangs == 1


def test_a_node_that_is_down_offers_no_room() -> None:
    run = Scene(jobs=[JobOf("gang", pods=2)], nodes=[NodeOf("n1", up=[(0, 30), (90, 100)])]).run()
    assert waited_beside_room(run, moments=100).seconds.tolist() == [40]


def test_a_gang_that_fails_before_it_starts_waits_no_longer() -> None:
    run = Scene(jobs=[JobOf("gang", submitted=10, finished=30, pods=2, state=State.FAILED)]).run()
    assert waited_beside_room(run, moments=100).seconds.tolist() == [20]


def test_refused_gangs_do_not_wait() -> None:
    run = Scene(jobs=[JobOf("gang", pods=2, state=State.REFUSED, queue=None)]).run()
    assert waited_beside_room(run).gangs == 0


def test_room_must_be_on_one_node() -> None:
    nodes = [NodeOf("n1", cpu=2, gpu=0), NodeOf("n2", cpu=0, gpu=2)]
    run = Scene(jobs=[JobOf("gang", pods=2, cpu=1, gpu=1)], nodes=nodes).run()
    assert waited_beside_room(run).gangs == 0


def test_pods_that_never_ran_count_in_the_mix_by_their_jobs_first_role() -> None:
    run = Scene(
        jobs=[JobOf("ran", started=0, pods=2, cpu=1), JobOf("waits", pods=6, cpu=3)],
        pod_runs=[
            PodRunOf("ran", "n1", 0, 10),
            PodRunOf("ran", "n1", 20, 30),
            PodRunOf("ran", "n1", 20, 30, pod=1),
        ],
    ).run()
    shapes, mix = pod_mix(run)
    assert shapes.tolist() == [[1000, 0], [3000, 0]]
    assert mix.tolist() == [[0.25, 0.75], [0, 0]]


@given(scenes(), st.integers(1, 9))
def test_what_is_free_agrees_with_a_loop(scene: Scene, count: int) -> None:
    run = scene.run()
    moments = np.linspace(0, run.end, count)
    before: object = None
    for moment, (free, is_up, is_as_before) in zip(moments, free_at(run, moments), strict=True):
        plain = run.nodes.allocatable.copy()
        for row in range(len(run.pod_runs)):
            if run.pod_runs.began[row] <= moment < run.pod_runs.ended[row]:
                plain[run.pod_runs.node[row]] -= run.shapes[run.pod_runs.shape[row]]
        assert free.T.tolist() == plain.tolist()
        spans = (run.nodes.service_began <= moment) & (moment < run.nodes.service_ended)
        assert np.flatnonzero(is_up).tolist() == sorted(set(run.nodes.service[spans].tolist()))
        now = free.tolist(), is_up.tolist()
        assert now == before or not is_as_before
        before = now


@given(scenes())
def test_no_gang_has_a_partial_fit_for_longer_than_it_waits(scene: Scene) -> None:
    run = scene.run()
    beside = waited_beside_room(run, moments=40)
    ends = np.fmin(np.fmin(run.jobs.started, run.jobs.finished), run.end)
    assert (beside.seconds <= ends - run.jobs.submitted + beside.resolution + 1e-9).all()


def test_where_looking_takes_too_long_moments_stand_for_their_neighbours() -> None:
    run = Scene(jobs=[JobOf("small", cpu=1), JobOf("large", cpu=3)], nodes=[NodeOf("n1", cpu=2)]).run()
    moments = (np.arange(200) + 0.5) * run.end / 200
    assert waited_beside_room(run, moments=500, comparisons=1).resolution == 2.0
    for roughly, closely in zip(fragments(run, moments, comparisons=1), fragments(run, moments), strict=True):
        assert np.array_equal(roughly, closely, equal_nan=True)
