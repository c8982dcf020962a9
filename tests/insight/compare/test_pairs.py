"""The same job in two runs; who is missing in one is counted, never dropped in silence."""

from __future__ import annotations

import numpy as np
import pytest
from fates import NAN, Fate, against, run_of

from hekla.insight.compare.pairs import Pair, PairOutcome, job_figures, paired
from hekla.insight.compare.verdict import verdict_of
from hekla.simulation.run import State


def pair_of(base: list[Fate], candidate: list[Fate]) -> Pair:
    return paired(job_figures(run_of(base)), job_figures(run_of(candidate)))


def test_jobs_are_paired_by_name_whatever_their_order() -> None:
    pair = pair_of(
        [Fate("x", wait=10), Fate("y", wait=20), Fate("z", wait=30)],
        [Fate("z", wait=3), Fate("x", wait=1), Fate("new", wait=9)],
    )
    base, candidate = pair.values("wait")
    assert base.tolist() == [10, 30]
    assert candidate.tolist() == [1, 3]
    assert pair.outcome == PairOutcome(2, 0, 0, 0, unmatched_base=1, unmatched_candidate=1)


def test_a_name_that_comes_again_is_paired_by_its_number() -> None:
    pair = pair_of(
        [Fate("x", wait=1), Fate("x", wait=2), Fate("y", wait=3)],
        [Fate("y", wait=30), Fate("x", wait=10), Fate("x", wait=20)],
    )
    assert [side.tolist() for side in pair.values("wait")] == [[1, 2, 3], [10, 20, 30]]


def test_only_jobs_that_completed_in_both_have_completion_times() -> None:
    pair = pair_of(
        [Fate("x", wait=10), Fate("y"), Fate("z", wait=30), Fate("w")],
        [Fate("x", wait=5), Fate("y", wait=7), Fate("z"), Fate("w")],
    )
    base, candidate = pair.values("completion")
    np.testing.assert_array_equal(base, [110, NAN, NAN, NAN])
    np.testing.assert_array_equal(candidate, [105, NAN, NAN, NAN])
    assert pair.outcome == PairOutcome(
        both=1, only_base=1, only_candidate=1, neither=1, unmatched_base=0, unmatched_candidate=0
    )


def test_the_makespan_is_that_of_jobs_that_both_completed() -> None:
    """z alone would make the base look slow, though the candidate never ends it."""
    pair = pair_of(
        [Fate("x", wait=10, submitted=5), Fate("z", wait=5000)],
        [Fate("x", wait=50, submitted=5), Fate("z")],
    )
    assert pair.makespans == (115, 155)
    assert np.isnan(pair_of([Fate("x")], [Fate("x", wait=1)]).makespans).all()


def test_equal_runs_are_identical_and_one_second_is_enough_to_differ() -> None:
    jobs = [Fate("x", wait=1), Fate("y")]
    assert pair_of(jobs, jobs).is_identical
    assert not pair_of(jobs, [Fate("x", wait=2), Fate("y")]).is_identical
    assert not pair_of(jobs, jobs[:1]).is_identical


def test_lost_work_belongs_to_the_job_that_lost_it() -> None:
    figures = job_figures(run_of([Fate("x", wait=0, lost=40), Fate("y", wait=0)]))
    assert figures.lost.tolist() == [[40, 40], [0, 0]]  # seconds of one core, and of one pod


def test_no_jobs_at_all_make_an_empty_pair() -> None:
    pair = pair_of([], [])
    assert len(pair) == 0
    assert pair.is_identical
    assert not any(pair.outcome.counts)


@pytest.mark.parametrize("quantity", ["wait", "completion", "slowdown"])
def test_every_quantity_is_there_for_both(quantity: str) -> None:
    base, candidate = pair_of([Fate("x", wait=100)], [Fate("x", wait=0)]).values(quantity)
    assert base[0] > candidate[0]


@pytest.mark.parametrize(
    "unlucky", [Fate("j", 5.0, evictions=1), Fate("j", 5.0, run=90.0, lost=10.0)], ids=["evicted", "lost"]
)
def test_jobs_that_end_alike_but_lost_work_or_pods_are_not_identical(unlucky: Fate) -> None:
    calm = Fate("j", 5.0)
    assert pair_of([calm], [calm]).is_identical
    assert calm.finished == unlucky.finished
    assert not pair_of([calm], [unlucky]).is_identical


def test_jobs_that_failed_in_both_runs_are_told_apart_from_those_that_wait() -> None:
    run = run_of([Fate("fails"), Fate("waits"), Fate("runs", 5.0)])
    run.jobs.state[0] = State.FAILED
    assert paired(job_figures(run), job_figures(run)).outcome.failed_in_both == 1
    assert verdict_of(against((run, run))).apart == (
        "2 jobs completed under neither (1 of them failed under both)",
    )
