"""Other arrivals out of one trace: blocks drawn anew, and arrivals put off."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from hekla.errors import InputError
from hekla.objects.batch import PodTemplate
from hekla.simulation.workloads import Hazards, Role, Submission, Workload
from hekla.simulation.workloads.arrivals import AsTheyAre, Chance, Jittered, Resampled, chance_of

ROLES = (Role("worker", 1, PodTemplate()),)


def submission(name: str, submitted: float, after: str = "") -> Submission:
    return Submission(name, submitted, 10.0, ROLES, after=after, think_seconds=5.0 if after else 0.0)


def workload(*jobs: Submission, hazards: Hazards = Hazards()) -> Workload:  # noqa: B008 - read-only
    return Workload("trace", lambda: iter(jobs), hazards=hazards, count=len(jobs))


TRACE = workload(
    *(submission(f"j{hour}{part}", 60.0 * hour + 10 * part) for hour in range(12) for part in range(3))
)


def times(given: Workload) -> list[tuple[str, float]]:
    return [(job.name, job.submitted) for job in given.jobs()]


def test_drawn_blocks_stay_whole_and_lie_one_after_the_other() -> None:
    drawn = times(Resampled(60.0)(TRACE, seed=3))
    assert len(drawn) == 36
    assert [time for _, time in drawn] == [60.0 * hour + 10 * part for hour in range(12) for part in range(3)]
    for place in range(12):
        names = [name for name, _ in drawn[3 * place : 3 * place + 3]]
        block = names[0].split("-")[0][1:-1]
        assert names == [f"j{block}{part}-{place}" for part in range(3)]
    blocks = {name.split("-")[0][1:-1] for name, _ in drawn}
    assert len(blocks) < 12  # some are drawn twice, so some are not


def test_names_are_unique_although_blocks_come_twice() -> None:
    for seed in range(5):
        names = [name for name, _ in times(Resampled(60.0)(TRACE, seed))]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("arrivals", [Resampled(60.0), Jittered(30.0)], ids=["resampled", "jittered"])
def test_same_seed_same_arrivals_and_another_seed_others(arrivals: Resampled | Jittered) -> None:
    one, again, other = (times(arrivals(TRACE, seed)) for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_who_waits_for_a_job_of_another_block_waits_no_longer() -> None:
    jobs = (submission("a", 0), submission("b", 1, after="default/a"), submission("c", 70, after="default/b"))
    drawn = Resampled(60.0)(workload(*jobs), seed=0)
    for job in drawn.jobs():
        original, place = job.name.rsplit("-", 1)
        assert job.after == (f"default/a-{place}" if original == "b" else "")
        assert job.think_seconds == (5.0 if original == "b" else 0.0)
    has_c = any(job.name.startswith("c") for job in drawn.jobs())
    assert bool(drawn.account.changed) == has_c


def test_empty_hours_are_drawn_like_others() -> None:
    """Hours 0 and 9 have a job, the eight between have none: most draws come to few jobs."""
    sparse = workload(submission("a", 30), submission("b", 9 * 60 + 30))
    counts = [len(times(Resampled(60.0)(sparse, seed))) for seed in range(20)]
    assert min(counts) < 2
    assert times(Resampled(60.0)(workload(), 0)) == []


def test_put_off_arrivals_are_in_order_and_not_later_than_asked() -> None:
    before = dict(times(TRACE))
    after = times(Jittered(30.0)(TRACE, seed=5))
    assert [time for _, time in after] == sorted(time for _, time in after)
    assert all(0 <= time - before[name] <= 30 for name, time in after)
    assert [name for name, _ in after] != list(before)


def test_who_waits_for_another_is_put_off_with_it() -> None:
    jobs = [submission("a", 0), submission("b", 0, after="default/a"), submission("c", 0, after="default/b")]
    moved = times(Jittered(1000.0)(workload(*jobs), seed=1))
    assert [name for name, _ in moved] == ["a", "b", "c"]
    assert len({time for _, time in moved}) == 1


def test_a_job_may_come_before_the_one_that_it_waits_for() -> None:
    jobs = [submission("c", 0, after="default/b"), submission("b", 1, after="default/a"), submission("a", 2)]
    drawn = Resampled(60.0)(workload(*jobs), seed=0)
    assert [job.after for job in drawn.jobs()] == ["default/b-0", "default/a-0", ""]
    assert not drawn.account.changed
    moved = times(Jittered(1000.0)(workload(*jobs), seed=1))
    assert [name for name, _ in moved] == ["c", "b", "a"]
    assert moved[2][1] - moved[0][1] == pytest.approx(2.0)


def test_jobs_that_wait_for_each_other_are_put_off_all_the_same() -> None:
    jobs = [submission("a", 0, after="default/b"), submission("b", 0, after="default/a")]
    assert len(times(Jittered(10.0)(workload(*jobs), seed=1))) == 2


@pytest.mark.parametrize("span", [0.0, -1.0, math.inf, math.nan])
@pytest.mark.parametrize("kind", [Resampled, Jittered])
def test_a_span_of_nothing_or_without_end_is_refused(kind: type[Resampled | Jittered], span: float) -> None:
    with pytest.raises(InputError, match="expected a finite span above 0"):
        kind(span)


def test_what_a_seed_changes_is_found_out() -> None:
    def generated(seed: int) -> Workload:
        return workload(submission(f"j{seed}", 0))

    risky = workload(submission("a", 0), hazards=Hazards(node_failure_seconds=100))
    plain = AsTheyAre()
    assert chance_of(generated, plain, (0, 1)) is Chance.ARRIVALS
    assert chance_of(lambda _: risky, plain, (0, 1)) is Chance.FAILURES
    assert chance_of(lambda _: TRACE, plain, (0, 1)) is Chance.NONE
    assert chance_of(lambda _: TRACE, Resampled(60), (0, 1)) is Chance.RESAMPLED
    assert chance_of(lambda _: TRACE, Jittered(60), (0, 1)) is Chance.JITTERED


def test_a_workload_that_is_longer_with_another_seed_differs() -> None:
    def growing(seed: int) -> Workload:
        def jobs() -> Iterator[Submission]:
            return (submission(f"j{number}", 0) for number in range(1 + seed))

        return Workload("growing", jobs)

    assert chance_of(growing, AsTheyAre(), (0, 1)) is Chance.ARRIVALS
