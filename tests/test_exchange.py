"""A peer that misbehaves gets no more time and no more memory than it was given, by every caller."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Callable

import pytest

from fakes.peer import (
    Behaviour,
    is_silent,
    peer,
    pours,
    reads_nothing,
    says,
    says_hello_slowly,
    trickles,
)
from hekla.engine.plugins.extender.messages import CallFailed, post
from hekla.errors import HeklaError, InputError
from hekla.exchange import ExchangeFailed, exchange
from hekla.scheduler.load.prometheus import Prometheus

OK = b"HTTP/1.1 200 OK\r\n"
TIME = 0.3
TOO_LATE = r"gave no answer within 0\.3 s"
"""What only the deadline says: a peer that is let go on ends otherwise, or not before the test is over."""

Ask = Callable[[str], object]
ASKING: dict[str, tuple[Ask, type[HeklaError]]] = {
    "exchange": (lambda address: exchange(f"http://{address}/", TIME), ExchangeFailed),
    "extender": (lambda address: post(f"http://{address}/", b"{}", TIME), CallFailed),
    "prometheus": (lambda address: Prometheus(f"http://{address}", timeout=TIME).ask("up"), InputError),
}
SLOW: dict[str, Behaviour] = {
    "silence": is_silent,
    "headers that trickle": trickles(b"HTTP/1.1 200 OK\r\nX-Much: aaaa"),
    "a status line that trickles": trickles(b"HTTP/1.1 200 O"),
    "a body that trickles": trickles(OK + b"\r\n "),
    "chunks that trickle": trickles(OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n \r\n1\r\n \r\n0"),
    "continuations without end": pours(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
}
WRONG: dict[str, tuple[Behaviour, str]] = {
    "a body without end": (pours(OK + b"\r\n", b" " * 65536), "answered more than 10 MB"),
    "headers without end": (pours(OK, b"X-A: a\r\n"), "cannot be reached"),
    "one header without end": (pours(OK + b"X-A: ", b"a" * 65536), "cannot be reached"),
    "a body shorter than its length": (says(OK + b"Content-Length: 10\r\n\r\n{}"), "8 bytes too early"),
    "chunks that are none": (says(OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}"), "cannot be reached"),
    "a chunk that is cut off": (says(OK + b"Transfer-Encoding: chunked\r\n\r\n9\r\n{}"), "cannot be reached"),
    "a chunk without end": (
        pours(OK + b"Transfer-Encoding: chunked\r\n\r\nfffffffff\r\n", b" " * 65536),
        "answered more than 10 MB",
    ),
    "a compressed answer": (
        says(OK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b" " * 10**6)),
        "in a compressed form",
    ),
    "a redirect to another host": (
        says(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"),
        "answered 302 Found",
    ),
    "a redirect to another scheme": (
        says(b"HTTP/1.1 307 Temporary Redirect\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n"),
        "answered 307 Temporary Redirect",
    ),
}


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.mark.parametrize("who", ASKING)
@pytest.mark.parametrize("behaviour", SLOW)
def test_the_deadline_is_one_over_everything(who: str, behaviour: str) -> None:
    ask, error = ASKING[who]
    with peer(SLOW[behaviour]) as address, pytest.raises(error, match=TOO_LATE):
        ask(address)


@pytest.mark.parametrize("who", ASKING)
@pytest.mark.parametrize("behaviour", WRONG)
def test_an_answer_that_is_none_is_told(who: str, behaviour: str) -> None:
    (ask, error), (behave, said) = ASKING[who], WRONG[behaviour]
    with peer(behave) as address, pytest.raises(error, match=said):
        ask(address)


@pytest.mark.parametrize("behave", [is_silent, says_hello_slowly], ids=["silence", "a hello that trickles"])
@pytest.mark.parametrize("scheme", ["https"])
def test_tls_has_no_time_of_its_own(behave: Behaviour, scheme: str) -> None:
    with peer(behave) as address, pytest.raises(ExchangeFailed, match=TOO_LATE):
        exchange(f"{scheme}://{address}/", TIME)


def test_sending_has_none_either() -> None:
    with peer(reads_nothing) as address, pytest.raises(ExchangeFailed, match=TOO_LATE):
        exchange(f"http://{address}/", TIME, body=b" " * 50_000_000)


def test_nor_has_looking_the_name_up(monkeypatch: pytest.MonkeyPatch) -> None:
    is_over = threading.Event()

    def slow(*_args: object, **_more: object) -> list[object]:
        is_over.wait(5)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    with pytest.raises(ExchangeFailed, match=TOO_LATE):
        exchange("http://somewhere.example/", TIME)
    is_over.set()


def test_a_proxy_is_held_to_the_deadline_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with peer(trickles(b"HTTP/1.1 200 Connection established\r\nX: aaaa")) as address:
        for name in ("http_proxy", "https_proxy"):
            monkeypatch.setenv(name, f"http://{address}")
        for scheme in ("http", "https"):
            with pytest.raises(ExchangeFailed, match=TOO_LATE):
                exchange(f"{scheme}://prometheus.example/", TIME, by_proxy=True)


def test_a_sound_answer_comes_back_whole() -> None:
    answer = says(OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n1\r\n \r\n0\r\n\r\n")
    with peer(answer) as address:
        assert exchange(f"http://{address}/a?b=c", 5.0, body=b"x") == b"{} "
