"""A small API server for tests: lists page by page, watches, ConfigMaps and binds, from memory.

It runs in a thread of its own, so that commands can be run as users run them.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
from aiohttp import web

from hekla.kube.resources import RESOURCES
from hekla.objects import Manifest

Object = dict[str, Any]


def as_object(manifest: Manifest) -> Object:
    resource = RESOURCES[type(manifest)]
    data = msgspec.to_builtins(manifest, str_keys=True)
    return {"apiVersion": resource.api_version, "kind": resource.name, **data}


class FakeApiServer:
    """Plurals in `absent` are not defined, those in `forbidden` may not be read."""

    def __init__(self, *manifests: Manifest) -> None:
        self.absent: set[str] = set()
        self.forbidden: set[str] = set()
        self.config_maps: dict[str, dict[str, str]] = {}
        self.requests: list[tuple[str, str]] = []
        self.expire_once = False
        self.page = 10_000
        self._version = 100
        self._objects: dict[str, dict[str, Object]] = {}
        self._watchers: dict[str, list[asyncio.Queue[bytes | None]]] = {}
        self._loop = asyncio.new_event_loop()
        self._runner: web.AppRunner | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        for manifest in manifests:
            self._store(manifest)

    def __enter__(self) -> Self:
        self._thread.start()
        self.port = asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def kubeconfig(self, folder: Path) -> Path:
        file = folder / "kubeconfig"
        named = {"cluster": "fake", "user": "somebody"}
        data = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "fake",
            "clusters": [{"name": "fake", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}],
            "users": [{"name": "somebody", "user": {"token": "t"}}],
            "contexts": [{"name": "fake", "context": named}],
        }
        file.write_text(json.dumps(data))
        return file

    def find(self, plural: str, key: str) -> Object:
        return self._objects[plural][key]

    def put(self, *manifests: Manifest) -> None:
        """Objects are new, or look like this now."""

        async def tell() -> None:
            for manifest in manifests:
                is_new, thing, plural = self._store(manifest)
                self._tell(plural, "ADDED" if is_new else "MODIFIED", thing)

        asyncio.run_coroutine_threadsafe(tell(), self._loop).result(10)

    def _store(self, manifest: Manifest) -> tuple[bool, Object, str]:
        self._version += 1
        plural = RESOURCES[type(manifest)].plural
        thing = as_object(manifest)
        thing["metadata"]["resourceVersion"] = str(self._version)
        thing["metadata"].setdefault("uid", f"uid-{plural}-{manifest.key}")
        known = self._objects.setdefault(plural, {})
        is_new = manifest.key not in known
        known[manifest.key] = thing
        return is_new, thing, plural

    def _tell(self, plural: str, kind: str, thing: Object) -> None:
        for queue in self._watchers.get(plural, ()):
            queue.put_nowait(json.dumps({"type": kind, "object": thing}).encode() + b"\n")

    async def _start(self) -> int:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        return int(self._runner.addresses[0][1])

    async def _stop(self) -> None:
        for queues in self._watchers.values():
            for queue in queues:
                queue.put_nowait(None)
        assert self._runner is not None
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append((request.method, request.path))
        steps = request.path.strip("/").split("/")
        if steps[-2] == "configmaps":
            return self._config_map(steps)
        plural = steps[-1]
        group = "/".join(steps[1 : -1 if "namespaces" not in steps[:-1] else steps.index("namespaces")])
        resource = next((r for r in RESOURCES.values() if (r.plural, r.api_version) == (plural, group)), None)
        if resource is None or plural in self.absent:
            return refusal(404, "NotFound", "the server could not find the requested resource")
        if plural in self.forbidden:
            return refusal(403, "Forbidden", f'{plural} is forbidden: User "somebody" cannot list it')
        if request.query.get("watch"):
            return await self._watch(request, plural)
        if self.expire_once and request.query.get("continue"):
            self.expire_once = False
            return refusal(410, "Expired", "the continue token is too old")
        namespace = steps[steps.index("namespaces") + 1] if "namespaces" in steps[:-1] else ""
        return self._list(plural, namespace, request.query)

    def _list(self, plural: str, namespace: str, query: Any) -> web.Response:
        items = [
            item
            for item in self._objects.get(plural, {}).values()
            if namespace in ("", item["metadata"].get("namespace", ""))
        ]
        start = int(query.get("continue", 0))
        end = start + min(self.page, int(query.get("limit", self.page)))
        meta = {"resourceVersion": str(self._version)}
        if end < len(items):
            meta["continue"] = str(end)
        return web.json_response({"metadata": meta, "items": items[start:end]})

    def _config_map(self, steps: list[str]) -> web.Response:
        data = self.config_maps.get(f"{steps[-3]}/{steps[-1]}")
        if data is None:
            return refusal(404, "NotFound", f'configmaps "{steps[-1]}" not found')
        return web.json_response({"data": data})

    async def _watch(self, request: web.Request, plural: str) -> web.StreamResponse:
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._watchers.setdefault(plural, []).append(queue)
        # What was stored between the list and this watch.
        since = int(request.query.get("resourceVersion", 0))
        for item in self._objects.get(plural, {}).values():
            if int(item["metadata"]["resourceVersion"]) > since:
                queue.put_nowait(json.dumps({"type": "MODIFIED", "object": item}).encode() + b"\n")
        answer = web.StreamResponse()
        await answer.prepare(request)
        try:
            while (line := await queue.get()) is not None:
                await answer.write(line)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._watchers[plural].remove(queue)
        return answer

    @property
    def methods(self) -> set[str]:
        return {method for method, _ in self.requests}


def refusal(status: int, reason: str, message: str) -> web.Response:
    body = {"kind": "Status", "status": "Failure", "reason": reason, "message": message, "code": status}
    return web.json_response(body, status=status)


def manifests_of(*things: Any) -> Iterable[Manifest]:
    """Manifests and jobs of the builders, one after another."""
    for thing in things:
        yield from getattr(thing, "objects", (thing,))
