"""The summary as people read it."""

from __future__ import annotations

import pytest
from runs_by_hand import JobOf, PodRunOf, Scene
from test_summary import evicted_once

from hekla.simulation.measures import summary_lines
from hekla.simulation.measures.words import spoken_number, spoken_part, spoken_seconds, spoken_work
from hekla.simulation.run import Ending, State


def test_a_run_in_words() -> None:
    scene = evicted_once()
    scene.jobs = [
        *scene.jobs,
        JobOf("late", 95, pods=12, queue="y"),
        JobOf("stray", 5, queue=None, state=State.REFUSED),
    ]
    assert summary_lines(scene.run()) == [
        "jobs           4: 2 completed, 1 waiting, 1 refused",
        "simulated      100 s in 100 cycles; first submission to last completion 90 s, 80 jobs per hour",
        "wait           mean 5.0 s, p50 5.0 s, p95 9.5 s, longest 10 s",
        "completion     mean 60 s, p50 60 s, p95 87 s, longest 90 s",
        "slowdown       mean 1.5, p95 1.5",
        "utilisation    cpu 37.5%, nvidia.com/gpu 70.0%",
        "fragmentation  cpu 12.0%, nvidia.com/gpu 66.7% of what was idle",
        "fairness       Jain's index 0.93 over 2 queues",
        "evictions      1; lost 15 core-seconds, 30 GPU-seconds",
        "partial fit    1 gang waited 5.0 s in all while only a part of the gang fitted",
        "",
        "QUEUE  JOBS  DONE  WAIT   P95  LONGEST  SLOWDOWN  EVICTED  SHARE  ENTITLED  SATISFIED",
        "x         1     1   0 s   0 s      0 s       1.5        1  70.0%     75.0%      86.7%",
        "y         2     1  10 s  10 s     10 s       1.5        0  20.0%     20.0%      50.0%",
        "",
        "PODS  JOBS  DONE   WAIT    P95  LONGEST  SLOWDOWN  EVICTED",
        "1        3     2  5.0 s  9.5 s     10 s       1.5        1",
        "9-64     1     0      -      -        -         -        0",
        "",
        "1 job never started; waits so far: mean 5.0 s, longest 5.0 s",
        "1 job refused: queue missing or closed, or not sound",
    ]


def test_a_run_of_nothing_in_words() -> None:
    assert summary_lines(Scene([], [], [], end=0, queues=()).run()) == [
        "jobs           none",
        "simulated      0 s in 0 cycles",
        "evictions      0",
    ]


def test_long_names_many_queues_and_long_chains_stay_within_100_columns() -> None:
    queues = [f"a-queue-with-a-name-that-is-too-long-{row}" for row in range(40)]
    jobs = [
        JobOf(f"job-{row}", 0, 1e5, 9e6, queue=queue, evictions=12345, failures=99999, restarts=4)
        for row, queue in enumerate(queues)
    ]
    pod_runs = [
        PodRunOf(f"job-{row}", "n1", 0, row + 1, ending=Ending.EVICTED, kept=0, for_job=f"job-{row + 1}")
        for row in range(39)
    ]
    lines = summary_lines(Scene(jobs, pod_runs, end=1e7, queues=queues).run())
    assert max(map(len, lines)) <= 100
    assert "and 10 queues with fewer jobs" in lines
    text = " ".join(" ".join(lines).split())
    assert "default/job-0 gave way to default/job-1, default/job-1 to default/job-2" in text
    assert "and 34 more" in text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (0.25, "0.25 s"),
        (9.5, "9.5 s"),
        (45, "45 s"),
        (119, "119 s"),
        (192, "3.2 min"),
        (5400, "90 min"),
        (11520, "3.2 h"),
        (100 * 3600, "4.2 d"),
        (float("nan"), "-"),
    ],
)
def test_spans_of_time_in_words(seconds: float, words: str) -> None:
    assert spoken_seconds(seconds) == words


@pytest.mark.parametrize(
    ("resource", "amount_seconds", "words"),
    [
        ("nvidia.com/gpu", 45_000, "12.5 GPU-hours"),
        ("cpu", 3600 * 1234, "1,234 core-hours"),
        ("cpu", 60, "60 core-seconds"),
        ("memory", 2 * 3600 * 2**30, "2 GiB-hours"),
        ("pods", 7200, "2 pod-hours"),
        ("example.com/fpga", 3600, "1 fpga-hours"),
    ],
)
def test_work_in_words(resource: str, amount_seconds: float, words: str) -> None:
    assert spoken_work(resource, amount_seconds) == words


def test_numbers_and_parts_in_words() -> None:
    assert [spoken_number(value) for value in (0, 0.254, 12.5, 99.94, 1234.5)] == [
        "0",
        "0.25",
        "12.5",
        "100",
        "1,234",
    ]
    assert [spoken_part(part) for part in (0.5, 0.0012, float("nan"))] == ["50.0%", "0.1%", "-"]
