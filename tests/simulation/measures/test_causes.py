"""What jobs waited for, and what was idle because of it; worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekla.engine.model.wait_reason import WaitReason
from hekla.simulation.measures import jobs_over_time, summarize
from hekla.simulation.measures.causes import RunCauses, causes_over_time, shared_out, waiting_spans
from hekla.simulation.measures.lost_time import lost_time, spoken_idle, spoken_waits
from hekla.simulation.measures.records import cause_columns, idle_columns, job_columns, run_data
from hekla.simulation.run import NOT_ITS_TURN, Cause, Ending, Run, State, WaitCauses
from properties.effort import examples
from simulation.measures.runs_by_hand import JobOf, PodRunOf, Scene, scenes

ROOM, LIMIT = Cause(WaitReason.NO_ROOM), Cause(WaitReason.ADMISSION_LIMIT, "overcommit")
CAUSES = (NOT_ITS_TURN, LIMIT, ROOM)


def told(run: Run, groups: list[tuple[int, int, float]], bound: list[tuple[int, float, int]]) -> Run:
    """The run with what is known of its waits: (job, group, since), and (group, when, cause) in order."""
    job, group, since = (
        (np.array(part) for part in zip(*groups, strict=True)) if groups else [np.zeros(0)] * 3
    )
    of, changed, cause = (np.array(part) for part in zip(*bound, strict=True)) if bound else [np.zeros(0)] * 3
    whole = [part.astype(np.int32) for part in (job, group, of)]
    return replace(
        run,
        waits=WaitCauses(
            CAUSES, *whole[:2], since.astype(float), whole[2], changed.astype(float), cause.astype(np.uint8)
        ),
    )


def two_jobs() -> Run:
    """Four cores: `a` has them to 40; `b` waits from 10, kept out to 30, then without room to 40."""
    scene = Scene(
        [JobOf("a", 0, 0, 40, cpu=3), JobOf("b", 10, 40, 90, cpu=2, queue="late")],
        [PodRunOf("a", "n1", 0, 40), PodRunOf("b", "n1", 40, 90)],
        end=100,
        queues=("default", "late"),
    )
    return told(scene.run(), [(1, 0, 12.0)], [(0, 12.0, 1), (0, 30.0, 2)])


def test_a_job_waited_for_each_cause_as_long_as_it_bound_it() -> None:
    known = RunCauses(two_jobs())
    assert known.causes == CAUSES
    assert known.seconds.tolist() == [[0, 0, 0], [0, 20, 10]]


def test_waits_are_told_over_time_by_queue_and_cause() -> None:
    waiting = causes_over_time(two_jobs(), 10).waiting
    assert waiting[:, 1, 1].tolist() == [0, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    assert waiting[:, 1, 2].tolist() == [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    assert not waiting[:, 0].any()


def test_what_is_idle_is_shared_out_between_causes_and_the_rest_was_not_asked_for() -> None:
    idle = causes_over_time(two_jobs(), 10).idle[:, 0] / 1000
    # One core is idle beside `a`, of which `b` would take all; then two, then all four.
    assert idle[:, 1].tolist() == [0, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    assert idle[:, 2].tolist() == [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    assert idle[:, 3].tolist() == [1, 0, 0, 0, 2, 2, 2, 2, 2, 4]


def test_a_job_that_is_evicted_waits_again_and_for_what_binds_it_then() -> None:
    scene = Scene(
        [JobOf("a", 0, 10, 100, evictions=1)],
        [PodRunOf("a", "n1", 10, 20, ending=Ending.EVICTED), PodRunOf("a", "n1", 50, 100)],
    )
    run = told(scene.run(), [(0, 0, 5.0), (0, 1, 22.0), (0, 0, 41.0)], [(0, 5.0, 1), (1, 22.0, 2)])
    # From 0 to 10 kept out, from 20 to 41 without room, from 41 to 50 kept out.
    assert RunCauses(run).seconds.tolist() == [[0, 19, 21]]


def test_a_job_that_starts_in_the_first_cycle_that_sees_it_only_had_to_wait_for_its_turn() -> None:
    run = told(Scene([JobOf("a", 0.3, 1.0, 9)], [PodRunOf("a", "n1", 1, 9)]).run(), [], [])
    assert RunCauses(run).seconds.tolist() == [[0.7, 0, 0]]


def test_jobs_of_one_group_are_bound_together_and_each_for_as_long_as_it_is_in_it() -> None:
    jobs = [JobOf("a", 0, 30, 40), JobOf("b", 10, 40, 50), JobOf("c", 20, state=State.WAITING)]
    scene = Scene(jobs, [PodRunOf("a", "n1", 30, 40), PodRunOf("b", "n1", 40, 50)], end=60)
    entered = [(0, 0, 0.0), (1, 0, 10.0), (2, 0, 20.0)]
    run = told(scene.run(), entered, [(0, 0.0, 1), (0, 25.0, 2), (0, 45.0, 1)])
    assert RunCauses(run).seconds.tolist() == [[0, 25, 5], [0, 15, 15], [0, 20, 20]]
    lost = lost_time(run)
    assert lost is not None
    assert [(one.cause, one.seconds, one.part, one.jobs) for one in lost.waits] == [
        (LIMIT, 60, 0.6, 3),
        (ROOM, 40, 0.4, 3),
    ]
    assert spoken_waits(lost.waits) == "admission limit (overcommit) 60.0%, no room 40.0%"


def test_a_gang_asks_for_what_it_needs_to_start() -> None:
    jobs = [JobOf("a", 0, state=State.WAITING, pods=4, minimum=2, cpu=1)]
    idle = causes_over_time(told(Scene(jobs, end=10).run(), [(0, 0, 0.0)], [(0, 0.0, 1)]), 1).idle
    assert idle[0, 0].tolist() == [0, 2000, 0, 2000]


def test_what_is_idle_goes_by_what_is_asked_for_and_never_beyond_it() -> None:
    free, asked = np.array([4.0, 4.0, 4.0]), np.array([[1.0, 2.0], [6.0, 2.0], [0.0, 0.0]])
    assert shared_out(free, asked).tolist() == [[1, 2, 1], [3, 1, 0], [0, 0, 4]]


def test_the_sentence_on_idle_capacity_names_the_dearest_causes() -> None:
    lost = lost_time(two_jobs())
    assert lost is not None
    assert spoken_idle(0.55, lost.idle["cpu"]) == (
        "55.0% used; idle: 37.5% because no job asked for it, 5.0% because overcommit admitted no job, "
        "2.5% because it was less than waiting jobs needed"
    )


def test_records_have_causes_as_new_keys() -> None:
    run = two_jobs()
    data = run_data(run)
    assert data["jobs"][1]["waitSeconds"] == {"admission limit (overcommit)": 20, "no room": 10}
    assert data["summary"]["waitCauses"][0] == {
        "reason": "admission limit",
        "plugin": "overcommit",
        "seconds": 20,
        "part": pytest.approx(2 / 3, abs=1e-6),
        "jobs": 1,
    }
    assert data["summary"]["idleCauses"]["cpu"][0] == {"reason": None, "plugin": None, "part": 0.375}
    assert job_columns(run)["waited_for"] == [None, "admission limit (overcommit)"]
    rows = cause_columns(run, 1)
    assert rows["plugin"][:2] == [None, "overcommit"]
    assert rows["jobs_waiting"].sum() == pytest.approx(0.3)
    assert idle_columns(run, 1)["reason"][:4] == ["order", "admission limit", "no room", None]


def test_a_run_of_which_nothing_is_known_says_nothing_of_causes() -> None:
    run = replace(two_jobs(), waits=None)
    assert lost_time(run) is None
    assert "waited_for" not in job_columns(run)
    assert "waitCauses" not in summarize(run).as_data()


@examples(1)
@given(scene=scenes(), seed=st.integers(0, 99))
def test_causes_add_up_to_all_waiting_and_all_that_is_idle(scene: Scene, seed: int) -> None:
    """Whatever groups jobs were in: nothing is lost, and nothing counts twice."""
    run, random = scene.run(), np.random.default_rng(seed)
    entered = [
        (row, int(random.integers(3)), float(moment))
        for row in range(len(run.jobs))
        for moment in np.sort(random.uniform(0, run.end, random.integers(4)))
    ]
    bound = [
        (group, float(moment), int(random.integers(3)))
        for group in range(3)
        for moment in np.sort(random.uniform(0, run.end, random.integers(4)))
    ]
    known = RunCauses(told(run, entered, bound))
    job, began, ended = waiting_spans(run)
    assert known.seconds.sum() == pytest.approx((ended - began).sum())
    assert (known.seconds >= -1e-9).all()
    series = known.over_time(7)
    waiting = jobs_over_time(run, 7).waiting
    assert series.waiting.sum(axis=2) == pytest.approx(waiting, abs=1e-6)
    by_cause = np.einsum("tqc,t->c", series.waiting, series.seconds)
    in_queue = np.isin(np.arange(len(run.jobs)), np.flatnonzero(run.jobs.queue >= 0))
    assert by_cause == pytest.approx(known.seconds[in_queue].sum(axis=0), abs=1e-6)
    del job
