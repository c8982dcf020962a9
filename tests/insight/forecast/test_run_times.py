"""How long jobs may run: stated, learned from their like, estimated, assumed."""

from __future__ import annotations

import numpy as np
import pytest

from hekla.insight.forecast.history import (
    Likeness,
    Past,
    Question,
    RunTimes,
    RunTimeSource,
    likeness_of,
    stem_of,
)


def like(name: str = "train-1", user: str = "ann", queue: str = "research", pods: int = 1) -> Likeness:
    return likeness_of(f"default/{name}", queue=queue, pods=pods, user=user)


def past(*seconds: float, estimate: float | None = None, **who: str) -> list[Past]:
    return [Past(like(**who), each, estimate) for each in seconds]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("train", "train"),
        ("train-17", "train"),
        ("train17", "train"),
        ("train-x7k2p", "train"),
        ("train-large", "train-large"),
        ("nightly-2026-01-31", "nightly"),
        ("resnet50-3", "resnet"),
        ("42", "42"),
    ],
)
def test_the_stem_of_a_name_is_what_its_repetitions_share(name: str, stem: str) -> None:
    assert stem_of(name) == stem


def test_what_is_stated_counts_before_all_that_was_learned() -> None:
    found = RunTimes(past(*[10.0] * 9)).prospect(Question(like(), stated=60.0))

    assert (found.source, found.seconds.tolist()) == (RunTimeSource.STATED, [60.0])


def test_only_jobs_that_ran_longer_than_this_one_has_say_how_long_it_will_run() -> None:
    times = RunTimes(past(10, 20, 30, 40, 50, 60, 70, 80))

    found = times.prospect(Question(like(), has_run=30.0))

    assert (found.source, found.seconds.tolist()) == (RunTimeSource.LEARNED, [40, 50, 60, 70, 80])


def test_jobs_of_the_same_name_count_before_others_of_the_user_and_these_before_the_rest() -> None:
    times = RunTimes(
        [
            *past(*[10.0] * 5, name="train-3"),
            *past(*[20.0] * 5, name="other"),
            *past(*[30.0] * 5, name="x", user="bob"),
        ]
    )

    assert set(times.prospect(Question(like())).seconds) == {10.0}
    assert set(times.prospect(Question(like(name="new"))).seconds) == {10.0, 20.0}
    assert set(times.prospect(Question(like(name="new", user="eve"))).seconds) == {10.0, 20.0, 30.0}


def test_a_name_with_too_few_ended_jobs_gives_way_to_a_broader_group() -> None:
    times = RunTimes([*past(10, 10, name="train-3"), *past(*[20.0] * 5, name="other")])

    assert sorted(times.prospect(Question(like())).seconds) == [10, 10, 20, 20, 20, 20, 20]


def test_of_estimates_the_ratio_is_learned() -> None:
    """Ann's jobs take a quarter of what she says: an estimate of 800 s means 200 s."""
    times = RunTimes(past(*[100.0] * 6, estimate=400.0, name="old"))

    found = times.prospect(Question(like(name="new"), estimate=800.0))

    assert (found.source, set(found.seconds)) == (RunTimeSource.LEARNED, {200.0})


def test_an_estimate_without_anything_to_compare_with_counts_as_it_stands() -> None:
    found = RunTimes().prospect(Question(like(), estimate=800.0, has_run=100.0))

    assert (found.source, found.seconds.tolist()) == (RunTimeSource.ESTIMATE, [800.0])


@pytest.mark.parametrize(
    "question",
    [
        Question(like(), has_run=1000.0, stated=60.0),
        Question(like(), has_run=1000.0, estimate=60.0),
        Question(like(), has_run=1000.0),
    ],
)
def test_a_job_that_outlasts_all_that_is_known_runs_as_long_again_with_even_chances(
    question: Question,
) -> None:
    times = RunTimes(past(10, 20, 30)) if question.stated is None else RunTimes(assumed=50.0)

    found = times.prospect(question)

    assert found.seconds.min() > 1000.0
    assert np.median(found.seconds) == pytest.approx(2000.0, rel=0.02)


def test_where_nothing_is_known_an_hour_is_the_middle_of_a_broad_guess() -> None:
    found = RunTimes().prospect(Question(like()))

    assert found.source is RunTimeSource.ASSUMED
    assert np.median(found.seconds) == pytest.approx(3600.0, rel=0.01)
    assert np.quantile(found.seconds, 0.9) > 5 * 3600.0


def test_a_run_time_that_is_assumed_for_the_unknown_counts_as_it_stands() -> None:
    assert RunTimes(assumed=90.0).prospect(Question(like())).seconds.tolist() == [90.0]


def test_draws_follow_the_ended_jobs() -> None:
    found = RunTimes(past(10, 10, 10, 40, 40)).prospect(Question(like()))
    chance = np.random.default_rng(0)

    drawn = [found.draw(chance) for _ in range(2000)]

    assert set(drawn) == {10.0, 40.0}
    assert np.mean(drawn) == pytest.approx(22.0, rel=0.05)
