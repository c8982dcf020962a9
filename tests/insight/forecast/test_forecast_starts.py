"""Forecasts whose answer is known: sums of run times, and sums of random ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import deepcopy
from datetime import timedelta

import numpy as np
import pytest
from msgspec.structs import replace
from states import CONF, HOUR, NOW, runs, state

from hekla import api
from hekla.errors import InputError
from hekla.insight.forecast import Forecast, Past, Sampling, WrittenArrivals, forecast
from hekla.insight.forecast.history import Prospect, RunTimeSource, likeness_of
from hekla.insight.forecast.initial_state import initial_state
from hekla.insight.forecast.samples import steady
from hekla.objects import Condition, Manifest, ObjectMeta, Pod, VolcanoJob
from hekla.objects.batch import JobSpec, PodTemplate, TaskSpec
from hekla.objects.pod import Container, PodSpec, ResourceRequirements
from hekla.simulation.workloads import Role, Submission
from hekla.testing.builders import job, node, pod, queue
from hekla.testing.pods import BEGINNING

FEW = Sampling(rolls=5)


def bands(found: Forecast) -> dict[str, tuple[float, float, float]]:
    return {start.job.partition("/")[2]: (start.p10, start.p50, start.p90) for start in found.starts}


def point(seconds: float) -> tuple[float, float, float]:
    return seconds, seconds, seconds


def test_on_one_node_each_job_starts_when_all_before_it_are_done() -> None:
    objects = state(node("n1"), runs("a", 100, on="n1"), runs("b", 50), runs("c", 30), runs("d", 10))

    found = forecast(objects, CONF, now=NOW, sampling=FEW)

    assert bands(found) == {"b": point(100), "c": point(150), "d": point(180)}
    assert found.sources == {RunTimeSource.STATED: 4}


def test_what_has_run_already_counts() -> None:
    objects = state(node("n1"), runs("a", 100, on="n1"), runs("b", 50), runs("c", 30), has_run=70)

    assert bands(forecast(objects, CONF, now=NOW, sampling=FEW)) == {"b": point(30), "c": point(80)}


def test_a_job_that_fits_starts_now_and_waits_for_nothing() -> None:
    objects = state(node("n1"), node("n2"), runs("a", 100, on="n1"), runs("b", 50))

    (start,) = forecast(objects, CONF, now=NOW, sampling=FEW).starts

    assert (start.p50, start.p90, start.why, start.missed) == (0.0, 0.0, "", 0)


def test_a_gang_waits_for_the_last_node_it_needs() -> None:
    objects = state(
        node("n1"), node("n2"), runs("a", 100, on="n1"), runs("b", 250, on="n2"), runs("gang", 5, tasks=2)
    )

    assert bands(forecast(objects, CONF, now=NOW, sampling=FEW)) == {"gang": point(250)}


def test_a_job_that_no_empty_cluster_could_hold_is_told_as_such_and_does_not_hold_up_the_rest() -> None:
    objects = state(node("n1"), runs("a", 100, on="n1"), runs("huge", 5, tasks=2), runs("b", 50))

    huge, plain = forecast(objects, CONF, now=NOW, sampling=FEW).starts

    assert (huge.job, huge.is_possible, huge.missed) == ("default/huge", False, 5)
    assert math.isinf(huge.p10)
    assert huge.why
    assert (plain.is_possible, plain.p50) == (True, 100.0)


def test_a_job_behind_one_that_runs_for_ever_does_not_start_within_the_horizon() -> None:
    objects = state(node("n1"), runs("a", math.inf, on="n1"), runs("b", 50))

    (start,) = forecast(objects, CONF, now=NOW, sampling=FEW).starts

    assert (start.is_possible, start.missed, start.p50) == (True, 5, math.inf)


def test_the_horizon_ends_every_roll() -> None:
    objects = state(node("n1"), runs("a", 100, on="n1"), runs("b", 50), runs("c", 50))

    found = forecast(objects, CONF, now=NOW, sampling=Sampling(rolls=2, horizon=120))

    assert bands(found) == {"b": point(100), "c": point(math.inf)}


def test_the_band_of_a_job_behind_two_random_ones_is_that_of_their_sum() -> None:
    """Two exponential run times with a mean of 100 s add up to a gamma distribution."""
    quantiles = (np.arange(500) + 0.5) / 500
    history = [
        Past(likeness_of("default/any", queue="default", pods=1), float(-100 * np.log1p(-each)))
        for each in quantiles
    ]
    objects = state(node("n1"), runs("a", on="n1"), runs("b"), runs("c"))

    found = forecast(objects, CONF, now=NOW, history=history, sampling=Sampling(rolls=200, seed=1))

    assert found.sources == {RunTimeSource.LEARNED: 3}
    p10, p50, p90 = bands(found)["c"]
    assert p10 == pytest.approx(53.2, rel=0.25)
    assert p50 == pytest.approx(167.8, rel=0.2)
    assert p90 == pytest.approx(389.0, rel=0.2)
    assert bands(found)["b"][1] == pytest.approx(69.3, rel=0.25)


def test_the_same_seed_gives_the_same_forecast_and_another_seed_another() -> None:
    objects = state(node("n1"), runs("a", on="n1"), runs("b"), runs("c"))

    def again(seed: int) -> Forecast:
        return forecast(objects, CONF, now=NOW, sampling=Sampling(rolls=4, seed=seed))

    assert again(7) == again(7)
    assert again(7) != again(8)


def test_several_processes_sample_what_one_would() -> None:
    objects = state(node("n1"), runs("a", on="n1"), runs("b"), runs("c"))

    def samples_of(processes: int) -> Forecast:
        return forecast(
            objects, CONF, now=NOW, sampling=Sampling(rolls=4, processes=processes, worth_processes=0.0)
        )

    assert samples_of(2) == samples_of(1)


def test_the_state_is_left_as_it_was() -> None:
    objects = state(node("n1"), runs("a", 100, on="n1"), runs("b", 50))
    before = deepcopy(objects)

    forecast(objects, CONF, now=NOW, sampling=FEW)

    assert objects == before


def test_without_a_moment_the_youngest_timestamp_is_now() -> None:
    objects = state(node("n1"), runs("a", 100, on="n1"), runs("b", 50), has_run=20)

    # Pods began 20 s before NOW, which is the youngest timestamp: none of the 100 s has passed.
    found = forecast(objects, CONF, sampling=FEW)

    assert found.now == NOW - 20
    assert bands(found) == {"b": point(100)}


def test_a_pod_that_is_being_deleted_holds_its_room_until_it_is_gone() -> None:
    leaving = replace(
        pod("old", on="n1", cpu=4),
        metadata=replace(
            pod("old").metadata, deletion_timestamp=state(node("x"))[0].metadata.creation_timestamp
        ),
    )
    objects = state(node("n1"), [leaving], runs("b", 50))

    # It was to be gone at the beginning; a quarter of a minute before that it still is there.
    found = forecast(objects, CONF, now=NOW - HOUR - 15, sampling=FEW)

    assert bands(found) == {"b": point(15)}


def vcjob(name: str, run_seconds: float, estimate: str | None = None) -> VolcanoJob:
    container = Container(name="main", resources=ResourceRequirements(requests={"cpu": 4}))
    notes = {"hekla.dev/run-seconds": f"{run_seconds:g}"} if run_seconds else {}
    return VolcanoJob(
        metadata=ObjectMeta(name=name, namespace="default", annotations=notes),
        spec=JobSpec(
            min_available=1,
            running_estimate=estimate,
            tasks=(
                TaskSpec(name="w", replicas=1, template=PodTemplate(spec=PodSpec(containers=(container,)))),
            ),
        ),
    )


def test_a_job_whose_pods_are_not_made_yet_counts_with_its_estimate() -> None:
    objects = state(node("n1"), runs("a", 100, on="n1"), [vcjob("b", 0, "1m"), vcjob("c", 10)])

    found = forecast(objects, CONF, now=NOW, sampling=FEW)

    # One cycle admits the PodGroup, and the next one places the pods that are made then.
    assert bands(found) == {"b": point(101), "c": point(162)}
    assert found.sources == {RunTimeSource.STATED: 2, RunTimeSource.ESTIMATE: 1}


def test_a_job_for_a_queue_that_is_missing_is_left_out_and_said_so() -> None:
    lost = replace(vcjob("lost", 10), spec=replace(vcjob("lost", 10).spec, queue="nowhere"))

    found = forecast(state(node("n1"), [lost]), CONF, now=NOW, sampling=FEW)

    assert found.starts == ()
    assert "job default/lost: left out" in found.notes[0]
    assert "nowhere" in found.notes[0]


def test_a_loose_pod_gets_a_pod_group_and_waits_like_a_job() -> None:
    objects = state(node("n1"), runs("a", 100, on="n1"), [pod("lone", cpu=4)])

    (start,) = forecast(objects, CONF, now=NOW, sampling=FEW).starts

    assert (start.job, start.p50) == ("default/lone", 100.0)


def test_arrivals_that_go_first_push_a_job_back() -> None:
    """A later job of higher priority takes the node as soon as it is free."""
    high = job("x", priority=100).priority_class
    assert high is not None
    objects = state(node("n1"), [high], runs("a", 100, on="n1"), runs("b", 50))
    template = PodTemplate(
        spec=PodSpec(containers=(Container(name="m", resources=ResourceRequirements(requests={"cpu": 4})),))
    )
    later = Submission("later", 60.0, 30.0, (Role("w", 1, template),), priority_class=high.metadata.name)

    found = forecast(objects, CONF, now=NOW, arrivals=WrittenArrivals((later,)), sampling=FEW)

    assert bands(found) == {"b": point(130)}


def submission(name: str, at: float, span: float, **more: str) -> Submission:
    template = PodTemplate(
        spec=PodSpec(containers=(Container(name="m", resources=ResourceRequirements(requests={"cpu": 4})),))
    )
    return Submission(name, at, span, (Role("w", 1, template),), **more)  # type: ignore[arg-type]


def test_arrivals_may_be_called_like_jobs_that_are_there_and_follow_each_other() -> None:
    """b comes again, goes first, and is followed by another that goes first."""
    high = job("x", priority=100).priority_class
    assert high is not None
    objects = state(node("n1"), [high], runs("a", 100, on="n1"), runs("b", 50), runs("c", 9))
    first = submission("b", 60.0, 30.0, priority_class=high.metadata.name)
    then = submission("b", 60.0, 7.0, priority_class=high.metadata.name, after="default/b")

    found = forecast(objects, CONF, now=NOW, arrivals=WrittenArrivals((first, then)), sampling=FEW)

    # The second is handed in when the first has ended, in time for the cycle of that moment.
    assert bands(found) == {"b": point(137), "c": point(187)}


def test_a_job_that_can_never_start_does_not_keep_rolls_with_arrivals_going() -> None:
    objects = state(node("n1"), runs("a", 100, on="n1"), runs("huge", 5, tasks=2), runs("b", 50))
    ends: list[float] = []

    class Watched(WrittenArrivals):
        def submissions(self, chance: np.random.Generator) -> Iterator[Submission]:
            for number in range(10_000):
                ends.append(number * HOUR)
                yield submission(f"s{number}", number * HOUR, 1.0)

    found = forecast(objects, CONF, now=NOW, arrivals=Watched(()), sampling=Sampling(rolls=1))

    assert bands(found)["b"] == point(100)
    assert max(ends) <= 2 * HOUR


def test_jobs_that_can_never_start_are_not_made_more() -> None:
    objects = state(node("n1"), runs("a", 100, on="n1"), runs("huge", 5, tasks=2), runs("b", 50))
    prospects = dict.fromkeys(
        ("default/a", "default/huge", "default/b"), Prospect(np.array([1.0]), RunTimeSource.STATED)
    )

    kinds = steady(initial_state(objects, NOW), prospects, 60.0, frozenset({"default/huge"})).kinds

    assert [kind.pods for kind, _ in kinds] == [1, 1]


def test_an_estimate_that_cannot_be_read_is_noted_and_not_used() -> None:
    ended = vcjob("old", 0, "later")
    done = replace(ended.status, state=replace(ended.status.state, phase="Completed"), running_duration="9s")
    objects = state(
        node("n1"), runs("a", 100, on="n1"), [vcjob("sweep", 50, "soon"), replace(ended, status=done)]
    )

    found = forecast(objects, CONF, now=NOW, sampling=FEW)

    assert bands(found) == {"sweep": point(101)}
    assert [note.partition(";")[0] for note in found.notes] == [
        'job default/sweep: spec.runningEstimate: "soon" is not a duration',
        'job default/old: spec.runningEstimate: "later" is not a duration',
    ]
    assert all(note.endswith("; not used") for note in found.notes)


def test_a_rate_of_arrivals_makes_jobs_like_those_that_are_there() -> None:
    """With ties by age the newcomers stay behind, and change nothing."""
    objects = state(node("n1"), runs("a", 100, on="n1"), runs("b", 50), runs("c", 20))

    found = forecast(objects, CONF, now=NOW, arrivals=360.0, sampling=FEW)

    assert bands(found) == {"b": point(100), "c": point(150)}


def test_a_state_in_which_nothing_waits_has_an_empty_forecast() -> None:
    found = forecast(state(node("n1"), runs("a", 100, on="n1")), CONF, now=NOW, sampling=FEW)

    assert found.starts == ()
    assert found.as_data()["jobs"] == []


def test_pods_on_nodes_that_are_not_there_are_left_out_and_said_so() -> None:
    objects = state(node("n1"), runs("a", 100, on="gone"), runs("b", 50))

    found = forecast(objects, CONF, now=NOW, sampling=FEW)

    assert bands(found) == {"b": point(0)}
    assert found.notes[0] == "1 left out: a pod on a node that is not there"


def test_with_little_precision_ends_close_to_each_other_are_decided_on_together() -> None:
    """Ends at 1000 s and 1050 s: with a tenth of precision the second waits until 1100 s are over."""
    objects = state(
        node("n1"), node("n2"), runs("a", 1000, on="n1"), runs("b", 1050, on="n2"), runs("c", 9), runs("d", 9)
    )

    def found(precision: float) -> dict[str, tuple[float, float, float]]:
        return bands(forecast(objects, CONF, now=NOW, sampling=Sampling(rolls=1, precision=precision)))

    # c is gone after 9 s, and d may have its node at once.
    assert found(0.0) == {"c": point(1000), "d": point(1009)}
    assert found(0.1) == {"c": point(1000), "d": point(1100)}


def test_a_loose_pod_that_is_called_like_a_pod_group_is_none_of_its_pods() -> None:
    lone = runs("train", math.inf, on="n2", tasks=1)[1:]
    stray = [replace(each, metadata=replace(each.metadata, name="gang", annotations={})) for each in lone]
    objects = state(node("n1"), node("n2"), stray, runs("a", 100, on="n1"), runs("gang", 5))

    assert bands(forecast(objects, CONF, now=NOW, sampling=FEW)) == {"gang": point(100)}


def test_a_closed_queue_lets_nothing_start() -> None:
    objects = state(node("n1"), [queue("shut", state="Closed")], runs("b", 50, queue="shut"))

    (start,) = forecast(objects, CONF, now=NOW, sampling=FEW).starts

    assert not start.is_possible


def test_samples_may_be_given_by_their_older_name() -> None:
    objects = state(node("n1"), runs("a", 100))

    assert (api.forecast(objects, samples=2).rolls, api.forecast(objects, rolls=3).rolls) == (2, 3)


@pytest.mark.parametrize(
    ("objects", "sampling", "said"),
    [
        (state(runs("b", 50)), {}, "no node in this state"),
        (state(node("n1")), {"rolls": 0}, 'rolls: expected a number from 1 on, got "0"'),
        (state(node("n1")), {"period": 0.0}, "expected spans above 0"),
        (state(node("n1")), {"horizon": math.inf}, "expected spans above 0 that end"),
        (state(node("n1")), {"precision": 1.0}, "precision: expected a part from 0 to below 1"),
        (state(node("n1"), job("b", annotations={"hekla.dev/run-seconds": "long"}).objects), {}, '"long"'),
    ],
)
def test_what_cannot_be_used_is_told(objects: list[Manifest], sampling: dict[str, float], said: str) -> None:
    with pytest.raises(InputError, match="(?s).*" + said.replace('"', ".")):
        forecast(objects, CONF, now=NOW, sampling=Sampling(**sampling))  # type: ignore[arg-type]


def test_data_for_machines_has_no_infinite_numbers() -> None:
    objects = state(node("n1"), runs("a", math.inf, on="n1"), runs("b", 50))

    data = forecast(objects, CONF, now=NOW, sampling=FEW).as_data()

    (told,) = data["jobs"]  # type: ignore[misc]
    assert told["startsInSeconds"] == {"p10": None, "p50": None, "p90": None}
    assert told["startsAt"] == {"p10": None, "p50": None, "p90": None}
    assert told["rollsWithoutStart"] == 5


def test_a_finished_pod_teaches_how_long_its_like_runs() -> None:
    done = [
        replace(
            pod(f"old-{number}", job="b", phase="Succeeded"),
            status=replace(_ended(pod("x"), 80.0).status, phase="Succeeded"),
        )
        for number in range(5)
    ]
    objects = state(node("n1"), runs("a", 100, on="n1"), runs("b"), runs("c"), done)

    found = forecast(objects, CONF, now=NOW, sampling=FEW)

    assert bands(found) == {"b": point(100), "c": point(180)}


def _ended(which: Pod, after: float) -> Pod:
    ended = Condition(type="Ready", status="False", last_transition_time=BEGINNING + timedelta(seconds=after))
    return replace(which, status=replace(which.status, start_time=BEGINNING, conditions=(ended,)))
