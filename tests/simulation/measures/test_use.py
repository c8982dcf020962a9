"""What pods held of what nodes had, against numbers by hand and against a plain loop over half seconds."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs_by_hand import CPU, GPU, JobOf, NodeOf, PodRunOf, Scene, scenes

from hekla.errors import InputError
from hekla.simulation.measures import jobs_over_time, node_use, summarize, use_over_time
from hekla.simulation.measures.summary import available_work, used_work
from hekla.simulation.run import NOTHING, PodRuns, Run


def test_a_span_counts_in_each_part_by_the_time_that_it_covers_there() -> None:
    run = Scene(
        jobs=[JobOf("a", cpu=2)],
        pod_runs=[PodRunOf("a", "n1", began=5, ended=25)],
        end=40,
    ).run()
    use = use_over_time(run, buckets=4)
    assert use.edges.tolist() == [0, 10, 20, 30, 40]
    assert use.times.tolist() == [5, 15, 25, 35]
    assert use.used[:, 0, 0].tolist() == [1000, 2000, 1000, 0]
    assert use.capacity[:, 0].tolist() == [4000] * 4


def test_each_queue_has_its_own_account() -> None:
    run = Scene(
        jobs=[JobOf("a", queue="x", cpu=1), JobOf("b", queue="y", cpu=1, gpu=1)],
        pod_runs=[PodRunOf("a", "n1", 0, 20), PodRunOf("b", "n1", 10, 20)],
        nodes=[NodeOf("n1", cpu=4, gpu=2)],
        queues=("x", "y"),
        end=20,
    ).run()
    used = use_over_time(run, buckets=2).used
    assert used.tolist() == [[[1000, 0], [0, 0]], [[1000, 0], [1000, 1000]]]


def test_a_node_counts_while_it_is_in_service() -> None:
    run = Scene(nodes=[NodeOf("n1", cpu=4), NodeOf("n2", cpu=2, up=[(0, 5), (15, 20)])], end=20).run()
    assert use_over_time(run, buckets=2).capacity[:, 0].tolist() == [5000, 5000]
    assert available_work(run)[0] == 4000 * 20 + 2000 * 10


def test_the_heat_of_a_node_is_nothing_while_it_is_not_there() -> None:
    run = Scene(
        jobs=[JobOf("a", cpu=1), JobOf("b", cpu=1)],
        pod_runs=[PodRunOf("a", "n1", 0, 10), PodRunOf("b", "n2", 5, 10)],
        nodes=[NodeOf("n1", cpu=4), NodeOf("n2", cpu=2, up=[(0, 10)])],
        end=20,
    ).run()
    heat = node_use(run, CPU, buckets=2)
    assert np.array_equal(heat, [[0.25, 0.0], [0.25, np.nan]], equal_nan=True)


def test_a_node_without_the_resource_has_no_heat() -> None:
    assert np.isnan(node_use(Scene().run(), GPU, buckets=3)).all()


def test_a_resource_that_no_node_has_is_told() -> None:
    with pytest.raises(InputError, match=r'no resource "tpu" in this run; there are: cpu, nvidia\.com/gpu'):
        node_use(Scene().run(), "tpu")


def test_a_run_that_takes_no_time_uses_nothing() -> None:
    use = use_over_time(Scene(end=0).run(), buckets=3)
    assert not use.used.any()
    assert not use.capacity.any()


def test_gaps_too_small_for_half_of_the_mix_are_half_stuck() -> None:
    """Pods of 1 and of 3 cores, as many of each; two cores are free on each of two nodes."""
    run = Scene(
        jobs=[JobOf("small", cpu=1), JobOf("large", cpu=3), JobOf("filler", cpu=2, pods=2)],
        pod_runs=[PodRunOf("filler", "n1", 0, 100), PodRunOf("filler", "n2", 0, 100, pod=1)],
        nodes=[NodeOf("n1", cpu=4), NodeOf("n2", cpu=4)],
    ).run()
    # Of four pods (1, 3, 2, 2 cores) the one with three cores does not fit into gaps of two.
    fragmentation = use_over_time(run, buckets=4).fragmentation
    assert fragmentation[:, 0].tolist() == [0.25] * 4
    assert np.isnan(fragmentation[:, 1]).all(), "no pod asks for GPUs"


def test_free_gpus_beside_too_few_cores_are_stuck() -> None:
    run = Scene(
        jobs=[JobOf("train", cpu=4, gpu=1), JobOf("filler", cpu=2)],
        pod_runs=[PodRunOf("filler", "n1", 0, 100)],
        nodes=[NodeOf("n1", cpu=4, gpu=2), NodeOf("n2", cpu=8, gpu=2)],
    ).run()
    assert use_over_time(run, buckets=2).fragmentation[:, 1].tolist() == [0.5, 0.5]


def test_what_a_node_out_of_service_has_is_not_idle() -> None:
    """Pods of three cores: the two of n2 are of no use to them, but count only while n2 is there."""
    run = Scene(
        jobs=[JobOf("a", cpu=3)], nodes=[NodeOf("n1", cpu=6), NodeOf("n2", cpu=2, up=[(0, 50)])]
    ).run()
    assert use_over_time(run, buckets=2).fragmentation[:, 0].tolist() == [0.25, 0.0]


def test_pods_of_no_job_are_used_on_their_node_and_by_no_queue() -> None:
    run = Scene(jobs=[JobOf("a", cpu=1)], pod_runs=[PodRunOf("a", "n1", 0, 100)]).run()
    stray = dataclasses.replace(run.pod_runs, job=np.array([NOTHING], np.int32))
    run = dataclasses.replace(run, pod_runs=stray)
    assert not use_over_time(run, buckets=2).used.any()
    assert node_use(run, CPU, buckets=2).tolist() == [[0.25, 0.25]]
    assert not jobs_over_time(run, buckets=2).pods_running.any()
    assert summarize(run).resources[0].utilisation == 0.25


def test_a_full_cluster_has_no_gaps_to_speak_of() -> None:
    run = Scene(jobs=[JobOf("a", cpu=4)], pod_runs=[PodRunOf("a", "n1", 0, 100)]).run()
    assert np.isnan(use_over_time(run, buckets=2).fragmentation).all()


def plain_use(run: Run, buckets: int) -> tuple[np.ndarray, np.ndarray]:
    """The same by looking at every half second; all moments of a scene are such."""
    used = np.zeros((buckets, len(run.queues), len(run.resources)))
    capacity = np.zeros((buckets, len(run.resources)))
    ticks = int(run.end * 2)
    for tick in range(ticks):
        moment, part = tick / 2, tick * buckets // ticks
        for row in range(len(run.pod_runs)):
            if run.pod_runs.began[row] <= moment < run.pod_runs.ended[row]:
                queue = run.jobs.queue[run.pod_runs.job[row]]
                used[part, queue] += run.shapes[run.pod_runs.shape[row]]
        for row, node in enumerate(run.nodes.service):
            if run.nodes.service_began[row] <= moment < run.nodes.service_ended[row]:
                capacity[part] += run.nodes.allocatable[node]
    return used * buckets / ticks, capacity * buckets / ticks


@given(scenes(), st.sampled_from([1, 2, 5, 10]))
def test_means_agree_with_a_loop_over_half_seconds(scene: Scene, buckets: int) -> None:
    run = scene.run()
    use = use_over_time(run, buckets)
    used, capacity = plain_use(run, buckets)
    np.testing.assert_allclose(use.used, used, atol=1e-6)
    np.testing.assert_allclose(use.capacity, capacity, atol=1e-6)


@given(scenes(), st.integers(1, 37))
def test_parts_sum_up_to_the_whole(scene: Scene, buckets: int) -> None:
    run = scene.run()
    use = use_over_time(run, buckets)
    np.testing.assert_allclose(np.einsum("t,tqr->r", use.seconds, use.used), used_work(run), atol=1e-6)
    np.testing.assert_allclose(use.seconds @ use.capacity, available_work(run), atol=1e-6)


@given(scenes(), st.integers(1, 20))
def test_no_part_holds_more_than_all_pod_runs_together(scene: Scene, buckets: int) -> None:
    run = scene.run()
    most = run.shapes[run.pod_runs.shape].sum(axis=0)
    use = use_over_time(run, buckets)
    assert (use.used >= 0).all()
    assert (use.used.sum(axis=1) <= most + 1e-6).all()
    known = use.fragmentation[~np.isnan(use.fragmentation)]
    assert ((known >= 0) & (known <= 1 + 1e-12)).all()


@given(scenes(), st.randoms(use_true_random=False))
def test_the_order_of_pod_runs_does_not_matter(scene: Scene, random: object) -> None:
    run = scene.run()
    shuffled = shuffle_pod_runs(run, random)
    left, right = use_over_time(run, 7), use_over_time(shuffled, 7)
    np.testing.assert_allclose(left.used, right.used, atol=1e-6)
    np.testing.assert_array_equal(left.fragmentation, right.fragmentation)
    heat = node_use(run, CPU, 7), node_use(shuffled, CPU, 7)
    np.testing.assert_allclose(*heat, atol=1e-9)


def shuffle_pod_runs(run: Run, random: object) -> Run:
    order = list(range(len(run.pod_runs)))
    random.shuffle(order)  # type: ignore[attr-defined]
    columns = {field.name: getattr(run.pod_runs, field.name)[order] for field in dataclasses.fields(PodRuns)}
    return dataclasses.replace(run, pod_runs=PodRuns(**columns))
