"""Api: a small client for tests, which waits for its answers; bodies are plain dicts."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

import aiohttp

from harness.access import Access, Background
from harness.client import MERGE, ApiError, Call, Client, in_parallel
from harness.kinds import KINDS, Object, kind_of, namespace_of, path_of

Found = TypeVar("Found")
Objects = list[Object]
NOW = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}


class Api:
    """Single objects one call at a time; many objects by up to `in_flight` requests at once."""

    def __init__(self, access: Access, in_flight: int = 64, timeout: float = 60.0) -> None:
        self.access = access
        self._in_flight = in_flight
        self._background = Background("api")
        self._session = self._background.run(_opened(access, in_flight, timeout))
        self._client = Client(self._session)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._background.run(self._session.close())
        self._background.close()

    def request(self, method: str, path: str, body: Object | None = None, **options: Any) -> Object:
        """Any request; `query=` and `content_type=` are the options."""
        return self._background.run(self._client.send(method, path, body, **options))

    def create(self, *things: Object) -> Objects:
        """The objects as stored, in the order given; they may be created in any."""
        return self._all(partial(self._client.send, "POST", _folder(thing), thing) for thing in things)

    def get(self, kind: str, name: str, namespace: str = "default") -> Object:
        return self.request("GET", KINDS[kind].path(namespace, name))

    def find(self, kind: str, name: str, namespace: str = "default") -> Object | None:
        """The object, or None where there is none."""
        try:
            return self.get(kind, name, namespace)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def list(self, kind: str, namespace: str = "", **query: str) -> Objects:
        """All of a kind (`labelSelector=` and the like narrow it); none where it is not served."""
        try:
            found = self.request("GET", KINDS[kind].path(namespace), query=query)
        except ApiError as error:
            if error.status == 404:
                return []
            raise
        identity = {"apiVersion": KINDS[kind].api_version, "kind": kind}
        return [identity | item for item in found["items"]]

    def patch(self, thing: Object, change: Object, subresource: str = "") -> Object:
        """A merge patch on an object that is there."""
        return self.request("PATCH", path_of(thing, subresource), change, content_type=MERGE)

    def patch_many(self, changes: Iterable[tuple[Object, Object]], subresource: str = "") -> Objects:
        return self._all(
            partial(self._client.send, "PATCH", path_of(thing, subresource), change, content_type=MERGE)
            for thing, change in changes
        )

    def replace(self, thing: Object, subresource: str = "") -> Object:
        return self.request("PUT", path_of(thing, subresource), thing)

    def delete(self, *things: Object, **options: Any) -> None:
        """Delete objects, each with its own grace unless `gracePeriodSeconds=` is given."""
        self._all(partial(self._client.send, "DELETE", path_of(thing), options) for thing in things)

    def delete_all(self, kind: str) -> None:
        """Every object of a kind, at once, without grace and without finalizers."""
        left = self.list(kind)
        if KINDS[kind].is_namespaced:
            folders = {KINDS[kind].path(namespace_of(thing)) for thing in left}
        else:
            folders = {KINDS[kind].path()} if left else set()
        self._all(partial(self._client.send, "DELETE", folder, NOW) for folder in folders)
        held = [thing for thing in left if thing["metadata"].get("finalizers")]
        for thing in held:
            if self.find(kind, thing["metadata"]["name"], namespace_of(thing)):
                self.patch(thing, {"metadata": {"finalizers": None}})

    def bind(self, pod: Object, node: str) -> None:
        """Put a pod on a node, as a scheduler does."""
        self.bind_many([(pod, node)])

    def bind_many(self, pairs: Iterable[tuple[Object, str]]) -> None:
        self._all(
            partial(self._client.send, "POST", path_of(pod, "binding"), binding(pod, node))
            for pod, node in pairs
        )

    def watch(self, kind: str, **query: str) -> Watch:
        """What happens to a kind from now on, and what is there already; to be closed."""
        return Watch(self._background, self._client.follow(KINDS[kind].path(), query))

    def _all(self, calls: Iterable[Call]) -> Objects:
        return self._background.run(in_parallel(tuple(calls), self._in_flight))


class Watch:
    """Events of a watch, gathered while the test does other things."""

    def __init__(self, background: Background, events: AsyncIterator[tuple[str, Object]]) -> None:
        self.events: list[tuple[str, Object]] = []
        self._task = background.begin(self._gather(events))

    def close(self) -> None:
        self._task.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def _gather(self, events: AsyncIterator[tuple[str, Object]]) -> None:
        async for event in events:
            self.events.append(event)


def binding(pod: Object, node: str, uid: str | None = None) -> Object:
    """The body that binds this very pod, and not a later one of the same name."""
    identity = {"name": pod["metadata"]["name"], "namespace": namespace_of(pod)}
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {**identity, "uid": uid or pod["metadata"]["uid"]},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }


def wait_until(
    condition: Callable[[], Found], timeout: float = 30.0, *, every: float = 0.05, what: str = ""
) -> Found:
    """The first true answer of the condition; TimeoutError where there is none in time."""
    deadline = time.monotonic() + timeout
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {timeout:g} s in vain for {what or 'a condition'}; last: {found!r}")
        time.sleep(every)
    return found


def _folder(thing: Object) -> str:
    return kind_of(thing).path(namespace_of(thing))


async def _opened(access: Access, in_flight: int, timeout: float) -> aiohttp.ClientSession:
    return access.session(in_flight, timeout)
