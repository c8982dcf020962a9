"""Workers: trials in several processes. What comes out does not depend on how many there are."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from ctypes import c_double
from multiprocessing import get_context
from typing import Any

from hekla.errors import HeklaError, InputError
from hekla.framework.registry import load_class
from hekla.insight.compare.trials import Result, Setup, Trial, play
from hekla.processes import is_told_to_stop, process_pool
from hekla.sim.simulate import Progress

POLL_SECONDS = 0.1
UNKNOWN = -1.0

OnProgress = Callable[[int, Progress], None]
"""The number of the trial, and how far it has come."""
Board = Any
"""Shared numbers: first whether to stop, then five for every trial; ctypes has no type for it."""
_FIELDS = 5


def in_turn(
    setup: Setup, trials: Sequence[Trial], on_progress: OnProgress, is_stopped: Callable[[], bool]
) -> Iterator[Result]:
    """One trial after the other, here."""
    for number, trial in enumerate(trials):
        result = play(setup, trial, lambda progress, at=number: on_progress(at, progress), is_stopped)  # type: ignore[misc]
        if result is None:
            return
        yield result


def in_processes(
    setup: Setup,
    trials: Sequence[Trial],
    on_progress: OnProgress,
    is_stopped: Callable[[], bool],
    *,
    processes: int,
    plugins: Sequence[str] = (),
) -> Iterator[Result]:
    """As they end; once stopped, those that had ended. The first error ends all of them."""
    board = get_context("spawn").RawArray(c_double, 1 + _FIELDS * len(trials))
    given = (board, _packed(setup), tuple(plugins))
    try:
        with process_pool(min(processes, len(trials)), _begin, *given) as pool:
            pending = {pool.submit(_play, number, trial) for number, trial in enumerate(trials)}
            yield from _collected(pending, board, on_progress, is_stopped)
    except BrokenProcessPool as error:
        raise HeklaError(
            "a process that simulated ended at once, killed or out of memory; try with fewer at a time"
        ) from error


def _collected(
    pending: set[Future[Result | None]],
    board: Board,
    on_progress: OnProgress,
    is_stopped: Callable[[], bool],
) -> Iterator[Result]:
    while pending:
        done = wait(pending, POLL_SECONDS, FIRST_COMPLETED).done
        pending -= done  # nobody else holds them: large results are gone as soon as they are used
        _tell(board, on_progress)
        for future in done:
            result = None if future.cancelled() else future.result()
            if result is not None:
                yield result
        if is_stopped() and not board[0]:
            board[0] = 1.0
            for future in pending:
                future.cancel()


def _packed(setup: Setup) -> bytes:
    try:
        return pickle.dumps(setup)
    except Exception as error:  # pickle raises whatever the object that cannot be packed raises
        raise InputError(
            f"what is compared cannot be sent to another process: {error}; use one process"
        ) from error


def _tell(board: Board, on_progress: OnProgress) -> None:
    for number in range(len(board) // _FIELDS):
        now, submitted, finished, known, cycles = board[1 + number * _FIELDS : 1 + (number + 1) * _FIELDS]
        if cycles:
            total = None if known == UNKNOWN else int(known)
            on_progress(number, Progress(now, int(submitted), int(finished), total, int(cycles)))


_given: tuple[Board, bytes, Sequence[str]] | None = None
_setup: Setup | None = None


def _begin(board: Board, packed: bytes, plugins: Sequence[str]) -> None:
    """The first that a worker does. The setup is unpacked in the first trial: errors come back from there."""
    global _given  # noqa: PLW0603 - the one thing that a process is given
    _given = board, packed, plugins


def _play(number: int, trial: Trial) -> Result | None:
    assert _given is not None
    board = _given[0]

    def show(progress: Progress) -> None:
        known = UNKNOWN if progress.count is None else progress.count
        told = (progress.now, progress.submitted, progress.finished, known, progress.cycles)
        board[1 + number * _FIELDS : 1 + (number + 1) * _FIELDS] = told

    return play(_opened(), trial, show, lambda: bool(board[0]) or is_told_to_stop())


def _opened() -> Setup:
    global _setup  # noqa: PLW0603 - opened once per process
    if _setup is None:
        assert _given is not None
        _, packed, plugins = _given
        for reference in plugins:
            load_class(reference)  # a class from a file is found by its module, once that is loaded
        _setup = pickle.loads(packed)  # noqa: S301 - packed by the process that started this one
    return _setup
