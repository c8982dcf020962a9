"""A peer that speaks TCP on this machine and misbehaves as a test says."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Behaviour = Callable[[socket.socket, threading.Event], None]
"""What the peer does with a connection, until it is told that the test is over."""


@contextmanager
def peer(behave: Behaviour) -> Iterator[str]:
    """The address of the peer, which treats every connection alike."""
    listener = socket.create_server(("127.0.0.1", 0))
    is_over = threading.Event()
    threads: list[threading.Thread] = []

    def treat(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            behave(connection, is_over)

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threads.append(threading.Thread(target=treat, args=(connection,), daemon=True))
                threads[-1].start()

    acceptor = threading.Thread(target=accept, daemon=True)
    acceptor.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        is_over.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for thread in (acceptor, *threads):
            thread.join(5)


def end_cleanly(connection: socket.socket) -> None:
    """Closed with something unread, a connection is reset, and what was said last may be lost with it."""
    connection.shutdown(socket.SHUT_WR)
    connection.settimeout(5)
    while connection.recv(1 << 20):
        pass


def heard(connection: socket.socket) -> bytes:
    """The head of a request."""
    head = b""
    while b"\r\n\r\n" not in head and (piece := connection.recv(4096)):
        head += piece
    return head


def trickles(text: bytes, *, pause: float = 0.02) -> Behaviour:
    """Byte by byte, and when the text is over, its last byte again and again, a thousand times."""

    def behave(connection: socket.socket, is_over: threading.Event) -> None:
        heard(connection)
        for at in range(1_000):
            connection.sendall(text[at : at + 1] or text[-1:])
            if is_over.wait(pause):
                return

    return behave


def says(text: bytes) -> Behaviour:
    """All of it, and then the connection is closed."""

    def behave(connection: socket.socket, _is_over: threading.Event) -> None:
        heard(connection)
        connection.sendall(text)
        end_cleanly(connection)

    return behave


def pours(head: bytes, piece: bytes) -> Behaviour:
    """The head, and then the piece without end."""

    def behave(connection: socket.socket, is_over: threading.Event) -> None:
        heard(connection)
        connection.sendall(head)
        while not is_over.is_set():
            connection.sendall(piece)

    return behave


def is_silent(_connection: socket.socket, is_over: threading.Event) -> None:
    """It takes the connection, and that is all: no TLS, no answer."""
    is_over.wait(10)


def reads_nothing(connection: socket.socket, is_over: threading.Event) -> None:
    """A client that sends much has to wait."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    is_over.wait(10)


def says_hello_slowly(connection: socket.socket, is_over: threading.Event) -> None:
    """The beginning of a TLS record, byte by byte."""
    for byte in b"\x16\x03\x03\x40\x00\x02" + b"\x00" * 1_000:
        connection.sendall(bytes([byte]))
        if is_over.wait(0.02):
            return
