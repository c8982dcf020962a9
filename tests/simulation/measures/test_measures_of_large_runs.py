"""A hundred thousand jobs are measured in a moment."""

from __future__ import annotations

import time

import pytest
from large_runs import WEEK, large_run

from hekla.simulation import measures
from hekla.simulation.run import Run


@pytest.fixture(scope="module")
def week() -> Run:
    return large_run(jobs=100_000, pod_runs=400_000)


def test_all_measures_of_a_hundred_thousand_jobs_take_seconds(week: Run) -> None:
    """About one; a loop over jobs or pod_runs would take far more than the limit.

    Processor time: what else the machine does meanwhile is none of the measures' doing.
    """
    began = time.process_time()
    measures.summarize(week)
    measures.use_over_time(week)
    measures.jobs_over_time(week)
    measures.shares_over_time(week)
    measures.node_use(week, "cpu")
    measures.wait_distribution(week)
    assert time.process_time() - began < 6


def test_accounts_of_a_large_run_balance(week: Run) -> None:
    """Sums of bytes over a week exceed what floating point holds exactly; parts and whole still agree."""
    use = measures.use_over_time(week, buckets=400)
    jobs = measures.jobs_over_time(week, buckets=400)
    memory = measures.summarize(week).resources[1]
    assert float(use.seconds @ use.used[:, :, 1].sum(axis=1)) == pytest.approx(memory.used, rel=1e-12)
    pods = (week.pod_runs.ended - week.pod_runs.began).sum()
    assert float(jobs.seconds @ jobs.pods_running.sum(axis=1)) == pytest.approx(pods, rel=1e-12)
    assert (use.used >= 0).all()
    assert use.edges[-1] == WEEK
