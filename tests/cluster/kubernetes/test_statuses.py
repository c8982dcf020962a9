"""Statuses: written once, tried again after longer and longer rests, never on what is being deleted."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from cluster.kubernetes.scenes import Scene, group, node, played, pod
from hekla.cluster.conditions import not_scheduled_condition
from hekla.cluster.kubernetes.api.client import Refused
from hekla.engine.framework.decisions import Tell, UpdatePodGroup, UpdateQueue
from hekla.objects import Condition, ObjectMeta, Pod, PodGroup, Queue
from hekla.objects.scheduling import PodGroupStatus

DENIED = Refused(422, "Invalid", "a policy denied the request")
INQUEUE = UpdatePodGroup("x/g", PodGroupStatus(phase="Inqueue"))
PENDING = UpdatePodGroup("x/g", PodGroupStatus(phase="Pending", running=1))
FULL = UpdatePodGroup(
    "x/g",
    PodGroupStatus(
        phase="Pending", conditions=(Condition(type="Unschedulable", status="True", message="full"),)
    ),
)
LEFT = datetime(2026, 1, 1, tzinfo=UTC)


def phase(scene: Scene) -> str:
    """As the engine sees it."""
    found = scene.cluster._view(scene.cluster.store.pod_group("x/g"))  # type: ignore[arg-type]
    assert isinstance(found, PodGroup)
    return found.status.phase


async def settled(scene: Scene, seconds: float) -> None:
    await asyncio.sleep(seconds)
    await scene.written()


def test_a_status_that_cannot_be_written_rests_stays_expected_and_is_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def play(scene: Scene) -> None:
        scene.api.refuse("PATCH", "/podgroups/g", DENIED, times=100)
        scene.cluster.apply([INQUEUE])
        await settled(scene, 0.6)
        assert phase(scene) == "Inqueue", "no cycle has to decide it again"
        # After 0.05, 0.1, 0.2 and 0.4 s.
        assert 3 <= scene.asked("PATCH", "/podgroups/g") <= 5
        assert scene.cluster.statuses.failed == scene.asked("PATCH", "/podgroups/g")

    played(play, group(1))
    told = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert [record.getMessage() for record in told] == [
        "podgroup x/g: status not written, tried again later: a policy denied the request"
    ]


def test_the_latest_is_written_when_the_rest_is_over() -> None:
    async def play(scene: Scene) -> None:
        scene.api.refuse("PATCH", "/podgroups/g", DENIED)
        scene.cluster.apply([INQUEUE])
        await scene.written()
        scene.cluster.apply([PENDING])
        await scene.written()
        assert scene.asked("PATCH", "/podgroups/g") == 1
        await settled(scene, 0.1)
        assert scene.api.find(PodGroup, "x/g")["status"]["running"] == 1
        assert scene.cluster.assumptions.of_group("x/g") is None

    played(play, group(1))


def test_pods_and_queues_rest_as_well() -> None:
    async def play(scene: Scene) -> None:
        for path in ("/pods/a", "/queues/q"):
            scene.api.refuse("PATCH", path, DENIED)
        decisions = [Tell("x/a", "a", "Unschedulable", "full"), UpdateQueue("q", {"cpu": 2000})]
        for _ in range(5):
            scene.cluster.apply(decisions)
            await scene.written()
        assert (scene.asked("PATCH", "/pods/a"), scene.asked("PATCH", "/queues/q")) == (1, 1)
        await settled(scene, 0.1)
        [told] = scene.api.find(Pod, "x/a")["status"]["conditions"]
        assert told["message"] == "full"
        assert scene.api.find(Queue, "q")["status"]["allocated"] == {"cpu": "2"}

    played(play, group(1), pod("a"), Queue(metadata=ObjectMeta(name="q", uid="q")))


@pytest.mark.parametrize("refusal", [Refused(404, "NotFound", "no pod group"), DENIED])
def test_a_pod_group_that_is_gone_or_going_is_neither_written_on_nor_warned_about(
    caplog: pytest.LogCaptureFixture, refusal: Refused
) -> None:
    async def play(scene: Scene) -> None:
        scene.api.refuse("PATCH", "/podgroups/g", refusal, times=100)
        scene.cluster.apply([FULL])
        known = scene.cluster.store.pod_group("x/g")
        assert known is not None
        scene.cluster.facts.put(replace(known, metadata=replace(known.metadata, deletion_timestamp=LEFT)))
        await scene.written()
        asked = scene.asked("PATCH")
        for _ in range(3):
            scene.cluster.apply([INQUEUE, FULL])
        await settled(scene, 0.1)
        assert scene.asked("PATCH") == asked <= 1

    played(play, group(1))
    assert not [record for record in caplog.records if record.levelno > logging.DEBUG]


def test_nothing_is_said_in_a_namespace_that_is_being_deleted() -> None:
    async def play(scene: Scene) -> None:
        scene.cluster._context.end_namespace("x")
        scene.cluster.apply([FULL, Tell("x/a", "a", "Unschedulable", "full")])
        await scene.written()
        assert not scene.api.asked

    played(play, node("n", 4), group(1), pod("a"))


def test_a_replica_that_does_not_lead_keeps_nothing_to_itself(caplog: pytest.LogCaptureFixture) -> None:
    async def play(scene: Scene) -> None:
        scene.cluster.apply([INQUEUE])
        scene.cluster.statuses.say(pod("a"), condition=not_scheduled_condition("Unschedulable", "full"))
        await scene.written()
        assert phase(scene) == ""
        assert scene.cluster.assumptions.of_pod("a").is_nothing()

    played(play, group(1), pod("a"), may_write=lambda: False)
    assert not caplog.records
