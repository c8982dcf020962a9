"""Processes: workers that end with the process which started them, however that one ends."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from ctypes import c_bool
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from types import FrameType
from typing import Any

Flag = Any
"""A shared truth value; ctypes has no type for it."""


@contextmanager
def process_pool(count: int, begin: Callable[..., None], *given: object) -> Iterator[ProcessPoolExecutor]:
    """So many workers, each of which first calls `begin`; left, they are told to stop, and waited for.

    SIGTERM leaves it in order as well.
    """
    # Not forked: threads of numerical libraries do not survive that.
    context = get_context("spawn")
    flag = context.RawValue(c_bool, False)
    executor = ProcessPoolExecutor(count, context, _begin, (flag, begin, given))
    with _ending_in_order():
        try:
            with _interrupts_ignored():
                for _ in range(count):
                    executor.submit(
                        is_told_to_stop
                    )  # whatever is handed in while no worker is idle starts one
            yield executor
        finally:
            flag.value = True
            executor.shutdown(cancel_futures=True)


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Processes that start meanwhile never see Ctrl-C: they are told to stop by the one that started them."""
    if not _is_main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """SIGTERM unwinds, where it would have ended the process on the spot and left workers behind."""
    if not _is_main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _unwind)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _unwind(sign: int, _frame: FrameType | None) -> None:
    signal.signal(sign, signal.SIG_IGN)  # once is enough: the way out is not to be cut short
    sys.exit(128 + sign)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


_flag: Flag = None


def _begin(flag: Flag, begin: Callable[..., None], given: tuple[object, ...]) -> None:
    """The first that a worker does."""
    global _flag  # noqa: PLW0603 - the one thing that every worker is given
    _flag = flag
    threading.Thread(target=_end_with_parent, daemon=True).start()
    begin(*given)


def _end_with_parent() -> None:
    """A parent that was killed says nothing: workers would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def is_told_to_stop() -> bool:
    """In a worker: whether its results are no longer waited for."""
    return _flag is not None and bool(_flag.value)
