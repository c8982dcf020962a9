"""Benchmarks of simulations: every load runs at a tiny size, and what it came to is judged rightly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from hekla.simulation.workloads import Workload
from loads import backlog, trace, with_one_that_never_fits
from simulating import LOADS, Figures, Load, chosen, measure, table

TINY = 30


@pytest.mark.parametrize("load", LOADS, ids=lambda load: load.name)
def test_every_load_can_be_played_to_its_end(load: Load) -> None:
    found = measure(replace(load, nodes=load.nodes.replace("10000 x", "10 x")), TINY / load.jobs)
    assert found.jobs in {TINY, TINY + 1}
    assert found.pods >= TINY
    assert (found.event_loop is not None) == (load.processors > 0)


def test_a_trace_keeps_the_processors_busy_up_to_its_load() -> None:
    jobs = list(trace(2_000, 100, 1.1, largest=25).jobs())
    work = sum(job.pods * job.run_seconds for job in jobs)
    assert work / (100 * jobs[-1].submitted) == pytest.approx(1.1, rel=0.01)
    assert {job.pods for job in jobs} == {1, 2, 4, 8, 16, 25}
    assert all(
        job.submitted == int(job.submitted) and job.run_seconds == int(job.run_seconds) for job in jobs
    )


def test_with_memory_every_job_asks_for_an_amount_of_its_own() -> None:
    jobs = trace(500, 100, 1.0, largest=8, has_memory=True).jobs()
    amounts = {job.roles[0].template.spec.containers[0].resources.requests["memory"] for job in jobs}
    assert len(amounts) == 500


@pytest.mark.parametrize(
    "make",
    [
        lambda: trace(50, 10, 1.0, largest=8),
        lambda: backlog(50, 2),
        lambda: with_one_that_never_fits(trace(50, 10, 1.0, largest=8), 10),
    ],
    ids=["trace", "backlog", "never fits"],
)
def test_the_same_numbers_give_the_same_jobs(make: Callable[[], Workload]) -> None:
    assert list(make().jobs()) == list(make().jobs())


def test_a_load_is_measured_with_the_one_beside_which_it_is_judged() -> None:
    assert [load.name for load in chosen(["one never fits"])] == ["uncrowded", "one never fits"]
    assert chosen([]) == list(LOADS)


def figures(name: str, seconds: float, megabytes: float = 100.0) -> Figures:
    return Figures(name, 5_000, 30_000, 5_000, 11.5, seconds, megabytes, event_loop=None, slowness=0.5)


def test_scaled_seconds_are_judged_and_so_are_memory_and_growth() -> None:
    told = table([figures("trace", 1.0), figures("trace of 50000", 12.0, 300.0)], share=1.0).splitlines()
    assert [line.split()[-2:] for line in told[1:]] == [
        ["aim", "met"],
        ["aim", "met"],
        ["12.00", "24.00"],
        ["TOO", "SLOW"],
        ["TOO", "BIG"],
    ]


def test_of_a_share_less_is_expected() -> None:
    assert "TOO SLOW" in table([figures("trace", 1.0)], share=0.5)
