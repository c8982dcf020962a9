"""Trials: many simulations with one setup, one after the other or in processes of their own."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from ctypes import c_double
from multiprocessing import get_context
from typing import Any, TypeVar

from hekla.engine.framework.registry import load_class
from hekla.errors import HeklaError, InputError
from hekla.processes import is_told_to_stop, process_pool
from hekla.simulation.simulate import Progress

S = TypeVar("S")
"""The setup that all trials share."""
T = TypeVar("T")
"""A trial."""
R = TypeVar("R")
"""Its result."""

OnProgress = Callable[[int, Progress], None]
"""The number of the trial among those played together, and how far it has come."""
IsStopped = Callable[[], bool]
Play = Callable[[S, T, Callable[[Progress], None], IsStopped], R | None]
"""Plays one trial; a function of a module, which other processes find. No result if it was stopped."""
PlayAll = Callable[[Sequence[T]], Iterator[R]]
"""Results as they end; once stopped, those that had ended."""

POLL_SECONDS = 0.1
UNKNOWN = -1.0
SharedProgress = Any
"""Shared numbers: first whether to stop, then five for every trial; ctypes has no type for it."""
_FIELDS = 5


@contextmanager
def player(
    play: Play[S, T, R],
    setup: S,
    *,
    most: int,
    on_progress: OnProgress,
    is_stopped: IsStopped,
    processes: int = 1,
    plugins: Sequence[str] = (),
) -> Iterator[PlayAll[T, R]]:
    """Plays trials, at most so many in one call; its processes are kept from call to call.

    With several processes all of the setup is sent to them: classes are found by their modules, and `plugins`
    are references (`file.py:Class`) that they load first. The first error ends all trials.
    """
    if processes == 1:
        yield lambda trials: _in_turn(play, setup, trials, on_progress, is_stopped)
        return
    shared = get_context("spawn").RawArray(c_double, 1 + _FIELDS * most)
    given = (shared, _packed(setup), tuple(plugins))
    try:
        with process_pool(min(processes, most), _begin, *given) as pool:
            yield lambda trials: _in_processes(
                pool, shared, play, trials, on_progress=on_progress, is_stopped=is_stopped
            )
    except BrokenProcessPool as error:
        raise HeklaError(
            "a process that simulated ended at once, killed or out of memory; try with fewer at a time"
        ) from error


def _in_turn(
    play: Play[S, T, R], setup: S, trials: Sequence[T], on_progress: OnProgress, is_stopped: IsStopped
) -> Iterator[R]:
    for number, trial in enumerate(trials):
        result = play(setup, trial, lambda progress, at=number: on_progress(at, progress), is_stopped)  # type: ignore[misc]
        if result is None:
            return
        yield result


def _in_processes(
    pool: ProcessPoolExecutor,
    shared: SharedProgress,
    play: Play[S, T, R],
    trials: Sequence[T],
    *,
    on_progress: OnProgress,
    is_stopped: IsStopped,
) -> Iterator[R]:
    shared[1:] = [0.0] * (len(shared) - 1)
    pending: set[Future[R | None]] = {
        pool.submit(_play_there, play, number, trial) for number, trial in enumerate(trials)
    }
    while pending:
        done = wait(pending, POLL_SECONDS, FIRST_COMPLETED).done
        pending -= done  # no other reference is left: large results are freed as soon as they are used
        _tell(shared, on_progress)
        for future in done:
            result = None if future.cancelled() else future.result()
            if result is not None:
                yield result
        if is_stopped() and not shared[0]:
            shared[0] = 1.0
            for future in pending:
                future.cancel()


def _packed(setup: object) -> bytes:
    try:
        return pickle.dumps(setup)
    except Exception as error:  # pickle raises whatever the object that cannot be packed raises
        raise InputError(
            f"what is simulated cannot be sent to another process: {error}; use one process"
        ) from error


def _tell(shared: SharedProgress, on_progress: OnProgress) -> None:
    for number in range(len(shared) // _FIELDS):
        now, submitted, finished, known, cycles = shared[1 + number * _FIELDS : 1 + (number + 1) * _FIELDS]
        if cycles:
            total = None if known == UNKNOWN else int(known)
            on_progress(number, Progress(now, int(submitted), int(finished), total, int(cycles)))


_given: tuple[SharedProgress, bytes, Sequence[str]] | None = None
_setup: object = None


def _begin(shared: SharedProgress, packed: bytes, plugins: Sequence[str]) -> None:
    """The first that a worker does. The setup is unpacked in the first trial: errors come back from there."""
    global _given  # noqa: PLW0603 - the one thing that a process is given
    _given = shared, packed, plugins


def _play_there(play: Play[Any, T, R], number: int, trial: T) -> R | None:
    assert _given is not None
    shared = _given[0]

    def show(progress: Progress) -> None:
        known = UNKNOWN if progress.count is None else progress.count
        told = (progress.now, progress.submitted, progress.finished, known, progress.cycles)
        shared[1 + number * _FIELDS : 1 + (number + 1) * _FIELDS] = told

    return play(_opened(), trial, show, lambda: bool(shared[0]) or is_told_to_stop())


def _opened() -> object:
    global _setup  # noqa: PLW0603 - opened once per process
    if _setup is None:
        assert _given is not None
        _, packed, plugins = _given
        for reference in plugins:
            load_class(reference)  # a class from a file is found by its module, once that is loaded
        _setup = pickle.loads(packed)  # noqa: S301 - packed by the process that started this one
    return _setup
