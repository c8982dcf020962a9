"""A hundred thousand jobs are measured without a loop over them."""

from __future__ import annotations

import pytest
from large_runs import WEEK, large_run

from fakes.steps import steps_of
from hekla.simulation import measures
from hekla.simulation.run import Run


@pytest.fixture(scope="module")
def week() -> Run:
    return large_run(jobs=100_000, pod_runs=400_000)


def test_no_measure_of_a_hundred_thousand_jobs_goes_through_them_one_by_one(week: Run) -> None:
    smaller = large_run(jobs=10_000, pod_runs=40_000)
    measure(smaller)  # what is imported and made but once does not count

    assert steps_of(lambda: measure(week)) < steps_of(lambda: measure(smaller)) + 10_000


def measure(run: Run) -> None:
    measures.summarize(run)
    measures.use_over_time(run)
    measures.jobs_over_time(run)
    measures.shares_over_time(run)
    measures.node_use(run, "cpu")
    measures.wait_distribution(run)


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
