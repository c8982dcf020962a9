"""How far simulations and comparisons have come, on a terminal, and a way to stop them without losing
what there is."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from hekla.clock import stopwatch
from hekla.safe_text import escaped
from hekla.simulation.measures.words import spoken_seconds
from hekla.simulation.simulate import Progress

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


Show = Callable[[int, Progress], None]


@dataclass(frozen=True)
class Watch:
    show: Show
    """The number of a run, and how far it has come."""
    is_stopped: Callable[[], bool]


@contextmanager
def watching(names: Sequence[str], first_seed: int, *, quiet: bool) -> Iterator[Watch]:
    """Runs come seed by seed, for each seed under every configuration in turn."""
    with interruptible() as is_stopped, progress_bars(names, first_seed, quiet=quiet) as show:
        yield Watch(show, is_stopped)


@contextmanager
def progress_bars(names: Sequence[str], first_seed: int, *, quiet: bool = False) -> Iterator[Show]:
    """A bar for every run that has begun, on standard error, where that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda _number, _progress: None
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.markup import escape  # noqa: PLC0415
    from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn  # noqa: PLC0415
    from rich.progress import Progress as Bars  # noqa: PLC0415

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[told]}"),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[int, TaskID] = {}
        shown: dict[int, float] = {}

        def show(number: int, progress: Progress) -> None:
            now = stopwatch()
            if now - shown.get(number, -1.0) < REFRESH_SECONDS:
                return
            shown[number] = now
            if number not in tasks:
                seed, name = first_seed + number // len(names), names[number % len(names)]
                tasks[number] = bars.add_task(f"{escape(escaped(name))}, seed {seed}", total=None, told="")
            told = f"jobs  {spoken_seconds(progress.now)} simulated"
            bars.update(tasks[number], completed=progress.finished, total=progress.count, told=told)

        yield show
