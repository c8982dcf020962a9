"""An object that the server does not know and nobody said is gone: everything is listed anew, once."""

from __future__ import annotations

import asyncio
from types import MethodType
from typing import cast

import pytest

from cluster.kubernetes.scenes import Scene, binds, evict, group, node, played, pod
from hekla.cluster.kubernetes.api.client import Refused
from hekla.cluster.kubernetes.facts import MissingObjectCheck
from hekla.cluster.store import Store
from hekla.engine.framework.decisions import Decision, Tell
from hekla.objects import Pod


def doubted(*, is_told: bool) -> int:
    """How often everything is listed anew, when the event comes late, or never."""
    times: list[int] = []

    async def play() -> None:
        store, missing = Store(), pod("a")
        store.put(missing)
        check = MissingObjectCheck(store, lambda: times.append(1), grace=0.02)
        for _ in range(3):
            check.missing(Pod, "x/a")
        check.missing(Pod, "x/never-known")
        if is_told:
            store.remove(missing)
        await asyncio.sleep(0.1)

    asyncio.run(play())
    return len(times)


def test_an_object_that_stays_missing_has_everything_listed_anew() -> None:
    assert doubted(is_told=False) == 1


def test_an_event_that_is_merely_late_changes_nothing() -> None:
    assert doubted(is_told=True) == 0


@pytest.mark.parametrize(
    ("method", "decisions"),
    [("POST", binds("a")), ("DELETE", [evict("b")]), ("PATCH", [Tell("x/a", "a", "Unschedulable", "full")])],
    ids=["bind", "eviction", "status"],
)
def test_any_write_tells_of_a_pod_that_the_server_does_not_know(
    method: str, decisions: list[Decision]
) -> None:
    async def play(scene: Scene) -> None:
        no_pod = Refused(404, "NotFound", "no such pod")
        for refused in {method, "PATCH"}:
            scene.api.refuse(refused, "/pods/", no_pod, times=5)
        for on_missing in (scene.cluster.attempts.on_missing, scene.cluster.writer.on_missing):
            cast("MethodType", on_missing).__self__._grace = 0.01  # type: ignore[attr-defined]
        scene.cluster.apply(decisions)
        await scene.written()
        await asyncio.sleep(0.05)
        assert scene.cluster.attempts.client.watermark.resets == 1

    played(play, node("n", 4), group(1), pod("a"), pod("b", on="n"))
