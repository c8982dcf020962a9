"""All figures of a run: work used and lost, pace, and what is written down."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs_by_hand import JobOf, NodeOf, PodRunOf, Scene, scenes
from test_use import shuffle_pod_runs

from hekla.simulation.measures import ResourceUse, summarize
from hekla.simulation.run import Ending, State


def evicted_once() -> Scene:
    """One node, 4 cores and 2 GPUs, 100 s: low gives way to high after 20 s and has saved 5 s of them."""
    return Scene(
        jobs=[
            JobOf("low", 0, 0, 90, run=60, cpu=1, gpu=2, evictions=1, queue="x"),
            JobOf("high", 10, 20, 40, run=20, cpu=4, queue="y"),
        ],
        pod_runs=[
            PodRunOf("low", "n1", 0, 20, ending=Ending.EVICTED, kept=5, for_job="high"),
            PodRunOf("high", "n1", 20, 40),
            PodRunOf("low", "n1", 40, 90),
        ],
        nodes=[NodeOf("n1", cpu=4, gpu=2)],
        queues=("x", "y"),
    )


def test_work_is_used_and_lost_in_cores_and_devices() -> None:
    cpu, gpu = summarize(evicted_once().run()).resources
    assert (cpu.name, cpu.available, cpu.used, cpu.lost) == ("cpu", 400, 70 + 80, 15)
    assert (gpu.name, gpu.available, gpu.used, gpu.lost) == ("nvidia.com/gpu", 200, 140, 30)
    assert (cpu.utilisation, gpu.utilisation) == (0.375, 0.7)


def test_what_the_end_of_the_run_cuts_off_is_not_lost() -> None:
    pod_run = PodRunOf("a", "n1", 0, 100, ending=Ending.CUT, kept=0)
    cpu, _ = summarize(Scene([JobOf("a", started=0)], [pod_run]).run()).resources
    assert (cpu.used, cpu.lost) == (100, 0)


def test_a_pod_run_that_never_ended_counts_to_the_end_of_the_run() -> None:
    pod_run = PodRunOf("a", "n1", 60, math.nan, ending=Ending.CUT, kept=40)
    cpu, _ = summarize(Scene([JobOf("a", started=60)], [pod_run]).run()).resources
    assert cpu.used == 40


def test_pace_is_measured_from_the_first_submission_to_the_last_completion() -> None:
    jobs = [
        JobOf("a", 10, 20, 40),
        JobOf("b", 30, 40, 82),
        JobOf("lost", 50, 60, 95, state=State.FAILED),
        JobOf("late", 90),
        JobOf("refused", 0, state=State.REFUSED),
    ]
    summary = summarize(Scene(jobs).run())
    assert summary.makespan == 72
    assert summary.throughput == pytest.approx(2 / 72 * 3600)


def test_where_nothing_completed_there_is_no_pace() -> None:
    summary = summarize(Scene([JobOf("a")]).run())
    assert math.isnan(summary.makespan)
    assert math.isnan(summary.throughput)
    assert summary.as_data()["makespan"] is None


def test_a_run_of_nothing_has_a_summary_all_the_same() -> None:
    data = summarize(Scene([], [], [], end=0, queues=()).run()).as_data()
    assert data["jobs"] == 0
    assert data["byQueue"] == []
    assert "NaN" not in json.dumps(data)


def test_the_whole_summary_as_data() -> None:
    data = summarize(evicted_once().run()).as_data()
    assert list(data)[:4] == ["jobs", "completed", "failed", "running"]
    assert data["wait"] == {"count": 2, "mean": 5, "p50": 5, "p90": 9, "p95": 9.5, "p99": 9.9, "max": 10}
    assert data["makespan"] == 90
    assert data["resources"]["nvidia.com/gpu"]["lostSeconds"] == 30  # type: ignore[index]
    assert data["chains"] == {
        "byDepth": [1],
        "longest": [{"at": 20, "victim": "default/low", "beneficiary": "default/high"}],
    }
    assert [group["queue"] for group in data["byQueue"]] == ["x", "y"]  # type: ignore[attr-defined]
    assert [group["size"] for group in data["bySize"]] == ["1"]  # type: ignore[attr-defined]
    assert json.loads(json.dumps(data, allow_nan=False)) == data


@given(scenes())
def test_nothing_that_is_written_down_is_not_a_number(scene: Scene) -> None:
    json.dumps(summarize(scene.run()).as_data(), allow_nan=False)


@given(scenes(), st.randoms(use_true_random=False))
def test_the_order_of_pod_runs_does_not_matter_to_a_summary(scene: Scene, random: object) -> None:
    run = scene.run()
    left, right = summarize(run), summarize(shuffle_pod_runs(run, random))
    assert left.overall.as_data() == right.overall.as_data()
    assert left.beside_room_seconds == right.beside_room_seconds
    assert left.chains.by_depth == right.chains.by_depth
    for before, after in zip(left.resources, right.resources, strict=True):
        assert figures(before) == pytest.approx(figures(after), nan_ok=True)
    assert left.jain == pytest.approx(right.jain, nan_ok=True)


def figures(use: ResourceUse) -> tuple[float, ...]:
    return use.available, use.used, use.lost, use.utilisation, use.fragmentation


@given(scenes())
def test_work_lost_was_work_used(scene: Scene) -> None:
    for use in summarize(scene.run()).resources:
        assert 0 <= use.lost <= use.used + 1e-9
