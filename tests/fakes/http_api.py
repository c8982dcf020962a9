"""A FakeApi over HTTP: in the event loop of the test, or in a thread beside it.

The thread is for commands that are run as users run them.
"""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self

from aiohttp import web

from fakes.api import FakeApi
from hekla.cluster.kubernetes.api.access import Access
from hekla.cluster.kubernetes.api.client import Refused
from hekla.objects import Manifest


class Settings:
    """What the official client's loader would have found out."""

    proxy = username = tls_server_name = ssl_ca_cert = None

    def __init__(self, host: str) -> None:
        self.host = host

    def get_api_key_with_prefix(self, *_: object, **__: object) -> str:
        return "Bearer somebody"


class HttpApi(FakeApi):
    """`async with HttpApi() as api`; objects are put in and taken out at any time."""

    port = 0

    async def __aenter__(self) -> Self:
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._respond)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = int(self._runner.addresses[0][1])
        return self

    async def __aexit__(self, *_: object) -> None:
        self.end_watches()
        await self._runner.cleanup()

    @property
    def server(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def access(self) -> Access:
        return Access(lambda: Settings(self.server))

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        try:
            if "watch" in request.query:
                return await self._stream(request)
            body = json.loads(await request.read() or b"null")
            return web.json_response(await self.answer(request.method, request.path, body, request.query))
        except Refused as refusal:
            said = {"reason": refusal.reason, "message": str(refusal), "code": refusal.status}
            return web.json_response({"kind": "Status", **said}, status=refusal.status)

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        lines = self.watch(request.path, int(request.query["resourceVersion"]))
        answer = web.StreamResponse()
        await answer.prepare(request)
        with suppress(ConnectionError, asyncio.CancelledError):
            async for line in lines:
                await answer.write(line + b"\n")
        return answer


class ApiThread:
    """`with ApiThread() as server`: an HttpApi that answers while the test waits for a command."""

    def __init__(self, *manifests: Manifest) -> None:
        self.api = HttpApi(*manifests)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self.api.__aenter__(), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self.api.__aexit__(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def put(self, *manifests: Manifest) -> None:
        """Objects are new, or look like this now."""

        async def put() -> None:
            self.api.put(*manifests)

        asyncio.run_coroutine_threadsafe(put(), self._loop).result(10)

    def put_config_map(self, key: str, data: dict[str, str]) -> None:
        namespace, _, name = key.partition("/")
        self.api.put_at(f"/api/v1/namespaces/{namespace}/configmaps/{name}", {"data": data})

    def kubeconfig(self, folder: Path) -> Path:
        file = folder / "kubeconfig"
        data = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "fake",
            "clusters": [{"name": "fake", "cluster": {"server": self.api.server}}],
            "users": [{"name": "somebody", "user": {"token": "t"}}],
            "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "somebody"}}],
        }
        file.write_text(json.dumps(data))
        return file
