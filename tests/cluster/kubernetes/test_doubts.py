"""An object that the server does not know and nobody said is gone: everything is listed anew, once."""

from __future__ import annotations

import asyncio

from cluster.kubernetes.scenes import Scene, binds, group, node, played, pod
from hekla.cluster.kubernetes.doubts import Doubts
from hekla.cluster.store import Store
from hekla.kube.client import Refused
from hekla.objects import Pod


def doubted(*, is_told: bool) -> int:
    """How often everything is listed anew, when the event comes late, or never."""
    times: list[int] = []

    async def play() -> None:
        store, missing = Store(), pod("a")
        store.put(missing)
        doubts = Doubts(store, lambda: times.append(1), grace=0.02)
        for _ in range(3):
            doubts.missing(Pod, "x/a")
        doubts.missing(Pod, "x/never-known")
        if is_told:
            store.remove(missing)
        await asyncio.sleep(0.1)

    asyncio.run(play())
    return len(times)


def test_an_object_that_stays_missing_has_everything_listed_anew() -> None:
    assert doubted(is_told=False) == 1


def test_an_event_that_is_merely_late_changes_nothing() -> None:
    assert doubted(is_told=True) == 0


def test_binds_statuses_and_evictions_tell_of_pods_that_the_server_does_not_know() -> None:
    async def play(scene: Scene) -> None:
        missing: list[str] = []
        scene.cluster.attempts.on_missing = lambda _kind, key: missing.append(key)
        scene.api.refuse("POST", "/pods/a/binding", Refused(404, "NotFound", "no such pod"))
        scene.cluster.apply(binds("a"))
        await scene.written()
        assert missing == ["x/a"]

    played(play, node("n", 4), group(1), pod("a"))
