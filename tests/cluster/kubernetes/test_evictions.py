"""Evictions: a pod that is let go counts as leaving; one that is not stays, and is left alone for a while."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from cluster.kubernetes.scenes import Scene, evict, group, node, played, pod
from hekla.cluster.kubernetes.api.client import Refused
from hekla.cluster.kubernetes.intents import WriteOutcome
from hekla.engine.framework.decisions import UpdatePodGroup
from hekla.engine.model.benefit import Benefit, BenefitStage
from hekla.engine.model.status import Status
from hekla.objects import PodGroup
from hekla.objects.scheduling import PodGroupStatus

DENIED = Refused(422, "Invalid", "a policy denied the request")
CONFLICT = Refused(409, "Conflict", "the object has been modified")
THINGS = (node("n", 4), group(1), pod("a", on="n"))


def test_an_evicted_pod_counts_as_leaving_until_it_is_seen_to() -> None:
    async def play(scene: Scene) -> None:
        scene.cluster.apply([evict("a")])
        assert scene.task("a").status is Status.RELEASING
        await scene.written()
        assert scene.task("a").status is Status.RELEASING
        assert scene.cluster.evictions.ends == {WriteOutcome.CONFIRMED: 1}
        events = scene.api.all_in("events").values()
        assert 'evicted because of "preempt" in favour of "x/urgent"' in {one["message"] for one in events}

    played(play, *THINGS)


@pytest.mark.parametrize("refusal", [DENIED, CONFLICT], ids=["denied", "conflict"])
def test_a_pod_whose_eviction_is_refused_runs_on_and_is_no_victim_for_a_while(refusal: Refused) -> None:
    async def play(scene: Scene) -> None:
        scene.api.refuse("DELETE", "/pods/a", refusal)
        scene.cluster.apply([evict("a")])
        await scene.written()
        assert scene.cluster.evictions.ends == {WriteOutcome.REFUSED: 1}
        assert not scene.cluster.evictions.open
        assert scene.task("a").status is Status.RUNNING
        assert not scene.task("a").is_preemptable
        scene.cluster.changed.clear()
        async with asyncio.timeout(5):
            await scene.cluster.changed.wait()
        assert scene.task("a").is_preemptable
        scene.cluster.apply([evict("a")])
        await scene.written()
        assert scene.cluster.evictions.ends[WriteOutcome.CONFIRMED] == 1

    played(play, *THINGS)


def test_a_victim_rests_longer_each_time_and_as_long_as_it_is_told() -> None:
    async def play(scene: Scene) -> None:
        loop, rests = asyncio.get_running_loop(), []
        scene.api.refuse("DELETE", "/pods/a", DENIED, times=3)
        scene.api.refuse("DELETE", "/pods/a", Refused(422, "Invalid", "no", retry_after=0.5))
        for _ in range(4):
            scene.cluster.apply([evict("a")])
            await scene.written()
            began = loop.time()
            async with asyncio.timeout(5):
                while not scene.task("a").is_preemptable:
                    await asyncio.sleep(0.005)
            rests.append(loop.time() - began)
        assert rests[0] < rests[1] < rests[2]
        assert rests[3] > 0.4

    played(play, *THINGS, longest_eviction_back_off=0.2)


def test_the_job_that_a_refused_eviction_was_for_may_look_for_other_victims_at_once() -> None:
    def reserved(second: int) -> UpdatePodGroup:
        since = datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC)
        condition = Benefit(BenefitStage.RESERVED, 0.0, evicted=1).as_condition()
        status = PodGroupStatus(phase="Inqueue", conditions=(replace(condition, last_transition_time=since),))
        return UpdatePodGroup("x/urgent", status)

    def conditions(scene: Scene) -> list[str]:
        told = scene.api.find(PodGroup, "x/urgent")["status"].get("conditions", [])
        return [one["lastTransitionTime"] for one in told]

    async def play(scene: Scene) -> None:
        scene.api.refuse("DELETE", "/pods/a", DENIED)
        scene.cluster.apply([evict("a"), reserved(1)])
        await scene.written()
        assert not conditions(scene)
        scene.cluster.apply([reserved(1)])  # by a cycle that was under way
        await scene.written()
        assert not conditions(scene)
        scene.cluster.apply([reserved(2)])
        await scene.written()
        assert conditions(scene) == ["2026-01-01T00:00:02Z"]

    played(play, *THINGS, group(1, "urgent"))


def test_what_is_being_evicted_is_not_evicted_again() -> None:
    async def play(scene: Scene) -> None:
        scene.cluster.apply([evict("a")])
        scene.cluster.apply([evict("a")])
        assert scene.cluster.evictions.begun == 1

    played(play, *THINGS)


def test_an_eviction_is_superseded_where_this_replica_does_not_lead() -> None:
    async def play(scene: Scene) -> None:
        scene.cluster.apply([evict("a")])
        await scene.written()
        assert scene.cluster.evictions.ends == {WriteOutcome.SUPERSEDED: 1}
        assert scene.task("a").status is Status.RUNNING
        assert not scene.api.asked

    played(play, *THINGS, may_write=lambda: False)


def test_nothing_is_kept_of_a_victim_that_is_gone() -> None:
    async def play(scene: Scene) -> None:
        scene.api.refuse("DELETE", "/pods/a", DENIED)
        scene.cluster.apply([evict("a")])
        await scene.written()
        victim = next(iter(scene.cluster._spared._rests))
        leaving = pod("a", on="n")
        gone = replace(leaving.metadata, deletion_timestamp=datetime(2026, 1, 1, tzinfo=UTC))
        scene.cluster.facts.put(replace(leaving, metadata=gone))
        scene.cluster.facts.drop(type(leaving), "x/a")
        assert not scene.cluster._spared.has_failed(victim)
        assert not scene.cluster._spared.rests(victim)

    played(play, *THINGS)
