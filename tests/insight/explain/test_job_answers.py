"""All about one job, put together from the session that explains it and the state it is tried on."""

from __future__ import annotations

from hekla.cli.job_screen import screen
from hekla.engine.explain.explanation import explain
from hekla.engine.model.wait_reason import Verdict
from hekla.insight.explain import ClusterState, Effort, JobAnswer, StartAssumptions, answer_for
from hekla.insight.forecast import Sampling, forecast
from hekla.insight.plan import PlannedStart
from hekla.testing.builders import job, node
from hekla.testing.story import Story, conf_of

TIERS = ("priority, gang", "predicates")
CONF = conf_of(tiers=TIERS)
ASSUMED = StartAssumptions(run_seconds=600.0, sampling=Sampling(rolls=3))


def answered(story: Story, name: str, assumptions: StartAssumptions | None = ASSUMED) -> JobAnswer:
    session, objects = story.cycle().session, story.manifests()
    state = ClusterState(objects, objects, CONF)
    asked = session.jobs[f"default/{name}"]
    return answer_for(session, asked, explain(session, asked), lambda: state, Effort(assumptions=assumptions))


def test_a_job_that_room_is_promised_to_is_booked_and_starts_as_it_is() -> None:
    leaving = job("old", releasing={"n1": 1}, cpu=3)
    story = Story("pods leave", [node("n1", cpu=4)], [leaving, job("new", tasks=2, cpu=2)], tiers=TIERS)
    answer = answered(story, "new")
    assert answer.explanation.verdict is Verdict.BOOKED
    assert answer.plan is not None
    assert (answer.plan.start, answer.plan.suggestions) == (PlannedStart.LATER, ())
    assert answer.holders is not None
    assert [each.job for each in answer.holders.jobs] == ["default/old"]
    told = screen(answer)
    assert told.startswith("default/new: booked (release): ")
    assert "as it is it would start once 1 pod on the way out is gone, 2 pods on 1 node:\n  n1 (2)" in told


def test_an_elastic_job_that_runs_has_no_start_to_expect() -> None:
    grows = job("grows", tasks=4, min_available=1, cpu=2, running={"n1": 2})
    answer = answered(Story("full", [node("n1", cpu=5)], [grows], tiers=TIERS), "grows")
    assert (answer.expected, answer.plan) == (None, None)
    assert answer.position is not None
    assert answer.position.place == 1


def test_the_start_of_one_job_is_the_one_that_a_forecast_of_all_tells() -> None:
    jobs = [
        job("first", tasks=2, cpu=2, running={"n1": 2}),
        job("ahead", tasks=2, cpu=2),
        job("asked", tasks=2, cpu=2),
        job("later", tasks=2, cpu=2),
    ]
    story = Story("a line", [node("n1", cpu=4)], jobs, tiers=TIERS)
    answer = answered(story, "asked")
    every = forecast(story.manifests(), CONF, assumed=600.0, sampling=Sampling(rolls=3))
    [start] = [each for each in every.starts if each.key == "default/asked"]
    assert answer.expected is not None
    assert (answer.expected.p50, answer.expected.p90) == (start.p50, start.p90)
    assert 1200 <= start.p50 < 1210


def test_a_guess_is_no_answer() -> None:
    jobs = [job("first", tasks=2, cpu=2, running={"n1": 2}), job("asked", tasks=2, cpu=2)]
    story = Story("full", [node("n1", cpu=4)], jobs, tiers=TIERS)
    answer = answered(story, "asked", StartAssumptions(sampling=Sampling(rolls=2)))
    assert answer.expected is not None
    assert answer.expected.unknown.startswith("cannot be told: nothing tells how long jobs run")
    assert answered(story, "asked", None).expected is None
