"""FakeApi: an API server in memory: objects by path, merge patches, watches, and refusals on demand.

It has two faces: `fakes.client` for code that takes a client, `fakes.http_api` for code that wants a wire.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

from hekla.cluster.kubernetes.api.client import Refused
from hekla.cluster.kubernetes.api.resources import RESOURCES
from hekla.objects import Manifest

Body = dict[str, Any]
REVIEWS = "selfsubjectaccessreviews"


@dataclass(frozen=True)
class Place:
    """What a path is about: a folder of objects, one of them, or a part of it."""

    group: str
    namespace: str
    plural: str
    name: str
    part: str

    @staticmethod
    @lru_cache(maxsize=10_000)
    def of(path: str) -> Place:
        steps = path.strip("/").split("/")
        before = 2 if steps[0] == "api" else 3
        rest, namespace = steps[before:], ""
        if rest[0] == "namespaces" and len(rest) > 2:
            namespace, rest = rest[1], rest[2:]
        return Place("/".join(steps[:before]), namespace, *[*rest, "", ""][:3])

    def is_in(self, folder: Place) -> bool:
        """A folder without a namespace holds the objects of all namespaces."""
        return (
            self.plural == folder.plural
            and self.group == folder.group
            and folder.namespace in ("", self.namespace)
        )


@dataclass
class Refusal:
    method: str
    path: re.Pattern[str]
    error: Exception
    times: int


class FakeApi:
    """`objects` stand under their paths; `asked` remembers every method and path."""

    def __init__(self, *manifests: Manifest) -> None:
        self.objects: dict[str, Body] = {}
        self.asked: list[tuple[str, str]] = []
        self.absent: set[str] = set()
        """Plurals that are not defined here."""
        self.forbidden: set[str] = set()
        """Plurals that nobody may speak of."""
        self.denied: set[tuple[str, str]] = set()
        """Verbs and resources that are not allowed, as the reviews say."""
        self.reviewed: list[tuple[str, str]] = []
        self.page = 10_000
        self.expire_once = False
        """The next page that is asked for by a token is too old."""
        self._version = 100
        self._listeners: list[tuple[Place, asyncio.Queue[bytes | None]]] = []
        self._refusals: list[Refusal] = []
        self._held = ""
        self._free = asyncio.Event()
        self.put(*manifests)

    # What tests do

    def put(self, *manifests: Manifest, silently: bool = False) -> None:
        """The objects are there, or look like this now; silently: no watch hears of it."""
        for manifest in manifests:
            self._store(path_of(type(manifest), manifest.key), as_object(manifest), silently)

    def put_at(self, path: str, body: Body) -> Body:
        """Lay a body over what is at the path, or make it, past all rules."""
        return self._store(path, merged(self.objects.get(path), body))

    def change_all(self, plural: str, change: Body, if_: Callable[[Body], bool] = lambda _: True) -> int:
        """Lay a change over all objects of a kind; how many there were."""
        paths = [path for path in self._paths_of(plural) if if_(self.objects[path])]
        for path in paths:
            self.put_at(path, change)
        return len(paths)

    def remove(self, kind: type[Manifest], key: str, *, silently: bool = False) -> None:
        self._remove(path_of(kind, key), silently)

    def find(self, kind: type[Manifest], key: str) -> Body:
        return self.objects[path_of(kind, key)]

    def all_in(self, plural: str) -> dict[str, Body]:
        """The objects of a kind by name."""
        found = [self.objects[path] for path in self._paths_of(plural)]
        return {body["metadata"]["name"]: body for body in found}

    def tell_of(self, kind: type[Manifest], key: str) -> None:
        """Watches hear of an object that was put silently."""
        self._tell("ADDED", path_of(kind, key), self.find(kind, key))

    def refuse(self, method: str, path: str, error: Exception, times: int = 1) -> None:
        """Answer the next calls like this one with an error."""
        self._refusals.append(Refusal(method, re.compile(path), error, times))

    def hold(self, plural: str) -> None:
        """Lists of the kind are not answered until `let_go`."""
        self._held = plural

    def let_go(self) -> None:
        self._free.set()

    def end_watches(self) -> None:
        for _, queue in self._listeners:
            queue.put_nowait(None)

    @property
    def methods(self) -> set[str]:
        return {method for method, _ in self.asked}

    # What clients do

    async def answer(self, method: str, path: str, body: Any, params: Mapping[str, str]) -> Body:
        """What the server says to a request, or `Refused`."""
        # As with a real server, others have their turn first.
        await asyncio.sleep(0)
        place = self._admitted(method, path)
        match method:
            case "GET" if place.name:
                return self._known(path)
            case "GET":
                return await self._list(place, params)
            case "POST":
                return self._create(place, path, body)
            case "PATCH":
                return self._patch(path, body)
            case "DELETE":
                return self._delete(path, body)
        raise Refused(405, "MethodNotAllowed", f"no {method} here")

    def watch(self, path: str, since: int) -> AsyncIterator[bytes]:
        """Events in lines: what is newer than that version, then what happens."""
        place = self._admitted("GET", path)
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        for known, body in self.objects.items():
            if Place.of(known).is_in(place) and int(body["metadata"]["resourceVersion"]) > since:
                queue.put_nowait(event("ADDED", body))
        self._listeners.append((place, queue))
        return self._heard((place, queue))

    async def _heard(self, listener: tuple[Place, asyncio.Queue[bytes | None]]) -> AsyncIterator[bytes]:
        try:
            while (line := await listener[1].get()) is not None:
                yield line
        finally:
            self._listeners.remove(listener)

    def _admitted(self, method: str, path: str) -> Place:
        self.asked.append((method, path))
        for refusal in self._refusals:
            if refusal.method == method and refusal.path.search(path) and refusal.times:
                refusal.times -= 1
                raise refusal.error
        place = Place.of(path)
        if place.plural in self.absent:
            raise Refused(404, "NotFound", "the server could not find the requested resource")
        if place.plural in self.forbidden:
            raise Refused(403, "Forbidden", f'{place.plural} is forbidden: User "somebody" cannot list it')
        return place

    def _known(self, path: str) -> Body:
        if path not in self.objects:
            raise Refused(404, "NotFound", f"no {path}")
        return self.objects[path]

    async def _list(self, folder: Place, params: Mapping[str, str]) -> Body:
        if folder.plural == self._held:
            await self._free.wait()
        start = int(params.get("continue", 0))
        if start and self.expire_once:
            self.expire_once = False
            raise Refused(410, "Expired", "the continue token is too old")
        items = [body for path, body in self.objects.items() if Place.of(path).is_in(folder)]
        end = start + min(self.page, int(params.get("limit", self.page)))
        rest = {"continue": str(end)} if end < len(items) else {}
        return {"metadata": {"resourceVersion": str(self._version), **rest}, "items": items[start:end]}

    def _create(self, place: Place, path: str, body: Body) -> Body:
        if place.plural == REVIEWS:
            return self._review(body)
        if place.part == "binding":
            self._known(path.removesuffix("/binding"))
            return self.put_at(path.removesuffix("/binding"), {"spec": {"nodeName": body["target"]["name"]}})
        path = f"{path}/{body['metadata']['name']}"
        if path in self.objects:
            raise Refused(409, "AlreadyExists", f"{path} is there already")
        return self._store(path, deepcopy(body))

    def _review(self, body: Body) -> Body:
        wanted = body["spec"]["resourceAttributes"]
        resource = "/".join(filter(None, (wanted["resource"], wanted.get("subresource", ""))))
        self.reviewed.append((wanted["verb"], resource))
        return {"status": {"allowed": (wanted["verb"], resource) not in self.denied}}

    def _patch(self, path: str, body: Body) -> Body:
        path = path.removesuffix("/status")
        self._must_be(path, body.get("metadata", {}).get("uid"))
        return self.put_at(path, body)

    def _delete(self, path: str, body: Body | None) -> Body:
        """What runs on a node is only marked: it goes when the kubelet has stopped it."""
        self._must_be(path, (body or {}).get("preconditions", {}).get("uid"))
        if (body or {}).get("dryRun"):
            return self.objects[path]
        if self.objects[path].get("spec", {}).get("nodeName"):
            return self.put_at(path, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
        self._remove(path)
        return {"kind": "Status"}

    def _must_be(self, path: str, uid: str | None) -> None:
        if uid and uid != self._known(path)["metadata"]["uid"]:
            raise Refused(409, "Conflict", "another uid")
        self._known(path)

    # What is there

    def _paths_of(self, plural: str) -> Iterator[str]:
        return (path for path in self.objects if Place.of(path).plural == plural)

    def _store(self, path: str, body: Body, silently: bool = False) -> Body:
        known = self.objects.get(path)
        self._stamp(path, body, known)
        self.objects[path] = body
        if not silently:
            self._tell("MODIFIED" if known else "ADDED", path, body)
        return body

    def _stamp(self, path: str, body: Body, known: Body | None) -> None:
        self._version += 1
        place, meta = Place.of(path), body.setdefault("metadata", {})
        meta["name"] = place.name
        if place.namespace:
            meta["namespace"] = place.namespace
        meta.setdefault("uid", known["metadata"]["uid"] if known else f"uid-{self._version}")
        meta.setdefault("creationTimestamp", "2026-01-01T00:00:00Z")
        meta["resourceVersion"] = str(self._version)

    def _remove(self, path: str, silently: bool = False) -> None:
        body = self.objects.pop(path)
        self._version += 1
        if not silently:
            last = {**body, "metadata": {**body["metadata"], "resourceVersion": str(self._version)}}
            self._tell("DELETED", path, last)

    def _tell(self, what: str, path: str, body: Body) -> None:
        line, place = event(what, body), Place.of(path)
        for folder, queue in self._listeners:
            if place.is_in(folder):
                queue.put_nowait(line)


def path_of(kind: type[Manifest], key: str) -> str:
    return RESOURCES[kind].path_of(key)


def as_object(manifest: Manifest) -> Body:
    resource = RESOURCES[type(manifest)]
    data = msgspec.to_builtins(manifest, str_keys=True)
    return {"apiVersion": resource.api_version, "kind": resource.name, **data}


def event(what: str, body: Body) -> bytes:
    return json.dumps({"type": what, "object": body}).encode()


def merged(known: Any, patch: Any) -> Any:
    """A merge patch, applied."""
    if not isinstance(patch, dict):
        return deepcopy(patch)
    result = dict(known) if isinstance(known, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result
