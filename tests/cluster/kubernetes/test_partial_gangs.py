"""A gang of which a bind is refused: it has some time to become whole, then it is released or kept."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cluster.kubernetes.scenes import Scene, binds, group, node, played, pod
from hekla.cluster.kubernetes.api.client import Refused
from hekla.cluster.kubernetes.intents import WriteOutcome
from hekla.engine.framework.decisions import UpdatePodGroup
from hekla.engine.model.status import Status
from hekla.objects import Pod, PodGroup
from hekla.objects.scheduling import PodGroupStatus

DENIED = Refused(422, "Invalid", "a policy denied the request")
GANG = (node("n", 4), group(2), pod("a"), pod("b"))
SOON = {"gang_patience": 0.1, "first_back_off": 0.02}


async def start(scene: Scene, times: int = 100) -> None:
    """One pod is bound, the other is not; the watch tells of the first."""
    scene.api.refuse("POST", "/pods/b/binding", DENIED, times=times)
    scene.cluster.apply(binds("a", "b"))
    await scene.written()
    scene.cluster.facts.put(pod("a", on="n"))


def condition(scene: Scene) -> dict[str, Any]:
    conditions = scene.api.find(PodGroup, "x/g").get("status", {}).get("conditions", [])
    return next((one for one in conditions if one["type"] == "Incomplete"), {})


def events(scene: Scene) -> list[str]:
    found = scene.api.all_in("events").values()
    return [one["message"] for one in found if one["reason"] == "Incomplete"]


async def settled(scene: Scene, seconds: float = 0.2) -> None:
    await asyncio.sleep(seconds)
    await scene.written()


def test_what_is_bound_of_an_incomplete_gang_is_released_in_time_and_told() -> None:
    async def play(scene: Scene) -> None:
        await start(scene)
        await scene.written()
        assert condition(scene)["status"] == "True"
        assert condition(scene)["message"] == (
            "1 of at least 2 pods are bound, and the bind of x/b was refused: a policy denied the request; "
            "they are released in 0 s unless it becomes whole"
        )
        assert scene.task("a").status is Status.RUNNING
        async with asyncio.timeout(5):
            while not scene.cluster.evictions.begun:
                await asyncio.sleep(0.005)
        assert scene.task("b").is_gated, "what is made in their place waits for a while"
        await scene.written()
        assert scene.cluster.evictions.ends == {WriteOutcome.CONFIRMED: 1}
        assert "deletionTimestamp" in scene.api.find(Pod, "x/a")["metadata"]
        assert "are released: the bind of x/b was refused" in condition(scene)["message"]
        assert len(events(scene)) == 2

    played(play, *GANG, **SOON)


def test_they_are_kept_where_that_is_configured() -> None:
    async def play(scene: Scene) -> None:
        await start(scene)
        await settled(scene)
        assert scene.cluster.evictions.begun == 0
        assert "are bound and kept, and the bind of x/b was refused" in condition(scene)["message"]

    played(play, *GANG, **SOON, releases_gangs=False)


def test_a_gang_that_becomes_whole_in_time_keeps_its_pods() -> None:
    async def play(scene: Scene) -> None:
        await start(scene, times=1)
        scene.cluster.apply(binds("b"))
        await settled(scene)
        assert scene.cluster.evictions.begun == 0
        assert (condition(scene)["status"], condition(scene)["reason"]) == ("False", "Complete")

    played(play, *GANG, **SOON)


@pytest.mark.parametrize(("minimum", "bound"), [(1, 1), (2, 0)], ids=["it has its minimum", "none is bound"])
def test_other_gangs_are_left_alone(minimum: int, bound: int) -> None:
    async def play(scene: Scene) -> None:
        if not bound:
            scene.api.refuse("POST", "/pods/a/binding", DENIED, times=100)
        await start(scene)
        if not bound:
            scene.cluster.facts.put(pod("a"))
        await settled(scene)
        assert scene.cluster.evictions.begun == 0
        assert not condition(scene)

    played(play, node("n", 4), group(minimum), pod("a"), pod("b"), **SOON)


def test_a_cycle_that_was_under_way_does_not_take_the_condition_away() -> None:
    async def play(scene: Scene) -> None:
        await start(scene)
        scene.cluster.apply([UpdatePodGroup("x/g", PodGroupStatus(phase="Unknown", running=1))])
        await scene.written()
        assert scene.api.find(PodGroup, "x/g")["status"]["phase"] == "Unknown"
        assert condition(scene)["status"] == "True"

    played(play, *GANG)


def test_a_gang_that_is_gone_is_forgotten() -> None:
    async def play(scene: Scene) -> None:
        await start(scene)
        scene.cluster.facts.drop(PodGroup, "x/g")
        assert not scene.cluster._partial_gangs._timers
        assert not scene.cluster.statuses._notes

    played(play, *GANG)
