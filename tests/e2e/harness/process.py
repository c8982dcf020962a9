"""Server: one child process that can be stopped, killed, paused and started again.

Children get a session of their own, so that Ctrl-C reaches the tests alone and these end them in order;
where the tests themselves are killed, the kernel kills the children (Linux).
"""

from __future__ import annotations

import atexit
import ctypes
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None

# The kernel counts the thread that forked as the parent; this one lives as long as the process.
_NURSERY = ThreadPoolExecutor(max_workers=1, thread_name_prefix="nursery")


class StartFailed(Exception):
    """A server did not become ready; the tail of its log is in the message."""


class Server:
    """A program on fixed ports with fixed data: what is started again is the same server."""

    def __init__(self, name: str, command: Sequence[str], log: Path, is_ready: Callable[[], bool]) -> None:
        self.name = name
        self.log = log
        self._command = list(command)
        self._is_ready = is_ready
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.kill)

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def process_id(self) -> int:
        assert self._process is not None, f"{self.name} was never started"
        return self._process.pid

    @property
    def exit_code(self) -> int:
        assert self._process is not None, f"{self.name} was never started"
        return self._process.wait(10)

    def start(self, timeout: float = 60.0) -> None:
        if self.is_running:
            return
        self._process = _NURSERY.submit(self._spawn).result()
        self.wait_until_ready(timeout)

    def wait_until_ready(self, timeout: float = 60.0) -> None:
        deadline = time.monotonic() + timeout
        while not self._is_ready():
            if not self.is_running:
                raise StartFailed(f"{self.name} ended at once; its log ends so:\n{self.log_tail()}")
            if time.monotonic() > deadline:
                raise StartFailed(f"{self.name} not ready in {timeout:.0f} s; its log:\n{self.log_tail()}")
            time.sleep(0.05)

    def stop(self, timeout: float = 10.0) -> None:
        """Ask it to end, and insist after the timeout."""
        self._end(signal.SIGTERM, timeout)

    def kill(self) -> None:
        """End it without a chance to say goodbye."""
        self._end(signal.SIGKILL, timeout=10.0)

    def restart(self) -> None:
        self.kill()
        self.start()

    def pause(self) -> None:
        """Stop it in its tracks: connections stay open and nobody answers."""
        os.kill(self.process_id, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.process_id, signal.SIGCONT)

    def log_tail(self, lines: int = 25) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def _spawn(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={"GOGC": "400", **os.environ},  # memory is cheaper here than a third of the processor
                start_new_session=True,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - one system call, no lock
            )

    def _end(self, how: signal.Signals, timeout: float) -> None:
        if not self.is_running or self._process is None:
            return
        self._process.send_signal(how)
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def free_port() -> int:
    """A port below the range the kernel gives to outgoing connections.

    From that range a client could be given the port of a server that is just being restarted, or even
    connect to itself.
    """
    for port in random.sample(range(10_000, 32_000), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise StartFailed("no free port on loopback")


def _die_with_parent() -> None:
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
