"""Ctrl-C: commands that it stops tell what there is so far, and say by their exit code that it is not all."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from hekla.cli.output import echo

INTERRUPTED = 130
"""The exit code of a command that was stopped by Ctrl-C, as shells have it."""


@contextmanager
def ending_by_interrupt() -> Iterator[None]:
    """What Ctrl-C stops before there is anything to tell ends in one line, and says by its exit code why."""
    try:
        yield
    except KeyboardInterrupt:
        echo("interrupted", err=True)
        sys.exit(INTERRUPTED)


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed; pressed twice it ends everything at once."""
    is_stopped = False
    before = signal.getsignal(signal.SIGINT)

    def stop(_signal: int, _frame: FrameType | None) -> None:
        nonlocal is_stopped
        is_stopped = True
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, stop)
    try:
        yield lambda: is_stopped
    finally:
        signal.signal(signal.SIGINT, before)
