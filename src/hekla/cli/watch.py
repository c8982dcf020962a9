"""A cluster as cycles go by: a picture that is drawn anew on a terminal, elsewhere a line per event."""

from __future__ import annotations

import sys
from collections.abc import Callable

from rich.live import Live

from hekla.cli.embedded_run import Embedded, PrintedLog
from hekla.cli.options import WarningPrinter
from hekla.cli.output import echo
from hekla.cli.screen import Screen
from hekla.clock import WallClock
from hekla.objects import VolcanoJob
from hekla.scheduler.cycle import CycleReport

OnCycle = Callable[[CycleReport], None]


def watch(
    embedded: Embedded,
    *,
    title: str,
    pace: float,
    until: float | None = None,
    max_cycles: int | None = None,
    quiet: bool = False,
    before_pause: OnCycle = lambda _report: None,
) -> PrintedLog:
    """Run until nothing can change any more, the limit, or Ctrl-C; what became of every job."""
    start = embedded.clock.now()
    log = PrintedLog(start)
    printer = WarningPrinter()
    printer.tell(embedded.cluster.complaints)
    end = None if until is None else start + until

    def on_cycle(report: CycleReport) -> None:
        for action, sentence in log.record(report):
            if not quiet:
                echo(f"t+{report.session.now - start:>5.0f}s  {action:11} {sentence}")
        printer.tell(report.session.snapshot.complaints)
        before_pause(report)

    try:
        if sys.stdout.isatty() and not quiet:
            _watch_live(embedded, log, title, pace, end, max_cycles, before_pause)
        else:
            embedded.loop.run(until=end, max_cycles=max_cycles, on_cycle=on_cycle)
    except KeyboardInterrupt:
        log.is_interrupted = True
    # What happened after the last cycle (pods that ended, Jobs that completed) belongs to the end.
    log.settle(embedded.cluster.all_of(VolcanoJob))
    printer.tell(embedded.cluster.complaints)
    return log


def _watch_live(  # noqa: PLR0917 - everything the loop needs, nothing more
    embedded: Embedded,
    log: PrintedLog,
    title: str,
    pace: float,
    end: float | None,
    max_cycles: int | None,
    before_pause: OnCycle,
) -> None:
    screen = Screen(title, log.start)
    with Live(auto_refresh=False, screen=False) as live:

        def on_cycle(report: CycleReport) -> None:
            screen.tell(report.session.now, log.record(report))
            live.update(screen.picture(report.session, live.console.size), refresh=True)
            before_pause(report)
            WallClock().sleep(pace)

        embedded.loop.run(until=end, max_cycles=max_cycles, on_cycle=on_cycle)
