"""Every reason why a job waits is found where it is planted, and of two at once the one that goes first."""

from __future__ import annotations

import pytest
from plants import PAIRS, PLANTS, Plant, Scene

from hekla.engine.explain.explanation import Explanation, explain
from hekla.engine.model.wait_reason import Finding, WaitReason, in_order
from hekla.engine.state.snapshot import take_snapshot
from hekla.scheduler.cycle import run_cycle


def explained(scene: Scene) -> Explanation:
    session = run_cycle(take_snapshot(scene.objects), scene.conf).session
    return explain(session, session.jobs["default/train"])


def test_the_job_starts_where_nothing_is_planted() -> None:
    assert explained(Scene()).code is None


@pytest.mark.parametrize("plant", PLANTS, ids=str)
def test_a_planted_reason_is_told(plant: Plant) -> None:
    told = explained(plant.plant(Scene()))
    assert (told.code, told.verdict) == (plant.code, plant.verdict)
    assert plant.words in told.why


def test_every_reason_is_planted() -> None:
    # Of jobs that were stopped a session knows nothing: they are planted beside it.
    assert {plant.code for plant in PLANTS} == set(WaitReason) - {WaitReason.STOPPED}


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: " and ".join(map(str, pair)))
def test_of_two_reasons_the_one_that_goes_first_binds(pair: tuple[Plant, Plant]) -> None:
    one, two = pair
    told = explained(two.plant(one.plant(Scene())))
    first = in_order([Finding(each.code, each.verdict, each.words) for each in pair])[0]
    assert (told.code, told.verdict) == (first.code, first.verdict), told
