"""Exchange: one request over HTTP and the whole answer to it, within one deadline.

Looking the name up, connecting, TLS, sending, headers and body share the time: a peer that trickles byte by
byte gets no more of it than one that is silent. The answer has a largest size and must be complete. Redirects
are not followed: what is sent is meant for one address. Compressed answers are not asked for, and not taken.
"""

from __future__ import annotations

import io
import queue
import socket
import ssl
import threading
from collections.abc import Mapping
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    BaseHandler,
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from hekla.clock import stopwatch
from hekla.errors import HeklaError

LARGEST_ANSWER = 10 * 1024 * 1024
PIECE = 64 * 1024


class ExchangeFailed(HeklaError):
    """There is no answer that could be used; the text goes on after the name of the peer."""


def exchange(
    url: str,
    timeout: float,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    trust: ssl.SSLContext | None = None,
    by_proxy: bool = False,
) -> bytes:
    """The answer to a POST of the body, or to a GET without one; `by_proxy` heeds the usual variables."""
    deadline = Deadline(timeout)
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ExchangeFailed("is no address over HTTP")
        if parts.scheme == "https" and trust is None:
            trust = ssl.create_default_context()
        request = Request(url, body, dict(headers or {}))  # noqa: S310 - http or https
        with _opener(deadline, trust, by_proxy=by_proxy).open(request) as response:
            return _whole(response, deadline)
    except HTTPError as error:
        with error:
            raise ExchangeFailed(f"answered {error.code} {error.reason}") from error
    except (OSError, HTTPException, ValueError) as error:
        problem = error.reason if isinstance(error, URLError) else error
        if isinstance(problem, TimeoutError):
            raise ExchangeFailed(f"gave no answer within {timeout:g} s") from error
        raise ExchangeFailed(f"cannot be reached: {problem or type(problem).__name__}") from error


def _whole(response: HTTPResponse, deadline: Deadline) -> bytes:
    """The body, if it is all there, plain and not too large."""
    if response.status != 200:
        raise ExchangeFailed(f"answered {response.status} {response.reason}")
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise ExchangeFailed("answered in a compressed form, which was not asked for")
    answer = bytearray()
    while piece := response.read1(PIECE):
        answer += piece
        if len(answer) > LARGEST_ANSWER:
            raise ExchangeFailed(f"answered more than {LARGEST_ANSWER // 2**20} MB")
        deadline.left()
    if response.length:
        raise ExchangeFailed(f"ended its answer {response.length} bytes too early")
    return bytes(answer)


class Deadline:
    """The moment at which everything has to be over."""

    def __init__(self, seconds: float) -> None:
        self._end = stopwatch() + seconds

    def left(self) -> float:
        """Seconds; raises TimeoutError where there are none."""
        left = self._end - stopwatch()
        if left <= 0:
            raise TimeoutError
        return left


class _Wire:
    """A socket that gives up at the deadline, whatever it does; it closes once its readers have closed."""

    def __init__(self, raw: socket.socket, deadline: Deadline) -> None:
        self.raw = raw
        self.deadline = deadline
        self._readers = 0
        self._is_closed = False

    def sendall(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            self.raw.settimeout(self.deadline.left())
            rest = rest[self.raw.send(rest) :]

    def receive_into(self, buffer: Any) -> int:
        self.raw.settimeout(self.deadline.left())
        return self.raw.recv_into(buffer)

    def makefile(self, _mode: str) -> io.BufferedReader:
        self._readers += 1
        return io.BufferedReader(_SocketReader(self))

    def reader_closed(self) -> None:
        self._readers -= 1
        if self._is_closed and not self._readers:
            self.raw.close()

    def close(self) -> None:
        self._is_closed = True
        if not self._readers:
            self.raw.close()


class _SocketReader(io.RawIOBase):
    def __init__(self, wire: _Wire) -> None:
        self._wire = wire

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._wire.receive_into(buffer)

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._wire.reader_closed()


class _Connection(HTTPConnection):
    """A connection all of which ends at the deadline; secured where it is told whom to trust."""

    def __init__(
        self, host: str, *, deadline: Deadline, trust: ssl.SSLContext | None = None, **_: object
    ) -> None:
        self.default_port = 80 if trust is None else 443
        super().__init__(host)
        self._deadline = deadline
        self._trust = trust

    def connect(self) -> None:
        wire: Any = _Wire(_connected(self.host, self.port, self._deadline), self._deadline)
        self.sock = wire
        tunnel: str | None = getattr(self, "_tunnel_host", None)
        if tunnel:
            self._tunnel()  # type: ignore[attr-defined]
        if self._trust is not None:
            secured: Any = _secured(wire, self._trust, tunnel or self.host)
            self.sock = secured


def _secured(wire: _Wire, trust: ssl.SSLContext, name: str) -> _Wire:
    raw = trust.wrap_socket(wire.raw, server_hostname=name, do_handshake_on_connect=False)
    try:
        raw.settimeout(wire.deadline.left())
        raw.do_handshake()
    except BaseException:
        raw.close()
        raise
    return _Wire(raw, wire.deadline)


def _connected(host: str, port: int, deadline: Deadline) -> socket.socket:
    """A socket to the first of the host's addresses that takes the connection."""
    problem: OSError = OSError(f'"{host}" has no address')
    for family, kind, protocol, _, place in _addresses(host, port, deadline):
        raw = socket.socket(family, kind, protocol)
        try:
            raw.settimeout(deadline.left())
            raw.connect(place)
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            raw.close()
            problem = error
        else:
            return raw
    raise problem


def _addresses(host: str, port: int, deadline: Deadline) -> list[Any]:
    """Where the host is; the system's lookup knows no time limit, so that it is left to a thread."""
    found: queue.SimpleQueue[list[Any] | Exception] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            found.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            found.put(error)

    threading.Thread(target=look_up, daemon=True).start()
    try:
        answer = found.get(timeout=deadline.left())
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(answer, Exception):
        raise answer
    return answer


class _Plain(HTTPHandler):
    def __init__(self, deadline: Deadline) -> None:
        super().__init__()
        self._make: Any = partial(_Connection, deadline=deadline)

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(self._make, req)


class _Secure(HTTPSHandler):
    def __init__(self, deadline: Deadline, trust: ssl.SSLContext) -> None:
        super().__init__()
        self._make: Any = partial(_Connection, deadline=deadline, trust=trust)

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(self._make, req)


def _opener(deadline: Deadline, trust: ssl.SSLContext | None, *, by_proxy: bool) -> OpenerDirector:
    """Speaks HTTP and HTTPS alone, and follows no redirects."""
    opener = OpenerDirector()
    handlers: list[BaseHandler] = [ProxyHandler()] if by_proxy else []
    handlers += [_Plain(deadline), *([_Secure(deadline, trust)] if trust is not None else [])]
    for handler in (*handlers, HTTPErrorProcessor(), HTTPDefaultErrorHandler()):
        opener.add_handler(handler)
    return opener
