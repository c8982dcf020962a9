"""Client: requests to an API server, one coroutine each, and watches that never end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from typing import Any, Literal

import aiohttp
import msgspec

from harness.kinds import Object

EventType = Literal["ADDED", "MODIFIED", "DELETED"]
Event = tuple[EventType, Object]
Call = Callable[[], Coroutine[Any, Any, Object]]

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
PAUSE_AFTER_FAILURE = 0.2

# What the server says of a custom resource for a moment after it was defined, and after a restart.
BEING_PREPARED = b"storage is (re)initializing"


class ApiError(Exception):
    """The server said no."""

    def __init__(self, status: int, body: bytes) -> None:
        self.status = status
        self.body: Any = _decoded(body)
        told = self.body if isinstance(self.body, dict) else {}
        self.reason = str(told.get("reason", ""))
        super().__init__(f"{status} {self.reason}: {told.get('message', self.body)}")


class WatchExpired(Exception):
    """The version to watch from is gone: list again."""


class Client:
    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def send(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Object:
        """What the server answers; ApiError where that is a refusal."""
        data = None if body is None else msgspec.json.encode(body)
        headers = {"Content-Type": content_type} if data else {}
        while True:
            async with self._session.request(
                method, path, data=data, params=query, headers=headers
            ) as answer:
                content = await answer.read()
                if answer.status < 400:
                    found: Object = msgspec.json.decode(content)
                    return found
            if not (answer.status == 429 and BEING_PREPARED in content):
                raise ApiError(answer.status, content)
            await asyncio.sleep(PAUSE_AFTER_FAILURE)

    async def follow(self, path: str, query: Mapping[str, str] | None = None) -> AsyncIterator[Event]:
        """First all that is there, then every change, through broken connections and restarted servers.

        After a new list the objects that have gone meanwhile are told as deleted, and all others again
        as added.
        """
        known: dict[str, Object] = {}
        while True:
            try:
                listed = await self.send("GET", path, query=query)
                for event in _differences(known, listed["items"]):
                    yield event
                async for kind, found in self._changes(path, query or {}, listed["metadata"]):
                    _remember(known, kind, found)
                    yield kind, found
            except WatchExpired:
                continue
            except (aiohttp.ClientError, ApiError, TimeoutError):
                await asyncio.sleep(PAUSE_AFTER_FAILURE)

    async def _changes(self, path: str, query: Mapping[str, str], listed: Object) -> AsyncIterator[Event]:
        version = str(listed["resourceVersion"])
        while True:
            asked = {**query, "watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true"}
            try:
                async for kind, found in self._lines(path, asked):
                    version = found["metadata"]["resourceVersion"]
                    if kind != "BOOKMARK":
                        yield kind, found
            except (aiohttp.ClientError, TimeoutError):
                await asyncio.sleep(PAUSE_AFTER_FAILURE)

    async def _lines(self, path: str, query: Mapping[str, str]) -> AsyncIterator[tuple[Any, Object]]:
        patience = aiohttp.ClientTimeout(total=None, sock_read=400)
        async with self._session.get(path, params=query, timeout=patience) as answer:
            if answer.status == 410:
                raise WatchExpired
            if answer.status >= 400:
                raise ApiError(answer.status, await answer.read())
            rest = b""
            async for piece in answer.content.iter_any():
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    event = msgspec.json.decode(line)
                    if event["type"] == "ERROR":
                        raise WatchExpired
                    yield event["type"], event["object"]


async def in_parallel(calls: Sequence[Call], in_flight: int) -> list[Object]:
    """The answers in the order of the calls; the first refusal ends it."""
    answers: list[Object] = [{}] * len(calls)
    waiting = iter(enumerate(calls))

    async def work() -> None:
        for place, call in waiting:
            answers[place] = await call()

    workers = [asyncio.create_task(work()) for _ in range(min(in_flight, len(calls)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
    return answers


def _differences(known: dict[str, Object], items: list[Object]) -> list[Event]:
    """What a new list says against what was known, which becomes the list."""
    listed = {item["metadata"]["uid"]: item for item in items}
    gone: list[Event] = [("DELETED", known[uid]) for uid in known.keys() - listed.keys()]
    known.clear()
    known.update(listed)
    return gone + [("ADDED", item) for item in items]


def _remember(known: dict[str, Object], kind: EventType, found: Object) -> None:
    uid = found["metadata"]["uid"]
    if kind == "DELETED":
        known.pop(uid, None)
    else:
        known[uid] = found


def _decoded(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return body.decode(errors="replace")
