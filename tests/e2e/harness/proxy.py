"""FaultProxy: stands between a client and the API server, and does harm as told.

It speaks TLS with the API server's own certificate, so that a kubeconfig differs in the port alone, and
passes tokens on. Watches are streamed line by line.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp
import msgspec
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from harness.access import Access, Background
from harness.control_plane import ADMIN, ControlPlane
from harness.faults import (
    CutWatch,
    Delay,
    EndWatch,
    ExpireWatch,
    Fault,
    FreezeWatch,
    LoseAnswer,
    LoseAnswerSilently,
    Matches,
    Refuse,
    Request,
    Reset,
    Rule,
    Silence,
    WatchFault,
    anything,
)
from harness.process import free_port

# These belong to one connection and not to the message.
HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "upgrade", "host", "content-length"}
HALF_A_LINE = b'{"type":"MODIFIED","object":{"kind":"'
EXPIRED = {"type": "ERROR", "object": Refuse(410, message="too old resource version").body}


@dataclass(frozen=True)
class Exchange:
    """A request, and what its client got: a status, or 0 for none."""

    request: Request
    status: int
    fault: str = ""


class FaultProxy:
    """Rules are asked in the order in which they were added; the first that strikes decides."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.port = free_port()
        self.server = f"https://127.0.0.1:{self.port}"
        self.injected: Counter[str] = Counter()
        self.exchanges: list[Exchange] = []
        self.rules: list[Rule] = []
        self._streams: set[Stream] = set()
        self._connections: set[asyncio.Transport] = set()
        self._background: Background | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Listen; after a `stop`, on the same port again."""
        self._background = Background("proxy")
        self._background.run(self._listen())

    def stop(self) -> None:
        """Break all connections and refuse new ones, as a network that is down does."""
        if self._background is not None:
            self._background.run(self._hang_up())
            self._background.close()
            self._background = None

    def access(self, user: str = ADMIN) -> Access:
        return self._plane.access(user, self.server)

    def kubeconfig(self, user: str = ADMIN) -> Path:
        return self._plane.kubeconfig(user, self.server)

    def add(
        self,
        matches: Matches,
        fault: Fault,
        *,
        times: int | None = None,
        probability: float = 1.0,
        seed: int = 0,
    ) -> Rule:
        rule = Rule(matches, fault, times, probability, seed)
        self.rules.append(rule)
        return rule

    def calm(self) -> None:
        """No more faults; those under way go on to their end."""
        self.rules = []

    def strike_watches(self, fault: WatchFault, matches: Matches = anything) -> int:
        """Do it now to the watches that are open; how many were struck."""
        assert self._background is not None, "start the proxy first"
        return self._background.run(self._strike_watches(fault, matches))

    def open_watches(self, matches: Matches = anything) -> int:
        return sum(matches(stream.request) for stream in list(self._streams))

    async def _strike_watches(self, fault: WatchFault, matches: Matches) -> int:
        struck = [stream for stream in self._streams if matches(stream.request)]
        for stream in struck:
            self.injected[fault.name] += 1
            stream.strike(fault)
        return len(struck)

    async def _listen(self) -> None:
        self._upstream = aiohttp.ClientSession(
            auto_decompress=False,
            connector=aiohttp.TCPConnector(
                limit=0, ssl=ssl.create_default_context(cafile=self._plane.certificate)
            ),
            timeout=aiohttp.ClientTimeout(total=None),
        )
        identity = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        identity.load_cert_chain(self._plane.certificate, self._plane.private_key)
        self._runner = web.ServerRunner(
            web.Server(self._handle, handler_cancellation=True), shutdown_timeout=0
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=identity).start()

    async def _hang_up(self) -> None:
        for connection in list(self._connections):
            connection.abort()
        await self._runner.cleanup()
        await self._upstream.close()

    async def _handle(self, incoming: web.BaseRequest) -> web.StreamResponse:
        request = Request(incoming.method, incoming.path, _is_watch(incoming))
        assert isinstance(incoming.transport, asyncio.Transport)
        connection = incoming.transport
        self._connections.add(connection)
        try:
            return await self._answer(incoming, request, connection)
        except aiohttp.ClientError:
            connection.abort()  # the API server is away, and so it looks from here
            return web.Response(status=502)
        finally:
            self._connections.discard(connection)

    async def _answer(
        self, incoming: web.BaseRequest, request: Request, connection: asyncio.Transport
    ) -> web.StreamResponse:
        fault = next((rule.fault for rule in self.rules if rule.strikes(request)), None)
        if fault is not None:
            self.injected[fault.name] += 1
        match fault:
            case Refuse():
                return self._noted(request, refusal(fault), fault)
            case Silence():
                self._note(request, 0, fault)
                await asyncio.Event().wait()
            case Reset():
                self._note(request, 0, fault)
                connection.abort()
                return web.Response()
            case Delay(before=True):
                await asyncio.sleep(fault.seconds)
        if request.is_watch:
            return await self._stream(incoming, request, connection, fault)
        answer = await self._forward(incoming)
        match fault:
            case LoseAnswer():
                self._note(request, 0, fault)
                connection.abort()
                return answer
            case LoseAnswerSilently():
                self._note(request, 0, fault)
                await asyncio.Event().wait()
            case Delay(before=False):
                await asyncio.sleep(fault.seconds)
        return self._noted(request, answer, fault)

    async def _forward(self, incoming: web.BaseRequest) -> web.Response:
        body = await incoming.content.read()
        async with self._upstream.request(
            incoming.method, self._address(incoming), data=body or None, headers=_passed_on(incoming.headers)
        ) as answer:
            content = await answer.read()
            return web.Response(status=answer.status, body=content, headers=_passed_on(answer.headers))

    async def _stream(
        self,
        incoming: web.BaseRequest,
        request: Request,
        connection: asyncio.Transport,
        fault: Fault | None,
    ) -> web.StreamResponse:
        headers = _passed_on(incoming.headers)
        headers.popall("Accept-Encoding", None)
        headers["Accept-Encoding"] = "identity"
        async with self._upstream.get(self._address(incoming), headers=headers) as answer:
            if answer.status != 200:
                content = await answer.read()
                refused = web.Response(status=answer.status, body=content, headers=_passed_on(answer.headers))
                return self._noted(request, refused, fault)
            outgoing = web.StreamResponse(headers=_passed_on(answer.headers))
            outgoing.enable_chunked_encoding()
            await outgoing.prepare(incoming)
            self._note(request, 200, fault)
            stream = Stream(request, answer, outgoing, connection)
            self._streams.add(stream)
            try:
                await stream.run(fault if isinstance(fault, WatchFault) else None)
            finally:
                self._streams.discard(stream)
            return outgoing

    def _address(self, incoming: web.BaseRequest) -> URL:
        """The same path and query at the API server, to the letter."""
        return URL(self._plane.server + incoming.raw_path, encoded=True)

    def _noted(self, request: Request, answer: web.Response, fault: Fault | None) -> web.Response:
        self._note(request, answer.status, fault)
        return answer

    def _note(self, request: Request, status: int, fault: Fault | None) -> None:
        self.exchanges.append(Exchange(request, status, fault.name if fault else ""))


class Stream:
    """A watch on its way through, whole lines at a time, until its end or its fault."""

    def __init__(
        self,
        request: Request,
        answer: aiohttp.ClientResponse,
        outgoing: web.StreamResponse,
        connection: asyncio.Transport,
    ) -> None:
        self.request = request
        self._answer = answer
        self._outgoing = outgoing
        self._connection = connection
        self._struck: asyncio.Future[WatchFault] = asyncio.get_running_loop().create_future()

    def strike(self, fault: WatchFault) -> None:
        if not self._struck.done():
            self._struck.set_result(fault)

    async def run(self, fault: WatchFault | None) -> None:
        """Pass lines on; a fault on command interrupts even a watch on which nothing happens."""
        passing = asyncio.create_task(self._pass_lines(fault))
        try:
            either: set[asyncio.Future[Any]] = {passing, self._struck}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if self._struck.done():
                await _cancelled(passing)
                await self._suffer(self._struck.result())
            else:
                await passing
        except ConnectionError:
            return  # the client has gone
        finally:
            await _cancelled(passing)

    async def _pass_lines(self, fault: WatchFault | None) -> None:
        left = fault.after_events if fault else None
        rest = b""
        while left != 0 and (piece := await self._answer.content.readany()):
            *lines, rest = (rest + piece).split(b"\n")
            passed = lines if left is None else lines[:left]
            left = None if left is None else left - len(passed)
            if passed:
                await self._outgoing.write(b"\n".join(passed) + b"\n")
        if fault is not None and left == 0:
            await self._suffer(fault)
        else:
            await self._outgoing.write_eof()

    async def _suffer(self, fault: WatchFault) -> None:
        match fault:
            case CutWatch():
                await self._outgoing.write(HALF_A_LINE)
                self._connection.abort()
            case EndWatch():
                await self._outgoing.write_eof()
            case ExpireWatch():
                await self._outgoing.write(msgspec.json.encode(EXPIRED) + b"\n")
                await self._outgoing.write_eof()
            case FreezeWatch():
                await asyncio.Event().wait()


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def refusal(fault: Refuse) -> web.Response:
    headers = {"Content-Type": "application/json"}
    if fault.retry_after is not None:
        headers["Retry-After"] = str(fault.retry_after)
    return web.Response(status=fault.status, body=msgspec.json.encode(fault.body), headers=headers)


def _is_watch(incoming: web.BaseRequest) -> bool:
    return incoming.query.get("watch", "false") in ("1", "true")


def _passed_on(headers: Mapping[str, str]) -> CIMultiDict[str]:
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in HOP_BY_HOP)
