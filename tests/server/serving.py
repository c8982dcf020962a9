"""A whole server against a small API server, in one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import aiohttp

from fakes.http_api import HttpApi
from hekla.cluster.kubernetes import KubernetesOptions
from hekla.cluster.kubernetes.api.reflector import WatchPatience
from hekla.engine.framework.registry import Registry
from hekla.scheduler.builtin import BUILTIN
from hekla.server.options import ServeOptions
from hekla.server.server import Server

ANY = "127.0.0.1:0"
OPTIONS = ServeOptions(
    cluster=KubernetesOptions(audit_period=0.0, patience=WatchPatience(first_pause=0.01, longest_pause=0.02)),
    metrics_address=ANY,
    health_address=ANY,
    period=0.05,
    shortest_gap=0.01,
    drain_seconds=1.0,
)


@asynccontextmanager
async def serving(
    api: HttpApi,
    registry: Registry = BUILTIN,
    prepare: Callable[[Server], None] | None = None,
    **options: object,
) -> AsyncIterator[Server]:
    """A server that listens; it is told to stop at the end, and must end by itself."""
    server = Server(api.access(), replace(OPTIONS, **options), registry)  # type: ignore[arg-type]
    if prepare is not None:
        prepare(server)
    running = asyncio.create_task(server.run())
    try:
        while not running.done() and not server.endpoints.is_open:
            await asyncio.sleep(0.01)
        if running.done():
            running.result()
        yield server
    finally:
        server.stop()
        async with asyncio.timeout(10):
            await running


async def ask(server: Server, path: str, method: str = "GET", data: bytes | None = None) -> tuple[int, str]:
    """Status and text of the answer."""
    place = server.endpoints.addresses[path.partition("?")[0]] + path[len(path.partition("?")[0]) :]
    async with aiohttp.ClientSession() as session, session.request(method, place, data=data) as answer:
        return answer.status, await answer.text()


async def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


async def ready(server: Server) -> None:
    await until_status(server, "/readyz", 200)


async def until_status(server: Server, path: str, status: int) -> None:
    """Ask until the answer has this status."""
    async with asyncio.timeout(10):
        while (await ask(server, path))[0] != status:
            await asyncio.sleep(0.02)
