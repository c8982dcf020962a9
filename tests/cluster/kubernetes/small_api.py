"""SmallApi: an API server in memory, as a client: objects, merge patches, watches, and refusals on demand."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from copy import deepcopy
from itertools import count
from typing import Any

from hekla.kube.client import Refused
from hekla.kube.tide import Tide

Body = dict[str, Any]


class SmallApi:
    """Paths are folders and names; a folder without a namespace lists all namespaces."""

    server = "https://small"

    def __init__(self) -> None:
        self.tide = Tide()
        self.objects: dict[str, Body] = {}
        self.asked: list[tuple[str, str]] = []
        self._versions = count(1)
        self._listeners: list[tuple[str, asyncio.Queue[Body]]] = []
        self._refusals: list[list[Any]] = []

    # What tests do

    def refuse(self, method: str, path: str, error: Exception, times: int = 1) -> None:
        """Answer the next calls like this one with an error."""
        self._refusals.append([method, re.compile(path), error, times])

    def all_in(self, plural: str) -> dict[str, Body]:
        """The objects of a kind by name."""
        found = {path: body for path, body in self.objects.items() if path.rsplit("/", 2)[1] == plural}
        return {body["metadata"]["name"]: body for body in found.values()}

    def put(self, path: str, body: Body) -> Body:
        """Make an object, or change it, past all rules."""
        is_new = path not in self.objects
        known = {} if is_new else self.objects[path]
        whole = merged(known, body)
        self._stamp(path, whole)
        self.objects[path] = whole
        self._tell("ADDED" if is_new else "MODIFIED", path)
        return whole

    def remove(self, path: str) -> None:
        self._tell("DELETED", path)
        del self.objects[path]

    def change_all(self, plural: str, change: Body, if_: Callable[[Body], bool] = lambda _: True) -> int:
        """Lay a change over all objects of a kind; how many there were."""
        paths = [
            path for path in self.objects if path.rsplit("/", 2)[1] == plural and if_(self.objects[path])
        ]
        for path in paths:
            self.put(path, change)
        return len(paths)

    # What clients do

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        return await self.call("GET", path)

    async def post(self, path: str, body: Body) -> bytes:
        return await self.call("POST", path, body=body)

    async def patch(self, path: str, body: Body, content_type: str = "") -> bytes:
        return await self.call("PATCH", path, body=body)

    async def delete(self, path: str, uid: str = "", grace: int | None = None) -> bytes:
        return await self.call("DELETE", path, body={"preconditions": {"uid": uid}} if uid else {})

    async def call(self, method: str, path: str, *, body: Any = None, **_: Any) -> bytes:
        await asyncio.sleep(0)
        self.asked.append((method, path))
        for refusal in self._refusals:
            if refusal[0] == method and refusal[1].search(path) and refusal[3]:
                refusal[3] -= 1
                raise refusal[2]
        return json.dumps(getattr(self, f"_{method.lower()}")(path, body)).encode()

    async def lines(self, path: str, params: Mapping[str, str], timeout: float) -> AsyncIterator[bytes]:
        queue: asyncio.Queue[Body] = asyncio.Queue()
        self._listeners.append((path, queue))
        since = int(params["resourceVersion"])
        for place, body in list(self.objects.items()):
            if self._is_in(place, path) and int(body["metadata"]["resourceVersion"]) > since:
                queue.put_nowait({"type": "ADDED", "object": deepcopy(body)})
        while True:
            yield json.dumps(await queue.get()).encode()

    def _get(self, path: str, _: Any) -> Body:
        if path in self.objects:
            return self.objects[path]
        if "/namespaces/" in path:
            raise Refused(404, "NotFound", f"no {path}")
        items = [body for place, body in self.objects.items() if self._is_in(place, path)]
        return {"metadata": {"resourceVersion": str(next(self._versions))}, "items": items}

    def _post(self, path: str, body: Body) -> Body:
        place = f"{path}/{body['metadata']['name']}"
        if place in self.objects:
            raise Refused(409, "AlreadyExists", f"{place} is there already")
        return self.put(place, deepcopy(body))

    def _patch(self, path: str, body: Body) -> Body:
        place = path.removesuffix("/status")
        if place not in self.objects:
            raise Refused(404, "NotFound", f"no {place}")
        uid = body.get("metadata", {}).get("uid")
        if uid and uid != self.objects[place]["metadata"]["uid"]:
            raise Refused(409, "Conflict", "another uid")
        return self.put(place, body)

    def _delete(self, path: str, body: Body) -> Body:
        known = self.objects.get(path)
        if known is None:
            raise Refused(404, "NotFound", f"no {path}")
        uid = (body or {}).get("preconditions", {}).get("uid")
        if uid and uid != known["metadata"]["uid"]:
            raise Refused(409, "Conflict", "another uid")
        if known.get("spec", {}).get("nodeName"):
            return self.put(path, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
        self.remove(path)
        return {"kind": "Status"}

    def _stamp(self, path: str, body: Body) -> None:
        version = str(next(self._versions))
        meta = body.setdefault("metadata", {})
        meta["name"] = path.rsplit("/", 1)[1]
        if space := re.search(r"/namespaces/([^/]+)/", path):
            meta["namespace"] = space[1]
        meta.setdefault("uid", f"uid-{version}")
        meta.setdefault("creationTimestamp", "2026-01-01T00:00:00Z")
        meta["resourceVersion"] = version

    def _tell(self, kind: str, place: str) -> None:
        event = {"type": kind, "object": deepcopy(self.objects[place])}
        if kind == "DELETED":
            event["object"]["metadata"]["resourceVersion"] = str(next(self._versions))
        for folder, queue in self._listeners:
            if self._is_in(place, folder):
                queue.put_nowait(event)

    @staticmethod
    def _is_in(place: str, folder: str) -> bool:
        group, _, plural = folder.rpartition("/")
        steps = place.rsplit("/", 2)
        return steps[1] == plural and (
            place.startswith(f"{group}/namespaces/") or place == f"{folder}/{steps[2]}"
        )


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
