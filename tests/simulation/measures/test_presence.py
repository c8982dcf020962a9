"""Who waited and who ran, by hand, and against a plain loop over half seconds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from runs_by_hand import JobOf, PodRunOf, Scene, scenes

from hekla.simulation.measures import backlog_over_time, jobs_over_time
from hekla.simulation.run import Ending, Run, State


def test_a_job_waits_from_submission_to_start_and_runs_to_its_end() -> None:
    run = Scene(
        jobs=[JobOf("a", submitted=10, started=20, finished=35)],
        pod_runs=[PodRunOf("a", "n1", 20, 35)],
        end=40,
    ).run()
    series = jobs_over_time(run, buckets=4)
    assert series.waiting[:, 0].tolist() == [0, 1, 0, 0]
    assert series.running[:, 0].tolist() == [0, 0, 1, 0.5]
    assert series.pods_running[:, 0].tolist() == [0, 0, 1, 0.5]


def test_a_gang_that_lost_a_pod_waits_again_while_the_pods_it_has_left_run() -> None:
    run = Scene(
        jobs=[JobOf("gang", submitted=0, started=0, finished=30, pods=2, cpu=1)],
        pod_runs=[
            PodRunOf("gang", "n1", 0, 10, pod=0, ending=Ending.EVICTED),
            PodRunOf("gang", "n1", 20, 30, pod=0),
            PodRunOf("gang", "n1", 0, 30, pod=1),
        ],
        end=40,
    ).run()
    series = jobs_over_time(run, buckets=4)
    assert series.running[:, 0].tolist() == [1, 0, 1, 0]
    assert series.waiting[:, 0].tolist() == [0, 1, 0, 0]
    assert series.pods_waiting[:, 0].tolist() == [0, 1, 0, 0]
    assert series.pods_running[:, 0].tolist() == [2, 1, 2, 0]


def test_a_pod_that_is_done_neither_waits_nor_holds_its_job_up() -> None:
    run = Scene(
        jobs=[JobOf("gang", submitted=0, started=0, finished=20, pods=2)],
        pod_runs=[PodRunOf("gang", "n1", 0, 10, pod=0), PodRunOf("gang", "n1", 0, 20, pod=1)],
        end=20,
    ).run()
    series = jobs_over_time(run, buckets=2)
    assert series.running[:, 0].tolist() == [1, 1]
    assert series.pods_waiting[:, 0].tolist() == [0, 0]


def test_a_pod_that_is_done_counts_until_it_starts_again_with_its_job() -> None:
    run = Scene(
        jobs=[JobOf("gang", submitted=0, started=0, finished=30, pods=1)],
        pod_runs=[PodRunOf("gang", "n1", 0, 10), PodRunOf("gang", "n1", 20, 30)],
        end=30,
    ).run()
    series = jobs_over_time(run, buckets=3)
    assert series.pods_running[:, 0].tolist() == [1, 0, 1]
    assert series.pods_waiting[:, 0].tolist() == [0, 0, 0]
    assert series.running[:, 0].tolist() == [1, 1, 1]


def test_refused_jobs_do_not_wait() -> None:
    run = Scene(jobs=[JobOf("a", queue=None, state=State.REFUSED), JobOf("b", state=State.REFUSED)]).run()
    series = jobs_over_time(run, buckets=2)
    assert not series.waiting.any()
    assert not series.pods_waiting.any()


def plain_presence(run: Run, buckets: int) -> np.ndarray:
    """(2, T, Q) Waiting and running jobs, by looking at every half second."""
    counts = np.zeros((2, buckets, len(run.queues)))
    ticks, jobs, pod_runs = int(run.end * 2), run.jobs, run.pod_runs
    for tick in range(ticks):
        moment, part = tick / 2, tick * buckets // ticks
        for job in range(len(jobs)):
            left = run.end if np.isnan(jobs.finished[job]) else jobs.finished[job]
            if jobs.state[job] == State.REFUSED or not jobs.submitted[job] <= moment < left:
                continue
            provided = 0
            for pod in range(jobs.pods[job]):
                own = np.flatnonzero(
                    (pod_runs.job == job) & (pod_runs.pod == pod) & (pod_runs.began <= moment)
                )
                if len(own):
                    latest = own[np.lexsort((pod_runs.ended[own], pod_runs.began[own]))[-1]]
                    provided += bool(
                        moment < pod_runs.ended[latest] or pod_runs.ending[latest] == Ending.DONE
                    )
            counts[int(provided >= jobs.minimum[job]), part, jobs.queue[job]] += 1
    return counts * buckets / ticks


@given(scenes(), st.sampled_from([1, 5]))
def test_jobs_agree_with_a_loop_over_half_seconds(scene: Scene, buckets: int) -> None:
    run = scene.run()
    series = jobs_over_time(run, buckets)
    waiting, running = plain_presence(run, buckets)
    np.testing.assert_allclose(series.running, running, atol=1e-9)
    np.testing.assert_allclose(series.waiting, waiting, atol=1e-9)
    assert (series.pods_waiting >= 0).all()


def test_waiting_work_is_what_pods_ask_for_that_are_neither_on_a_node_nor_done() -> None:
    run = Scene(
        jobs=[
            JobOf("gang", submitted=0, started=0, finished=30, pods=2, cpu=3),
            JobOf("late", submitted=10, cpu=4, gpu=1),
            JobOf("refused", submitted=0, cpu=8, state=State.REFUSED),
        ],
        pod_runs=[
            PodRunOf("gang", "n1", 0, 10, pod=0, ending=Ending.EVICTED),
            PodRunOf("gang", "n1", 20, 25, pod=0),
            PodRunOf("gang", "n1", 0, 30, pod=1),
        ],
        end=40,
    ).run()
    cpu, gpu, *_ = (backlog_over_time(run, buckets=4) / 1000).T.tolist()
    assert cpu == [0, 3 + 4, 4, 4]
    assert gpu == [0, 1, 1, 1]
