"""How far a simulation has come, on a terminal; and a way to stop it without losing what there is."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from hekla.clock import stopwatch
from hekla.measures.words import spoken_seconds
from hekla.sim.simulate import Progress

REFRESH_SECONDS = 0.1


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


@contextmanager
def progress_bar(*, quiet: bool = False) -> Iterator[Callable[[Progress], None] | None]:
    """Shows progress on standard error, where that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn  # noqa: PLC0415
    from rich.progress import Progress as Bar  # noqa: PLC0415

    columns = (TextColumn("simulating"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[told]}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, told="")
        began = shown = stopwatch()

        def show(progress: Progress) -> None:
            nonlocal shown
            now = stopwatch()
            if now - shown < REFRESH_SECONDS:
                return
            shown = now
            rate = progress.finished / (now - began)
            told = f"jobs  {spoken_seconds(progress.now)} simulated  {rate:,.0f} jobs/s"
            bar.update(task, completed=progress.finished, total=progress.count, told=told)

        yield show
