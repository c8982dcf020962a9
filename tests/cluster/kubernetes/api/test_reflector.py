"""Lists and watches, whatever the server does in between."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from unittest.mock import Mock

import aiohttp
import msgspec

from cluster.kubernetes.api.scripted import ScriptedClient
from hekla.cluster.kubernetes.api.client import Refused, Unreachable
from hekla.cluster.kubernetes.api.reflector import Reflector, WatchPatience
from hekla.cluster.kubernetes.api.resources import RESOURCES
from hekla.cluster.kubernetes.facts import Facts
from hekla.cluster.store import Store
from hekla.objects import Pod, PodGroup

QUICK = WatchPatience(watch=1.0, first_pause=0.001, longest_pause=0.002)


def pod(name: str, version: int, uid: str = "", node: str = "") -> dict[str, Any]:
    meta = {"name": name, "namespace": "x", "uid": uid or name, "resourceVersion": str(version)}
    return {"metadata": meta, "spec": {"nodeName": node} if node else {}}


def page(version: int, *pods: dict[str, Any], rest: str = "") -> dict[str, Any]:
    return {"metadata": {"resourceVersion": str(version), "continue": rest}, "items": list(pods)}


def event(type_: str, thing: dict[str, Any]) -> bytes:
    return json.dumps({"type": type_, "object": thing}).encode()


def reflected(*answers: Any, kind: Any = Pod) -> tuple[Store, ScriptedClient, Reflector[Any]]:
    """The store after the script was played; the reflector goes on until nothing is left to say."""
    store, client = Store(), ScriptedClient(*answers)
    reflector = Reflector(client, RESOURCES[kind], kind, Facts(store), patience=QUICK)  # type: ignore[arg-type]

    async def play() -> None:
        task = asyncio.create_task(reflector.run())
        while client._answers:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.005)
        task.cancel()

    asyncio.run(play())
    return store, client, reflector


def names(store: Store) -> dict[str, str]:
    return {pod.metadata.name: pod.spec.node_name for pod in store.all_of(Pod)}


def test_a_list_comes_page_by_page_and_a_watch_goes_on_from_it() -> None:
    store, client, _ = reflected(
        page(5, pod("a", 3), rest="more"),
        page(5, pod("b", 4)),
        [
            event("ADDED", pod("c", 6)),
            event("MODIFIED", pod("a", 7, node="n")),
            event("DELETED", pod("b", 8)),
        ],
    )
    assert names(store) == {"a": "n", "c": ""}
    assert client.params[1]["continue"] == "more"
    assert client.params[2]["resourceVersion"] == "5"


def test_a_watch_that_breaks_is_resumed_where_it_stood() -> None:
    store, client, _ = reflected(
        page(5),
        [event("ADDED", pod("a", 6)), Unreachable("cut")],
        [event("ADDED", pod("b", 7))],
    )
    assert names(store) == {"a": "", "b": ""}
    assert client.params[2]["resourceVersion"] == "6"


def test_after_the_server_was_down_everything_is_listed_and_believed() -> None:
    down = Unreachable("no answer")
    down.__cause__ = aiohttp.ClientConnectorError(Mock(), OSError("connection refused"))
    store, client, _ = reflected(
        page(9, pod("kept", 3), pod("lost", 8)),
        [event("MODIFIED", pod("kept", 9)), down],
        page(7, pod("kept", 3), pod("new", 7)),
        [event("ADDED", pod("later", 8))],
    )
    assert set(names(store)) == {"kept", "new", "later"}
    assert [asked.get("resourceVersion") for asked in client.params[:4]] == [None, "9", None, "7"]


def test_when_the_moment_is_forgotten_everything_is_listed_and_what_is_missing_is_gone() -> None:
    gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    for answer in (Refused(410, "Expired", "too old"), [event("ERROR", gone)]):
        store, _, reflector = reflected(page(5, pod("a", 3), pod("b", 4)), answer, page(9, pod("b", 4)))
        assert names(store) == {"b": ""}
        assert reflector.health.lists == 2


def test_a_server_that_was_set_back_is_listed_anew_and_believed() -> None:
    too_large = Refused(504, "Timeout", "Too large resource version: 50, current: 7", 1)
    store, _, _ = reflected(page(50, pod("a", 40, node="n")), too_large, page(7, pod("a", 3)))
    assert names(store) == {"a": ""}


def test_an_old_event_does_not_undo_a_newer_one() -> None:
    store, _, _ = reflected(
        page(5, pod("a", 5)), [event("MODIFIED", pod("a", 8, node="n")), event("MODIFIED", pod("a", 6))]
    )
    assert names(store) == {"a": "n"}


def test_a_pod_made_anew_under_its_name_is_another_one_and_the_late_end_of_the_first_does_no_harm() -> None:
    store, _, _ = reflected(
        page(5, pod("a", 5, uid="one")),
        [event("ADDED", pod("a", 9, uid="two")), event("DELETED", pod("a", 8, uid="one"))],
    )
    assert [pod.metadata.uid for pod in store.all_of(Pod)] == ["two"]


def test_a_kind_that_is_not_defined_counts_as_listed() -> None:
    _, _, reflector = reflected(Refused(404, "NotFound", "no such thing"), kind=PodGroup)
    assert reflector.health.synced.is_set()
    assert reflector.health.is_absent


def test_an_object_that_cannot_be_read_any_more_is_gone_until_it_can() -> None:
    bad = {"metadata": {"name": "a", "namespace": "x", "resourceVersion": "6"}, "spec": {"nodeName": 7}}
    store, _, _ = reflected(page(5, pod("a", 5)), [event("MODIFIED", bad)])
    assert names(store) == {}


def test_when_the_server_has_fallen_back_a_silent_watch_is_left_and_all_is_listed() -> None:
    store = Store()
    client = ScriptedClient(page(50, pod("a", 40, node="n")), [], page(7, pod("a", 3)))
    reflector = Reflector(client, RESOURCES[Pod], Pod, Facts(store), patience=QUICK)  # type: ignore[arg-type]

    async def play() -> None:
        task = asyncio.create_task(reflector.run())
        await reflector.health.synced.wait()
        for version in (50, 60, 6):
            client.watermark.wrote(
                "/lease", json.dumps({"metadata": {"resourceVersion": str(version)}}).encode()
            )
        while reflector.health.lists < 2:
            await asyncio.sleep(0.001)
        task.cancel()

    asyncio.run(play())
    assert client.watermark.resets == 1
    assert names(store) == {"a": ""}


class Quiet(ScriptedClient):
    """Breaks the first watch; the next is answered, and then nothing happens."""

    async def lines(self, path: str, params: Any, timeout: float) -> Any:
        self.asked.append(("WATCH", path))
        if self.asked.count(("WATCH", path)) == 1:
            raise Unreachable("cut")
        yield b""
        await asyncio.sleep(60)


def test_a_watch_that_is_answered_and_silent_is_a_sign_of_life() -> None:
    client = Quiet(page(5))
    reflector = Reflector(client, RESOURCES[Pod], Pod, Facts(Store()), patience=QUICK)  # type: ignore[arg-type]

    async def play() -> None:
        task = asyncio.create_task(reflector.run())
        while len(client.asked) < 3:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.005)
        task.cancel()

    asyncio.run(play())
    assert (reflector.health.breaks, reflector.health.trouble) == (1, "")


def test_a_kind_that_was_away_for_a_moment_is_listed_anew() -> None:
    group = {"metadata": {"name": "g", "namespace": "x", "uid": "g", "resourceVersion": "3"}}
    missing = Refused(404, "NotFound", "no such thing")
    store, _, reflector = reflected(page(5, group), missing, page(6, group), kind=PodGroup)
    assert len(store.all_of(PodGroup)) == 1
    assert not reflector.health.is_absent


def test_a_list_begun_earlier_does_not_undo_what_was_learned_since() -> None:
    store = Store()
    facts = Facts(store)
    facts.put(POD_OF_LATER)
    facts.put(POD_OF_EARLIER, listed_at=10)
    assert names(store) == {"a": "n"}
    facts.drop(Pod, "x/a", listed_at=10)
    assert names(store) == {"a": "n"}
    facts.drop(Pod, "x/a")
    facts.put(POD_OF_LATER)
    assert names(store) == {}, "the answer to a write came after the end of the object"


POD_OF_LATER = msgspec.convert(pod("a", 12, node="n"), Pod)
POD_OF_EARLIER = msgspec.convert(pod("a", 9), Pod)
