"""Client: one request to the API server, its answer, or the reason why there is none.

A refusal is an answer: it says what the server thinks (`Refused`). No answer at all (`Unreachable`) leaves
open whether the server did what was asked. A call has one deadline, from connecting to the last byte, and its
answer a largest size; redirects are not followed, least of all with credentials.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType

import aiohttp
import msgspec

from hekla import __version__
from hekla.cluster.kubernetes.api.access import Access, Rate
from hekla.cluster.kubernetes.api.versions import VersionWatermark
from hekla.errors import ClusterError
from hekla.objects.complaint import printable

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
JSON = "application/json"
CONNECTIONS = 96
LONGEST_REFUSAL = 64 * 1024
LARGEST_ANSWER = 256 * 1024 * 1024
"""In bytes, unpacked: far more than a page of a list, or an event, ever has."""
LONGEST_WAIT = 30.0
"""Who wants to be asked again later than that is asked sooner."""
_TRANSPORT_ERRORS = (aiohttp.ClientError, asyncio.TimeoutError, OSError)


DISRUPTION_BUDGET = "DisruptionBudget"
NAMESPACE_TERMINATING = "NamespaceTerminating"
"""Causes, as refusals name them."""
_LACKS_PERMISSION = re.compile(r'[^ ]+(?: "[^"]*")? is forbidden: User ".*" cannot ')
"""How the API server words a lack of permission; admission words its refusals otherwise."""


class StatusCause(msgspec.Struct):
    reason: str = ""


class StatusDetails(msgspec.Struct, rename="camel"):
    retry_after_seconds: int = 0
    causes: list[StatusCause] = []


class StatusAnswer(msgspec.Struct, rename="camel"):
    """How the API server words a refusal."""

    reason: str = ""
    message: str = ""
    code: int = 0
    details: StatusDetails | None = None


class Refused(ClusterError):
    """The API server answered, and the answer is no."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        retry_after: float = 0.0,
        causes: Collection[str] = (),
    ) -> None:
        super().__init__(message or reason or f"HTTP {status}")
        self.status = status
        self.reason = reason
        self.retry_after = retry_after
        self.causes = causes

    @property
    def is_expired(self) -> bool:
        """What was asked to go on from is too old: list anew."""
        return self.status == 410 or self.reason in ("Expired", "Gone")

    @property
    def is_busy(self) -> bool:
        """The server did nothing, and wants to be asked again later."""
        if self.status == 429:
            return DISRUPTION_BUDGET not in self.causes
        return self.status in (503, 504) and self.retry_after > 0

    @property
    def leaves_doubt(self) -> bool:
        """Something broke on the server's side: it may have done what was asked."""
        return self.status >= 500 and not self.is_busy

    @property
    def is_forbidden(self) -> bool:
        return self.status in (401, 403)

    @property
    def lacks_permission(self) -> bool:
        """A role or a valid token is missing. Admission forbids as well, but one object at a time."""
        return self.status == 401 or (self.status == 403 and bool(_LACKS_PERMISSION.match(str(self))))

    @property
    def is_namespace_ending(self) -> bool:
        """Nothing new is taken in a namespace that is being deleted."""
        return NAMESPACE_TERMINATING in self.causes


class Unreachable(ClusterError):
    """There was no answer; whether the server did anything is not known."""

    @property
    def is_down(self) -> bool:
        """Nothing listens at its address: the server has ended, and may come back with another state."""
        return isinstance(self.__cause__, aiohttp.ClientConnectorError)


class Client:
    """Speaks to one API server; use it as `async with`."""

    def __init__(
        self,
        access: Access,
        *,
        rate: Rate | None = None,
        timeout: float = 30.0,
        agent: str = "hekla",
        largest_answer: int = LARGEST_ANSWER,
        watermark: VersionWatermark | None = None,
    ) -> None:
        self.watermark = watermark or VersionWatermark()
        self._access = access
        self._rate = rate or Rate()
        self._seconds = timeout
        self._largest_answer = largest_answer
        self._timeout = aiohttp.ClientTimeout(total=timeout, sock_connect=10)
        self._agent = f"{agent}/{__version__}"
        self._session: aiohttp.ClientSession | None = None
        self._asking: asyncio.Task[dict[str, str]] | None = None

    async def __aenter__(self) -> Client:
        connector = aiohttp.TCPConnector(limit=CONNECTIONS, ssl=self._access.tls() or False)
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=self._timeout,
            headers={"User-Agent": self._agent, "Accept": JSON},
            auto_decompress=True,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    @property
    def server(self) -> str:
        return self._access.server

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        return await self.call("GET", path, params=params)

    async def post(self, path: str, body: object) -> bytes:
        return await self.call("POST", path, body=body)

    async def put(self, path: str, body: object) -> bytes:
        return await self.call("PUT", path, body=body)

    async def patch(self, path: str, body: object, content_type: str = MERGE_PATCH) -> bytes:
        return await self.call("PATCH", path, body=body, content_type=content_type)

    async def delete(self, path: str) -> bytes:
        return await self.call("DELETE", path)

    async def call(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        params: Mapping[str, str] | None = None,
        content_type: str = JSON,
    ) -> bytes:
        """The body of the answer. A stale token is read again, once."""
        await self._rate.turn()
        data = None if body is None else msgspec.json.encode(body)
        try:
            async with asyncio.timeout(self._seconds):
                content = await self._answer(method, path, params, data, content_type)
                if isinstance(content, Refused) and content.status == 401:
                    await self._ask(again=True)
                    content = await self._answer(method, path, params, data, content_type)
        except _TRANSPORT_ERRORS as error:
            raise Unreachable(f"no answer from {self.server}: {_said(error)}") from error
        if isinstance(content, Refused):
            raise content
        if method == "PUT":
            self.watermark.wrote(path, content)
        return content

    async def _answer(
        self, method: str, path: str, params: Mapping[str, str] | None, data: bytes | None, content_type: str
    ) -> bytes | Refused:
        async with self._request(method, path, params, data, content_type=content_type) as answer:
            if answer.status >= 300:
                return await _refusal_of(answer)
            pieces, size = [], 0
            async for piece in answer.content.iter_any():
                pieces.append(piece)
                size += len(piece)
                self._check_size(size)
            return b"".join(pieces)

    def _check_size(self, size: int) -> None:
        if size > self._largest_answer:
            raise Unreachable(f"{self.server} answered more than {self._largest_answer // 2**20} MB")

    async def lines(self, path: str, params: Mapping[str, str], timeout: float) -> AsyncIterator[bytes]:
        """The lines of an answer that goes on for so long at most; ends when the server ends it.

        The first one is empty: the server has answered, in the time that every call has, though it may have
        nothing to say yet.
        """
        rest = b""
        patience = aiohttp.ClientTimeout(total=timeout, sock_connect=10)
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(self._seconds):
                    answer = await stack.enter_async_context(
                        self._request("GET", path, params, timeout=patience)
                    )
                    if answer.status >= 300:
                        raise await _refusal_of(answer)
                yield b""
                async for chunk in answer.content.iter_any():
                    *complete, rest = (rest + chunk).split(b"\n")
                    self._check_size(len(rest))
                    for line in complete:
                        yield line
        except _TRANSPORT_ERRORS as error:
            raise Unreachable(f"no answer from {self.server}: {_said(error)}") from error

    async def _headers(self) -> dict[str, str]:
        """Who we are. Files and plugins are asked outside the event loop, by one caller for all."""
        known = self._access.headers
        return dict(await self._ask() if known is None else known)

    async def _ask(self, *, again: bool = False) -> dict[str, str]:
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(asyncio.to_thread(self._found, again))
        try:
            return await asyncio.shield(self._asking)
        except Exception as error:  # files, plugins and their parsers fail in many ways
            raise Unreachable(f"no credentials for {self.server}: {_said(error)}") from error

    def _found(self, again: bool) -> dict[str, str]:
        if again:
            self._access.reload()
        return self._access.ask()

    @asynccontextmanager
    async def _request(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None,
        data: bytes | None = None,
        *,
        content_type: str = JSON,
        timeout: aiohttp.ClientTimeout | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        assert self._session is not None, "the client is used outside its `async with`"
        headers = await self._headers()
        if data is not None:
            headers["Content-Type"] = content_type
        async with self._session.request(
            method,
            self._access.server + path,
            data=data,
            params=params,
            headers=headers,
            proxy=self._access.proxy,
            server_hostname=self._access.server_name,
            timeout=timeout or self._timeout,
            allow_redirects=False,
        ) as answer:
            yield answer


async def _refusal_of(answer: aiohttp.ClientResponse) -> Refused:
    if answer.status < 400:
        where = printable(answer.headers.get("Location", "nowhere"))
        return Refused(answer.status, "", f"the server sends the caller on to {where}, which is not followed")
    body = await answer.content.read(LONGEST_REFUSAL)
    try:
        said = msgspec.json.decode(body, type=StatusAnswer)
    except msgspec.MsgspecError:
        said = StatusAnswer(message=body[:200].decode("utf-8", "replace").strip())
    header = answer.headers.get("Retry-After", "")
    wait = float(header) if header.isdecimal() else 0.0
    details = said.details or StatusDetails()
    wait = min(max(wait, float(details.retry_after_seconds)), LONGEST_WAIT)
    causes = [cause.reason for cause in details.causes]
    return Refused(answer.status, said.reason, said.message or str(answer.reason or ""), wait, causes)


def _said(error: BaseException) -> str:
    """Time-outs come without words."""
    return str(error) or (
        "it took too long" if isinstance(error, asyncio.TimeoutError) else type(error).__name__
    )
