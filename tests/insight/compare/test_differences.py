"""Known differences between runs made by hand, and what is said about them."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from fates import Fate, against, run_of

from hekla.insight.compare import Against, Judgement, verdict_of
from hekla.simulation.measures.intervals import t_quantile
from hekla.simulation.run import Run

QUEUES = ("prod", "research")


def waits(*seconds: float, **traits: object) -> list[Fate]:
    return [
        Fate(f"j{number}", wait=wait, submitted=10.0 * number, **traits)  # type: ignore[arg-type]
        for number, wait in enumerate(seconds)
    ]


def seeds(*differences: float) -> Against:
    """Ten jobs that wait 100 s, and under the candidate so much more or less with each seed."""
    base = run_of(waits(*[100.0] * 10))
    return against(*((base, run_of(waits(*[100.0 + change] * 10))) for change in differences))


def test_over_seeds_the_interval_is_students() -> None:
    """Differences -30, -40, -50: mean -40, standard deviation 10, reach 4.30265 * 10 / sqrt(3)."""
    found = seeds(-30, -40, -50).difference("wait.mean")
    assert (found.base, found.candidate) == (100, pytest.approx(60))
    reach = 4.302653 * 10 / math.sqrt(3)
    assert (found.estimate.low, found.estimate.high) == pytest.approx((-40 - reach, -40 + reach), abs=1e-4)
    assert found.judgement is Judgement.BETTER
    assert found.part == pytest.approx(-0.4)
    assert found.jobs == 30


def test_what_may_be_chance_is_unsure() -> None:
    assert seeds(-30, 20, -50).difference("wait.mean").judgement is Judgement.UNSURE


def test_less_than_a_second_or_a_hundredth_is_no_difference() -> None:
    assert seeds(-0.5, -0.6, -0.7).difference("wait.mean").judgement is Judgement.SAME
    large = [run_of(waits(*[wait] * 10)) for wait in (10_000.0, 9_950.0, 9_951.0)]
    found = against((large[0], large[1]), (large[0], large[2])).difference("wait.mean")
    assert found.estimate.is_sure
    assert found.judgement is Judgement.SAME


def test_more_is_worse_for_waits_and_better_for_completed_jobs() -> None:
    base = run_of([*waits(*[100.0] * 10), Fate("late")])
    found = against(*((base, run_of([*waits(*[200.0 + s] * 10), Fate("late", wait=1)])) for s in range(3)))
    assert found.difference("wait.mean").judgement is Judgement.WORSE
    assert found.difference("completed").judgement is Judgement.BETTER
    assert found.difference("completed").estimate.difference == 1


def test_with_one_seed_the_interval_comes_from_blocks_of_jobs() -> None:
    """25 jobs make five blocks of five; their mean differences are -10, -20, -30, -40, -50."""
    changes = [-10.0 * (1 + number // 5) for number in range(25)]
    base, candidate = run_of(waits(*[100.0] * 25)), run_of(waits(*(100 + change for change in changes)))
    found = against((base, candidate))
    wait = found.difference("wait.mean")
    reach = t_quantile(0.95, 4) * math.sqrt(250 / 5)
    assert found.blocks == 5
    assert wait.estimate.difference == pytest.approx(-30)
    assert (wait.estimate.low, wait.estimate.high) == pytest.approx((-30 - reach, -30 + reach))
    assert found.neighbour_correlation == pytest.approx(0.4)


def test_waits_that_grow_and_grow_are_told_with_wider_intervals() -> None:
    """Differences of 0, -1, -2, ...: each block is like the one before, so that twenty are worth fewer."""
    growing = [200.0 - number for number in range(100)]
    found = against((run_of(waits(*[200.0] * 100)), run_of(waits(*growing))))
    assert found.blocks == 20
    assert found.neighbour_correlation == pytest.approx(0.85, abs=0.01)
    likeness = found.neighbour_correlation
    assert found.widening == pytest.approx(math.sqrt((1 + likeness) / (1 - likeness)))
    means = [-(5 * block + 2) for block in range(20)]
    error = math.sqrt(sum((mean + 49.5) ** 2 for mean in means) / 19 / 20)
    wait = found.difference("wait.mean").estimate
    assert wait.high - wait.difference == pytest.approx(t_quantile(0.95, 19) * error * found.widening)


def test_with_one_seed_figures_of_whole_runs_have_no_interval() -> None:
    base = run_of(waits(*[100.0] * 25))
    found = against((base, run_of(waits(*[900.0] * 25))))
    makespan = found.difference("makespan")
    assert makespan.estimate.difference == 800
    assert math.isnan(makespan.estimate.low)
    assert makespan.judgement is Judgement.UNKNOWN
    assert found.difference("evictions").judgement is Judgement.SAME
    assert "makespan 21 min instead of 7.3 min" in verdict_of(found).unjudged[0]


def test_a_few_jobs_in_one_run_say_nothing_about_others() -> None:
    found = against((run_of(waits(100, 100)), run_of(waits(1, 1))))
    assert found.blocks == 0
    assert found.difference("wait.mean").judgement is Judgement.UNKNOWN
    assert verdict_of(found).headline == "no difference between b and a is sure"


def test_blocks_without_a_job_of_the_group_are_not_counted() -> None:
    """Only jobs of the first 25 are research: five blocks of ten speak of it, the other five do not."""

    def run(change: float) -> Run:
        jobs = waits(*(100.0 + (change * (number % 3)) for number in range(100)), queue="prod")
        return run_of([replace(job, queue=QUEUES[number < 25]) for number, job in enumerate(jobs)], QUEUES)

    found = against((run(0), run(-20)))
    assert found.blocks == 20
    assert found.difference("wait.mean", "research").estimate.count == 5
    assert found.difference("wait.mean").estimate.count == 20


def test_sums_are_of_all_jobs_with_blocks_too() -> None:
    """Every job of the candidate loses one pod and 40 s of a core: that is sure."""
    base = run_of(waits(*[0.0] * 50))
    found = against((base, run_of(waits(*[0.0] * 50, evictions=1, lost=40.0))))
    evictions, lost = found.difference("evictions"), found.difference("lost.cpu")
    assert (evictions.base, evictions.candidate) == (0, 50)
    assert (evictions.estimate.low, evictions.estimate.high) == pytest.approx((50, 50))
    assert lost.candidate == pytest.approx(2000)
    assert evictions.judgement is lost.judgement is Judgement.WORSE


def mixed(research: float, large: float) -> Run:
    """Small jobs of prod, small ones of research, and large ones of prod."""
    jobs = [
        Fate(f"{kind}{number}", wait + number % 3, 10.0 * number, queue=queue, pods=pods)
        for number in range(20)
        for kind, queue, pods, wait in (
            ("p", "prod", 1, 50.0), ("r", "research", 1, research), ("l", "prod", 70, large),
        )
    ]  # fmt: skip
    return run_of(jobs, QUEUES)


def test_the_verdict_says_for_whom_it_is_better_and_for_whom_worse() -> None:
    pairs = [(mixed(1000, 100), mixed(600 + 20 * seed, 120 + seed)) for seed in range(3)]
    said = verdict_of(against(*pairs, names=("a.yaml", "b.yaml")))
    assert said.headline == "b.yaml is better than a.yaml at some things and worse at others"
    assert "jobs of queue research wait 38 % less (33 to 43 %)" in said.better
    assert "jobs of 65+ pods wait 21 % longer (18 to 23 %)" in said.worse
    assert any(text.startswith("jobs wait 31 % less") for text in said.better)
    assert not any("queue prod" in text for text in said.better)
    assert "evicted pods" not in said.same  # no pod was evicted at all


def test_equal_runs_make_no_difference_and_the_verdict_says_no_more() -> None:
    run = mixed(1000, 100)
    found = against((run, run), (run, run))
    assert {each.judgement for each in found.differences if not math.isnan(each.base)} == {Judgement.SAME}
    said = verdict_of(found)
    assert said.lines == [("", "b makes no difference: every job starts and ends as under a")]


def test_who_starves_is_not_forgotten_because_the_others_are_quicker() -> None:
    base = run_of([*waits(*[100.0] * 10), Fate("big", wait=300), Fate("huge")])
    pairs = [(base, run_of([*waits(*[50.0 + s] * 10), Fate("big"), Fate("huge")])) for s in range(3)]
    said = verdict_of(against(*pairs))
    assert (
        said.headline == "b is better than a at some things and worse at others, but 3 jobs fewer completed"
    )
    assert any(text.startswith("completed jobs: 9 % fewer") for text in said.worse)
    assert said.apart == ("3 jobs completed under a alone", "3 jobs completed under neither")


def test_where_nothing_was_before_amounts_are_told() -> None:
    base = run_of(waits(*[0.0] * 10))
    said = verdict_of(against(*((base, run_of(waits(*[60.0 + s] * 10))) for s in (0, 1, 2))))
    assert "jobs wait 61 s longer (59 s to 63 s)" in said.worse


def test_all_of_the_waiting_gone_is_a_hundred_per_cent_and_not_more() -> None:
    pairs = [(run_of(waits(*[wait] * 10)), run_of(waits(*[0.0] * 10))) for wait in (60.0, 100.0, 110.0)]
    assert "jobs wait 100 % less (27 to 100 %)" in verdict_of(against(*pairs)).better


def test_a_queue_that_only_some_seeds_have_is_compared_where_it_is() -> None:
    with_research, without = mixed(1000, 100), run_of(waits(*[100.0] * 10, queue="prod"), ("prod",))
    found = against((without, without), (with_research, mixed(500, 100)), (with_research, mixed(480, 100)))
    assert found.difference("wait.mean", "research").estimate.count == 2
    assert found.difference("wait.mean").estimate.count == 3
