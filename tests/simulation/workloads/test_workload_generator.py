"""Generated work: the same for the same seed, as much as was asked for, and never all of it at once."""

from __future__ import annotations

import math
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from traces import most_held

from hekla.errors import InputError
from hekla.objects import PriorityClass, Queue
from hekla.simulation.workloads import Settings, Submission, generate, nodes_of, rate_for, read_workload
from hekla.simulation.workloads.generator_form import (
    Durations,
    PodKind,
    PriorityMix,
    QueueMix,
    geometric,
    powers,
)

NODES = nodes_of("16 x cpu=96,memory=1Ti,gpu=8")
ONE_CORE = (PodKind((("cpu", "1"),)),)


def gpus(job: Submission) -> int:
    asked = job.roles[0].template.spec.containers[0].resources.requests
    return job.pods * int(asked.get("nvidia.com/gpu", 0))


def test_same_seed_same_jobs_and_another_seed_others() -> None:
    first, again, other = (list(generate(Settings(jobs=300), seed).jobs()) for seed in (7, 7, 8))
    assert first == again
    assert [job.submitted for job in first] != [job.submitted for job in other]


def test_a_workload_is_drawn_afresh_at_every_reading() -> None:
    work = generate(Settings(jobs=50), 1)
    assert list(work.jobs()) == list(work.jobs())
    assert (work.count, work.account.taken) == (50, 50)


def test_fewer_jobs_are_the_first_of_more() -> None:
    many = generate(Settings(jobs=3000), 1).jobs()
    assert list(generate(Settings(jobs=1500), 1).jobs()) == list(islice(many, 1500))


def test_one_trait_leaves_the_others_alone() -> None:
    plain = list(generate(Settings(jobs=100), 1).jobs())
    longer = list(generate(Settings(jobs=100, durations=Durations(typical=99_999.0)), 1).jobs())
    assert [(job.submitted, job.queue, job.user) for job in plain] == [
        (job.submitted, job.queue, job.user) for job in longer
    ]
    assert [job.run_seconds for job in plain] != [job.run_seconds for job in longer]


def test_nothing_arrives_after_the_horizon() -> None:
    jobs = list(generate(Settings(jobs=None, horizon=86_400.0, rate=30.0, daily=0.0), 1).jobs())
    assert jobs[-1].submitted <= 86_400
    assert len(jobs) == pytest.approx(24 * 30, abs=4 * math.sqrt(24 * 30))


def test_the_rate_is_that_of_the_load() -> None:
    """36 jobs of 100 seconds per hour keep one core busy; half of ten cores takes 180."""
    settings = Settings(sizes=((1, 1),), pods=ONE_CORE, durations=Durations("fixed", 100.0))
    assert rate_for(settings, 0.5, nodes_of("5 x cpu=2")) == pytest.approx(180.0)


def test_the_scarcest_resource_counts() -> None:
    both = (PodKind((("cpu", "1"), ("memory", "4Gi"))),)
    settings = Settings(sizes=((1, 1),), pods=both, durations=Durations("fixed", 3600.0))
    assert rate_for(settings, 1.0, nodes_of("1 x cpu=100,memory=40Gi")) == pytest.approx(10.0)


def test_generated_load_is_what_was_asked_for() -> None:
    settings = Settings(jobs=20_000, load=0.8, durations=Durations("lognormal", 600, 1.0))
    work = generate(settings, 3, NODES)
    busy = last = 0.0
    for job in work.jobs():
        busy += gpus(job) * job.run_seconds
        last = job.submitted
    assert busy / (last * 16 * 8) == pytest.approx(0.8, rel=0.08)


def test_days_are_busier_than_nights_and_weekends_calm() -> None:
    settings = Settings(
        jobs=None, horizon=28 * 86_400.0, rate=60.0, daily=0.8, peak=14 * 3600.0, weekend=0.25
    )
    times = np.array([job.submitted for job in generate(settings, 2).jobs()])
    hours = (times / 3600) % 24
    by_day, by_night = ((hours >= 12) & (hours < 16)).sum(), ((hours >= 0) & (hours < 4)).sum()
    # Integrals of 1 + 0.8 cos(2 pi (t - 14) / 24) over both spans: 7.056 to 0.944.
    assert by_day / by_night == pytest.approx(7.47, rel=0.15)
    days = times // 86_400 % 7
    assert ((days >= 5).sum() / 2) / ((days < 5).sum() / 5) == pytest.approx(0.25, rel=0.1)


@pytest.mark.parametrize(
    ("durations", "median", "mean"),
    [
        (Durations("lognormal", 600, 1.0, 0, math.inf), 600, 600 * math.exp(0.5)),
        (Durations("exponential", 600, 0, 0, math.inf), 600 * math.log(2), 600),
        (Durations("pareto", 60, 3.0, 0, math.inf), 60 * 2 ** (1 / 3), 90),
        (Durations("fixed", 60), 60, 60),
    ],
    ids=lambda value: value.kind if isinstance(value, Durations) else "",
)
def test_durations_are_spread_as_their_kind_says(durations: Durations, median: float, mean: float) -> None:
    assert durations.at(np.array([0.5]))[0] == pytest.approx(median)
    assert durations.mean() == pytest.approx(mean, rel=0.01)


def test_durations_keep_to_their_bounds() -> None:
    drawn = Durations("lognormal", 600, 3.0, shortest=60, longest=3600).at(np.linspace(0, 1, 1000))
    assert (drawn.min(), drawn.max()) == (60, 3600)


def test_sizes_by_rule() -> None:
    assert powers(8, 0.5) == ((1, 1), (2, 0.5), (4, 0.25), (8, 0.125))
    assert powers(6, 0.5) == ((1, 1), (2, 0.5), (4, 0.25))
    sizes = geometric(4.0, 1000)
    total = sum(weight for _, weight in sizes)
    assert sum(size * weight for size, weight in sizes) / total == pytest.approx(4.0)
    assert geometric(1.0, 64) == ((1, 1.0),)


def test_what_the_nodes_could_never_hold_is_not_drawn() -> None:
    work = generate(Settings(jobs=2000), 1, nodes_of("2 x cpu=64,memory=512Gi,gpu=4"))
    assert max(gpus(job) for job in work.jobs()) == 8
    assert sum(work.account.changed.values()) > 0
    with pytest.raises(InputError, match="no kind of pod fits the nodes"):
        generate(Settings(), 1, nodes_of("1 x cpu=1"))


def test_queues_users_and_priorities_have_their_shares() -> None:
    settings = Settings(
        jobs=5000,
        queues=(QueueMix("a", share=3, weight=5, users=2), QueueMix("b", share=1, users=0)),
        priorities=(PriorityMix("high", 9, share=1), PriorityMix("low", 1, share=4)),
    )
    work = generate(settings, 1)
    jobs = list(work.jobs())
    in_a = [job for job in jobs if job.queue == "a"]
    assert len(in_a) / len(jobs) == pytest.approx(0.75, abs=0.02)
    assert sum(job.user == "a-01" for job in in_a) / len(in_a) == pytest.approx(2 / 3, abs=0.03)
    assert {job.user for job in jobs if job.queue == "b"} == {""}
    assert sum(job.priority_class == "high" for job in jobs) / len(jobs) == pytest.approx(0.2, abs=0.02)
    assert {each.key: each.spec.weight for each in work.objects if isinstance(each, Queue)} == {
        "a": 5,
        "b": 1,
    }
    assert {each.key: each.value for each in work.objects if isinstance(each, PriorityClass)} == {
        "high": 9,
        "low": 1,
    }


def test_estimates_are_longer_than_the_truth() -> None:
    jobs = list(generate(Settings(jobs=500, estimate=(1.0, 4.0)), 1).jobs())
    factors = [(job.estimate or 0) / job.run_seconds for job in jobs]
    assert min(factors) >= 0.999
    assert 3.5 < max(factors) < 4.001
    assert next(generate(Settings(estimate=None), 1).jobs()).estimate is None


def test_a_hundred_thousand_jobs_are_never_held() -> None:
    work = generate(Settings(jobs=100_000), 1)
    # A block of 1024 times is drawn at once; jobs are made one by one.
    assert most_held(work, every=30_000) == (100_000, pytest.approx(0, abs=2000))


def test_settings_out_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "work.yaml"
    file.write_text(
        """
generate:
  jobs: 20
  rate: 6
  durations: {kind: fixed, value: 10m}
  sizes: {4: 1}
  pods: [{cpu: 2, gpu: 1}]
  queues: [{name: q, users: 1}]
  priorities: []
  estimate: 2
  restart: pod
  seed: 5
"""
    )
    settings = Settings(
        jobs=20,
        rate=6.0,
        durations=Durations("fixed", 600.0),
        sizes=((4, 1),),
        queues=(QueueMix("q", users=1),),
    )
    expected = replace(settings, pods=(PodKind((("cpu", 2), ("nvidia.com/gpu", 1))),), priorities=())
    jobs = list(read_workload(file).jobs())
    assert [job.submitted for job in jobs] == [job.submitted for job in generate(expected, 5).jobs()]
    assert {(job.run_seconds, job.estimate, job.pods, job.user) for job in jobs} == {(600, 1200, 4, "q-01")}


MISTAKES = {
    "generate: {durations: {kind: normal}}": 'expected one of "exponential", "fixed", "lognormal", "pareto"',
    "generate: {durations: {kind: fixed, sigma: 2}}": 'means nothing to durations of kind "fixed"',
    "generate: {sizes: {many: 1}}": "expected a number of pods as the key",
    "generate: {queues: [{name: a, share: 0}]}": "expected at least one queue with a share above 0",
    "generate: {load: 0.5, rate: 3}": 'give "load" or "rate", not both',
    "generate: {rate: 0}": "nothing would ever arrive",
    "generate: {jbos: 5}": 'no such key; did you mean "jobs"?',
}


@pytest.mark.parametrize("text", MISTAKES)
def test_settings_that_cannot_be_meant(tmp_path: Path, text: str) -> None:
    file = tmp_path / "work.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        read_workload(file)
    assert MISTAKES[text] in str(caught.value)
    assert str(caught.value).startswith(f"{file}:1: generate")
