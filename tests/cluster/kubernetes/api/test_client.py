"""The client against a peer that misbehaves: time, size and address are bounded for every caller."""

from __future__ import annotations

import asyncio
import gzip
import threading
from collections.abc import Awaitable, Callable
from threading import Event
from typing import Any

import pytest

from fakes.http_api import Settings
from fakes.peer import Behaviour, heard, is_silent, peer, pours, says, trickles
from hekla.clock import WallClock
from hekla.cluster.kubernetes.api.access import Access
from hekla.cluster.kubernetes.api.client import LONGEST_WAIT, Client, Refused, Unreachable
from hekla.cluster.kubernetes.api.lease import Leadership, LeaseOptions
from hekla.cluster.kubernetes.api.reading import find_conf, list_cluster
from hekla.errors import InputError
from hekla.objects import Node
from hekla.server.deploy.apply import apply

TIME = 0.3
OK = b"HTTP/1.1 200 OK\r\n"
Call = Callable[[Client], Awaitable[object]]


async def _applied(client: Client) -> None:
    thing = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}
    async for _ in apply(client, [thing]):
        pass


async def _watched(client: Client) -> None:
    async for _ in client.lines("/api/v1/pods", {"watch": "1"}, timeout=300.0):
        pass


async def _leased(client: Client) -> None:
    options = LeaseOptions(namespace="default", name="a")
    await Leadership(client, "me", options, WallClock())._read()


CALLERS: dict[str, Call] = {
    "get": lambda client: client.get("/api/v1/pods"),
    "put": lambda client: client.put("/api/v1/pods/a", {}),
    "list": lambda client: list_cluster(client, [Node]),
    "configuration": lambda client: find_conf(client, "a/b"),
    "apply": _applied,
    "lease": _leased,
}
SLOW: dict[str, Behaviour] = {
    "silence": is_silent,
    "headers that trickle": trickles(OK + b"X-Much: aaaa"),
    "a body that trickles": trickles(OK + b"\r\n "),
    "a refusal that trickles": trickles(b"HTTP/1.1 403 Forbidden\r\n\r\n{"),
}


def call(address: str, what: Call, **options: Any) -> object:
    async def whole() -> object:
        async with Client(Access(lambda: Settings(f"http://{address}")), timeout=TIME, **options) as client:
            return await what(client)

    return asyncio.run(whole())


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("behaviour", SLOW)
def test_a_call_has_one_deadline(caller: str, behaviour: str) -> None:
    with peer(SLOW[behaviour]) as address, pytest.raises(Unreachable, match="it took too long"):
        call(address, CALLERS[caller])


@pytest.mark.parametrize("behaviour", ["silence", "headers that trickle"])
def test_a_watch_is_answered_in_the_time_of_a_call(behaviour: str) -> None:
    with peer(SLOW[behaviour]) as address, pytest.raises(Unreachable, match="it took too long"):
        call(address, _watched)


def test_a_stale_token_that_is_refused_slowly_does_not_double_the_time() -> None:
    def behave(connection: Any, is_over: Any) -> None:
        heard(connection)
        is_over.wait(0.2)
        connection.sendall(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    with peer(behave) as address, pytest.raises(Unreachable, match="it took too long"):
        call(address, CALLERS["get"])


@pytest.mark.parametrize("where", ["http://127.0.0.1:1/", "https://elsewhere.example/", "/other"])
def test_nobody_is_followed_elsewhere(where: str) -> None:
    head = b"HTTP/1.1 307 Temporary Redirect\r\nContent-Length: 0\r\nLocation: "
    with peer(says(head + where.encode() + b"\r\n\r\n")) as address:
        with pytest.raises(Refused, match="which is not followed"):
            call(address, CALLERS["get"])
        with pytest.raises(Refused, match="which is not followed"):
            call(address, _watched)


def test_answers_and_events_have_a_largest_size() -> None:
    packed = gzip.compress(b" " * 2**24)
    bomb = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed
    endless = pours(OK + b"\r\n", b" " * 65536)
    for behave, what in ((endless, CALLERS["get"]), (says(bomb), CALLERS["get"]), (endless, _watched)):
        with peer(behave) as address, pytest.raises(Unreachable, match="answered more than 1 MB"):
            call(address, what, largest_answer=2**20)


@pytest.mark.parametrize(
    "text",
    [
        OK + b"Content-Length: 10\r\n\r\n{}",
        OK + b"Content-Length: -1\r\n\r\n{}",
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}",
        OK + b"Transfer-Encoding: chunked\r\n\r\n9\r\n{}",
        OK + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
        b"gibberish\r\n\r\n",
    ],
    ids=["cut off", "a length below 0", "chunks that are none", "a chunk cut off", "not packed", "no HTTP"],
)
def test_an_answer_that_is_none_is_no_answer(text: bytes) -> None:
    with peer(says(text)) as address, pytest.raises(Unreachable, match="no answer from"):
        call(address, CALLERS["get"])


def test_nobody_has_to_wait_for_ever_before_asking_again() -> None:
    head = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 999999\r\nContent-Length: 0\r\n\r\n"
    with peer(says(head)) as address, pytest.raises(Refused) as caught:
        call(address, CALLERS["get"])
    assert caught.value.retry_after == LONGEST_WAIT


class Stuck(Settings):
    """Credentials of a plugin that hangs."""

    def __init__(self, host: str, is_over: Event) -> None:
        super().__init__(host)
        self._is_over = is_over

    def get_api_key_with_prefix(self, *_: object, **__: object) -> str:
        self._is_over.wait(10)
        return ""


def test_a_plugin_that_hangs_holds_up_neither_the_loop_nor_the_call() -> None:
    is_over, ticks = Event(), 0

    async def whole(address: str) -> None:
        nonlocal ticks
        access = Access(lambda: Stuck(f"http://{address}", is_over), patience=2 * TIME)
        async with Client(access, timeout=TIME) as client:
            calls = [asyncio.create_task(client.get("/api/v1/pods")) for _ in range(20)]
            while not all(one.done() for one in calls):
                ticks += 1
                await asyncio.sleep(TIME / 20)
            for one in calls:
                with pytest.raises(Unreachable, match="it took too long"):
                    await one
            assert sum(one.name == "credentials" for one in threading.enumerate()) == 1

    with peer(is_silent) as address:
        asyncio.run(whole(address))
    is_over.set()
    assert 10 < ticks < 200, "the loop stood still, or the plugin was waited for"


def test_a_plugin_that_hangs_at_the_start_is_one_error() -> None:
    is_over = Event()
    with pytest.raises(InputError, match=r"no credentials after 0.1 s"):
        Access(lambda: is_over.wait(10), patience=0.1)
    is_over.set()
