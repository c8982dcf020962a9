"""Summaries: exact numbers of any trace, of which hardly anything is held meanwhile."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from hekla.simulation.workloads import Role, read_workload
from hekla.simulation.workloads.summary import WorkloadSummary

JOBS = 25_000
HOUR = 3600


def swf_line(number: int, moment: int) -> str:
    """A job of two processors that runs for half an hour, with memory of its own."""
    return f"{number} {moment} -1 {HOUR // 2} 2 -1 -1 2 -1 {1000 + number} 1 {number % 7} 1 -1 -1 -1 -1 -1\n"


def trace_of_distinct_jobs(folder: Path, *, is_sorted: bool) -> Path:
    file = folder / "log.swf"
    moments = range(JOBS) if is_sorted else range(JOBS, 0, -1)
    file.write_text("".join(swf_line(number, moment) for number, moment in enumerate(moments, 1)))
    return file


@pytest.mark.parametrize("is_sorted", [True, False], ids=["in order", "out of order"])
def test_where_every_job_is_a_shape_of_its_own_few_are_held_and_nothing_is_estimated(
    tmp_path: Path, is_sorted: bool
) -> None:
    summary = WorkloadSummary(read_workload(trace_of_distinct_jobs(tmp_path, is_sorted=is_sorted)))
    assert sum(isinstance(each, Role) for each in gc.get_objects()) < JOBS / 3
    told = summary.as_data()
    assert (told["jobs"], told["users"], told["queues"]["default"]["pods"]) == (JOBS, 7, 2 * JOBS)
    assert set(told["pods"].values()) == {2.0}
    assert told["resourceHours"]["cpu"] == JOBS
    kibibytes = sum(range(1001, 1001 + JOBS))
    assert told["resourceHours"]["memory"] == pytest.approx(kibibytes * 1024)


def test_percentiles_are_values_that_occur_whatever_their_order(tmp_path: Path) -> None:
    runs = [5, 1, 4, 2, 3]
    file = tmp_path / "log.swf"
    file.write_text(
        "".join(f"{n} 0 -1 {run} 1" + " -1" * 5 + " 1" + " -1" * 7 + "\n" for n, run in enumerate(runs))
    )
    told = WorkloadSummary(read_workload(file)).as_data()
    assert told["runSeconds"] == {"least": 1.0, "median": 3.0, "p90": 5.0, "p99": 5.0, "most": 5.0}
    assert told["pods"] == dict.fromkeys(told["runSeconds"], 1.0)
