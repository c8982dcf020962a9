"""A small API server: lists, watches, writes and access reviews over HTTP; it can be told to misbehave."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec
from aiohttp import web

from hekla.kube.access import Access
from hekla.kube.resources import RESOURCES
from hekla.objects import Manifest

Thing = dict[str, Any]
KINDS = {resource.plural: resource for resource in RESOURCES.values()}
TIMES = msgspec.json.Encoder()


class Settings:
    """What the official client's loader would have found out."""

    proxy = username = tls_server_name = ssl_ca_cert = None

    def __init__(self, host: str) -> None:
        self.host = host

    def get_api_key_with_prefix(self, *_: object, **__: object) -> str:
        return "Bearer somebody"


class FakeApi:
    """`async with FakeApi() as api`; objects are put in and taken out at any time."""

    def __init__(self, *manifests: Manifest) -> None:
        self._things: dict[str, dict[str, Thing]] = {plural: {} for plural in KINDS}
        self._watchers: list[tuple[str, asyncio.Queue[tuple[str, Thing]]]] = []
        self._version = 100
        self.denied: set[tuple[str, str]] = set()
        """Verbs and resources that are not allowed, as the reviews say."""
        self.reviewed: list[tuple[str, str]] = []
        self.events: list[Thing] = []
        self._held = ""
        self._free = asyncio.Event()
        for manifest in manifests:
            self.put(manifest)

    def hold(self, plural: str) -> None:
        """Lists of the kind are not answered until `let_go`."""
        self._held = plural

    def let_go(self) -> None:
        self._free.set()

    async def __aenter__(self) -> FakeApi:
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.server = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        for _plural, queue in self._watchers:
            queue.put_nowait(("END", {}))
        await self._runner.cleanup()

    def access(self) -> Access:
        return Access(lambda: Settings(self.server))

    # What is there

    def put(self, manifest: Manifest | Thing, *, silently: bool = False) -> None:
        """The object is there, or looks like this now; silently: no watch hears of it."""
        thing = manifest if isinstance(manifest, dict) else as_thing(manifest)
        plural = thing.pop("plural")
        known = self._things[plural].get(key_of(thing))
        self._version += 1
        thing["metadata"]["resourceVersion"] = str(self._version)
        thing["metadata"].setdefault("uid", f"uid-{self._version}")
        self._things[plural][key_of(thing)] = thing
        if not silently:
            self._tell(plural, "MODIFIED" if known else "ADDED", thing)

    def delete(self, plural: str, key: str, *, silently: bool = False) -> None:
        thing = self._things[plural].pop(key)
        self._version += 1
        if not silently:
            self._tell(plural, "DELETED", {**thing, "metadata": {**thing["metadata"]}})

    def get(self, plural: str, key: str) -> Thing:
        return self._things[plural][key]

    def _tell(self, plural: str, type_: str, thing: Thing) -> None:
        for watched, queue in self._watchers:
            if watched == plural:
                queue.put_nowait((type_, json.loads(json.dumps(thing))))

    # Requests

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        plural, key, part = parsed(request.path)
        if plural == "selfsubjectaccessreviews":
            return self._review(await request.json())
        if plural == "events":
            self.events.append(await request.json())
            return web.json_response({}, status=201)
        if plural not in self._things:
            return refusal(404, "NotFound")
        if "watch" in request.query:
            return await self._watch(request, plural)
        match request.method:
            case "GET":
                return self._one(plural, key) if key else await self._list(plural)
            case "POST":
                return self._create(plural, key, part, await request.json())
            case "PATCH":
                return self._patch(plural, key, json.loads(await request.read()))
            case "DELETE":
                self.delete(plural, key)
                return web.json_response({})
        return refusal(405, "MethodNotAllowed")

    async def _list(self, plural: str) -> web.Response:
        if plural == self._held:
            await self._free.wait()
        items = list(self._things[plural].values())
        return web.json_response({"metadata": {"resourceVersion": str(self._version)}, "items": items})

    def _one(self, plural: str, key: str) -> web.Response:
        thing = self._things[plural].get(key)
        return refusal(404, "NotFound") if thing is None else web.json_response(thing)

    def _create(self, plural: str, key: str, part: str, body: Thing) -> web.Response:
        if part == "binding":
            pod = json.loads(json.dumps(self._things[plural][key]))
            pod["spec"]["nodeName"] = body["target"]["name"]
            self.put({**pod, "plural": plural})
            return web.json_response({"kind": "Status"}, status=201)
        self.put({**body, "plural": plural})
        return web.json_response(self._things[plural][key_of(body)], status=201)

    def _patch(self, plural: str, key: str, body: Thing) -> web.Response:
        thing = self._things[plural].get(key)
        if thing is None:
            return refusal(404, "NotFound")
        status = {**thing.get("status", {}), **body.get("status", {})}
        self.put({**thing, "metadata": dict(thing["metadata"]), "status": status, "plural": plural})
        return web.json_response(self._things[plural][key])

    def _review(self, body: Thing) -> web.Response:
        wanted = body["spec"]["resourceAttributes"]
        resource = "/".join(filter(None, (wanted["resource"], wanted.get("subresource", ""))))
        self.reviewed.append((wanted["verb"], resource))
        is_allowed = (wanted["verb"], resource) not in self.denied
        return web.json_response({"status": {"allowed": is_allowed}}, status=201)

    async def _watch(self, request: web.Request, plural: str) -> web.StreamResponse:
        queue: asyncio.Queue[tuple[str, Thing]] = asyncio.Queue()
        since = int(request.query["resourceVersion"])
        for thing in self._things[plural].values():
            if int(thing["metadata"]["resourceVersion"]) > since:
                queue.put_nowait(("ADDED", thing))
        self._watchers.append((plural, queue))
        answer = web.StreamResponse()
        await answer.prepare(request)
        with suppress(ConnectionError, asyncio.CancelledError):
            while True:
                type_, thing = await queue.get()
                if type_ == "END":
                    break
                await answer.write(json.dumps({"type": type_, "object": thing}).encode() + b"\n")
        return answer


def parsed(path: str) -> tuple[str, str, str]:
    """The kind, the object's key and the part of it that a path is about."""
    steps = path.strip("/").split("/")
    rest = steps[2:] if steps[0] == "api" else steps[3:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    plural, name, part = [*rest, "", ""][:3]
    return plural, "/".join(filter(None, (namespace, name))) if name else "", part


def as_thing(manifest: Manifest) -> Thing:
    thing: Thing = json.loads(TIMES.encode(manifest))
    return {**without_nothing(thing), "plural": RESOURCES[type(manifest)].plural}


def without_nothing(thing: Thing) -> Thing:
    return dict(_said(thing))


def _said(thing: Thing) -> Iterator[tuple[str, Any]]:
    for key, value in thing.items():
        if value is not None:
            yield key, without_nothing(value) if isinstance(value, dict) else value


def key_of(thing: Thing) -> str:
    meta = thing["metadata"]
    return "/".join(filter(None, (meta.get("namespace", ""), meta["name"])))


def refusal(status: int, reason: str) -> web.Response:
    return web.json_response({"reason": reason, "message": reason, "code": status}, status=status)
