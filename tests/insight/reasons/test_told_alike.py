"""Explain, forecast and plan tell the same reason with the same verdict, of one planted and of two."""

from __future__ import annotations

import pytest
from plants import PAIRS, PLANTS, Plant, Scene
from test_planted_reasons import explained

from hekla.engine.model.wait_reason import Verdict, WaitReason
from hekla.errors import InputError
from hekla.insight.forecast import Sampling, forecast
from hekla.insight.forecast.forecast import Start
from hekla.insight.plan import Plan, plan
from hekla.objects import seconds
from hekla.testing.pods import BEGINNING

ONE = Sampling(rolls=1, horizon=60.0)
ALONE_TELLS = (Verdict.HELD, Verdict.NEVER)


def foreseen(scene: Scene) -> Start:
    found = forecast(scene.objects, scene.conf, now=seconds(BEGINNING) + 60, assumed=3600.0, sampling=ONE)
    (start,) = [each for each in found.starts if each.job == "default/train"]
    return start


def planned(scene: Scene) -> Plan:
    (answer,) = plan(scene.cluster, scene.train, scene.conf, tries=0)
    return answer


@pytest.mark.parametrize("plant", PLANTS, ids=str)
def test_a_forecast_tells_the_reason(plant: Plant) -> None:
    scene = plant.plant(Scene())
    start, told = foreseen(scene), explained(scene)
    if plant.verdict is Verdict.BOOKED:
        # Pods that leave have left when the forecast begins.
        assert (start.p90, start.binding) == (0.0, None)
        return
    assert start.binding is not None
    if plant.code is WaitReason.ORDER:
        # Where nothing is placed at all, it does not start on an empty cluster either.
        assert start.binding.verdict is Verdict.NEVER
        return
    assert (start.binding.code, start.binding.verdict) == (told.code, told.verdict)
    assert plant.words.partition(": ")[0] in start.why
    assert "default/train" not in start.why


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: " and ".join(map(str, pair)))
def test_a_forecast_tells_what_binds_of_two(pair: tuple[Plant, Plant]) -> None:
    one, two = pair
    scene = two.plant(one.plant(Scene()))
    start, told = foreseen(scene), explained(scene)
    assert start.binding is not None
    if WaitReason.ORDER in (one.code, two.code) and told.verdict not in ALONE_TELLS:
        assert start.binding.verdict is Verdict.NEVER
        return
    assert (start.binding.code, start.binding.verdict) == (told.code, told.verdict)


@pytest.mark.parametrize("plant", PLANTS, ids=str)
def test_a_plan_tells_the_reason(plant: Plant) -> None:
    scene = plant.plant(Scene())
    if plant.code is WaitReason.QUEUE:
        with pytest.raises(InputError, match=r'queue "research" is "Closed"'):
            planned(scene)
        return
    answer, told = planned(scene), explained(scene)
    if plant.verdict is Verdict.BOOKED:
        assert (answer.start.value, answer.code) == ("later", None)
        return
    assert (answer.start.value, answer.code, answer.verdict) == ("not", told.code, told.verdict)
    assert plant.words.partition(": ")[0] in answer.why


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: " and ".join(map(str, pair)))
def test_a_plan_tells_what_binds_of_two(pair: tuple[Plant, Plant]) -> None:
    one, two = pair
    scene = two.plant(one.plant(Scene()))
    if WaitReason.QUEUE in (one.code, two.code):
        with pytest.raises(InputError, match="research"):
            planned(scene)
        return
    answer, told = planned(scene), explained(scene)
    assert (answer.code, answer.verdict) == (told.code, told.verdict)
