"""Prometheus as a source of load, played by a tiny server on this machine."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest

from hekla.engine.model.node import node_of
from hekla.errors import InputError
from hekla.exchange import LARGEST_ANSWER
from hekla.objects.complaint import Complaint
from hekla.scheduler.load import NodeLoad, read_load
from hekla.scheduler.load.prometheus import CPU_QUERY, MEMORY_QUERY, Prometheus, node_named_in
from hekla.testing import node

NOW = 1000.0
NODES = [node_of(node(name)) for name in ("n1", "n2", "n3")]

Reply = Callable[["Handler", str], None]


class Handler(BaseHTTPRequestHandler):
    reply: ClassVar[Reply]
    asked: ClassVar[list[str]]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        type(self).reply(self, parse_qs(urlsplit(self.path).query).get("query", [""])[0])

    def answer(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class names it
        pass


class Stand:
    """A server that answers as a test says."""

    def __init__(self) -> None:
        self.handler = type("OneHandler", (Handler,), {"asked": []})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self.is_closing = threading.Event()

    def answers(self, reply: Reply) -> Prometheus:
        self.handler.reply = staticmethod(reply)  # type: ignore[assignment]
        return Prometheus(self.address, timeout=5.0)

    def close(self) -> None:
        self.is_closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5.0)


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stand]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = Stand()
    yield server
    server.close()


def vector(*rows: tuple[dict[str, str], str]) -> bytes:
    result = [{"metric": labels, "value": [NOW, figure]} for labels, figure in rows]
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}).encode()


def figures(handler: Handler, query: str) -> None:
    cpu = [({"node": "n1"}, "12.5"), ({"instance": "n2:9100"}, "50"), ({"instance": "n3"}, "NaN")]
    memory = [({"instance": "n1"}, "40"), ({"instance": "n2:9100"}, "60"), ({"instance": "n3"}, "1")]
    handler.answer(vector(*{CPU_QUERY: cpu, MEMORY_QUERY: memory}[query], ({"instance": "db:9100"}, "99")))


def test_two_queries_tell_the_load_of_the_nodes_that_are_known(stand: Stand) -> None:
    load = stand.answers(figures).load({"n1", "n2", "n3"}, NOW)
    assert load == {"n1": NodeLoad(12.5, 40.0, NOW), "n2": NodeLoad(50.0, 60.0, NOW)}
    assert [urlsplit(path).path for path in stand.handler.asked] == ["/api/v1/query"] * 2


def test_the_configuration_says_where_and_what_to_ask(stand: Stand) -> None:
    queries = []

    def reply(handler: Handler, query: str) -> None:
        queries.append(query)
        handler.answer(vector(({"node": "n1"}, "7")))

    stand.answers(reply)
    settings = {"type": "prometheus", "address": f"{stand.address}/", "query.cpu": "c", "query.memory": "m"}
    assert read_load(settings, NODES, NOW) == {"n1": NodeLoad(7.0, 7.0, NOW)}
    assert queries == ["c", "m"]


def test_an_answer_about_other_machines_is_told(stand: Stand) -> None:
    stand.answers(lambda handler, _: handler.answer(vector(({"instance": "db:9100"}, "5"))))
    complaints: list[Complaint] = []
    settings = {"type": "prometheus", "address": stand.address}
    assert read_load(settings, NODES, NOW, complaints) == {}
    assert "knows the load of no node" in str(complaints[0])


def refused(error: str) -> bytes:
    return json.dumps({"status": "error", "error": error}).encode()


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (lambda handler, _: handler.answer(b"no", 503), "answered 503 Service Unavailable"),
        (lambda handler, _: handler.answer(b"", 302, Location="/elsewhere"), "answered 302 Found"),
        (lambda handler, _: handler.answer(b"<html>"), "not an answer of Prometheus"),
        (lambda handler, _: handler.answer(b'{"status": "success"}'), "refused the query: success"),
        (lambda handler, _: handler.answer(refused("bad\x1b[31m")), "refused the query: bad\\x1b[31m"),
        (lambda handler, _: handler.answer(b"x" * (LARGEST_ANSWER + 1)), "answered more than 10 MB"),
        (lambda handler, _: handler.wfile.write(b"gibberish\r\n\r\n"), "cannot be reached"),
    ],
    ids=[
        "an error of the server",
        "a redirection, which is not followed",
        "no JSON",
        "an answer without data",
        "a query it does not understand, told in printable letters",
        "an answer without end",
        "no HTTP",
    ],
)
def test_what_goes_wrong_is_told(stand: Stand, reply: Reply, said: str) -> None:
    with pytest.raises(InputError) as caught:
        stand.answers(reply).ask("up")
    assert str(caught.value).startswith(stand.address)
    assert said in str(caught.value)


def test_a_redirection_is_not_followed(stand: Stand) -> None:
    with pytest.raises(InputError):
        stand.answers(lambda handler, _: handler.answer(b"", 302, Location="/elsewhere")).ask("up")
    assert len(stand.handler.asked) == 1


def test_silence_ends_with_the_timeout(stand: Stand) -> None:
    stand.answers(lambda handler, _: stand.is_closing.wait(5.0) and None)
    with pytest.raises(InputError, match=r"gave no answer within 0\.1 s"):
        Prometheus(stand.address, timeout=0.1).ask("up")
    stand.is_closing.set()


def test_an_answer_that_trickles_ends_with_the_timeout_too(stand: Stand) -> None:
    def trickle(handler: Handler, _: str) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not stand.is_closing.wait(0.02):
            try:
                handler.wfile.write(b" ")
            except OSError:
                return

    stand.answers(trickle)
    with pytest.raises(InputError, match=r"gave no answer within 0\.2 s"):
        Prometheus(stand.address, timeout=0.2).ask("up")


def test_nobody_there_is_told(stand: Stand) -> None:
    stand.close()
    with pytest.raises(InputError, match=r"cannot be reached: .*refused"):
        Prometheus(stand.address).ask("up")


def test_certificates_and_names_are_always_checked() -> None:
    trust = Prometheus("https://n1")._trust()
    assert (trust.verify_mode, trust.check_hostname) == (ssl.CERT_REQUIRED, True)


def test_a_file_of_certificates_that_is_not_there_is_told(stand: Stand) -> None:
    with pytest.raises(InputError, match=r"metrics\.tls\.ca: nowhere\.pem"):
        Prometheus(stand.address, ca_file="nowhere.pem").ask("up")


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        ({"node": "n1", "instance": "10.0.0.1:9100"}, "n1"),
        ({"instance": "n1:9100"}, "n1"),
        ({"instance": "n1"}, "n1"),
        ({"node": "other", "instance": "n1"}, "n1"),
        ({"instance": "10.0.0.1:9100"}, None),
        ({}, None),
    ],
)
def test_how_a_node_is_recognised(labels: dict[str, str], name: str | None) -> None:
    assert node_named_in(labels, {"n1"}) == name
