"""Extender transport: one POST with JSON to a service, bounded in time and size."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.parse import urlsplit

from hekla.clock import stopwatch
from hekla.errors import HeklaError

LARGEST_ANSWER = 10 * 1024 * 1024
PIECE = 64 * 1024
JSON_HEADERS = {"Content-Type": "application/json"}


class CallFailed(HeklaError):
    """The service could not be reached, or did not answer as agreed."""


Transport = Callable[[str, bytes, float], bytes]
"""Posts a body to a URL within so many seconds and gives back the answer; raises CallFailed."""


def post(url: str, body: bytes, timeout: float) -> bytes:
    """Only status 200 is an answer; redirects are not followed."""
    deadline = stopwatch() + timeout
    try:
        with closing(_connection(url, timeout)) as connection:
            connection.request("POST", _target(url), body, JSON_HEADERS)
            response = connection.getresponse()
            if response.status != 200:
                raise CallFailed(f"{url} answered with status {response.status}")
            return _read(response, url, deadline)
    except (OSError, HTTPException, ValueError) as error:
        raise CallFailed(f"{url} cannot be asked: {type(error).__name__}: {error}") from error


def _connection(url: str, timeout: float) -> HTTPConnection:
    parts = urlsplit(url)
    kinds: dict[str, type[HTTPConnection]] = {"http": HTTPConnection, "https": HTTPSConnection}
    kind = kinds.get(parts.scheme)
    if kind is None or not parts.hostname:
        raise CallFailed(f'"{url}" is no address of a service; write it like "http://127.0.0.1:8713"')
    return kind(parts.hostname, parts.port, timeout=timeout)


def _target(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"


def _read(response: HTTPResponse, url: str, deadline: float) -> bytes:
    """The whole answer; a service that trickles is not waited for longer than one that is silent."""
    answer = bytearray()
    while piece := response.read1(PIECE):
        answer += piece
        if len(answer) > LARGEST_ANSWER:
            raise CallFailed(f"{url} answered with more than {LARGEST_ANSWER} bytes")
        if stopwatch() > deadline:
            raise CallFailed(f"{url} did not finish its answer in time")
    return bytes(answer)
