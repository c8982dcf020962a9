"""Watch: run an embedded cluster to its end, live on a terminal, as plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable

from hekla.cli.chronicle import Chronicle
from hekla.cli.embedding import Embedded
from hekla.cli.options import Teller
from hekla.cli.terminal import echo
from hekla.clock import WallClock
from hekla.objects import VolcanoJob
from hekla.scheduler.cycle import CycleReport

Spectator = Callable[[CycleReport], None]


def watch(
    embedded: Embedded,
    *,
    title: str,
    pace: float,
    until: float | None = None,
    max_cycles: int | None = None,
    quiet: bool = False,
    before_pause: Spectator = lambda _report: None,
) -> Chronicle:
    """Run until nothing can change any more, or the limit; what became of every job."""
    start = embedded.clock.now()
    chronicle = Chronicle(start)
    teller = Teller()
    teller.tell(embedded.cluster.complaints)
    end = None if until is None else start + until
    if sys.stdout.isatty() and not quiet:
        _watch_live(embedded, chronicle, title, pace, end, max_cycles, before_pause)
    else:

        def spectator(report: CycleReport) -> None:
            for action, sentence in chronicle.record(report):
                if not quiet:
                    echo(f"t+{report.session.now - start:>5.0f}s  {action:11} {sentence}")
            teller.tell(report.session.snapshot.complaints)
            before_pause(report)

        embedded.loop.run(until=end, max_cycles=max_cycles, on_cycle=spectator)
    # What happened after the last cycle (pods that ended, Jobs that completed) belongs to the end.
    chronicle.settle(embedded.cluster.all_of(VolcanoJob))
    teller.tell(embedded.cluster.complaints)
    return chronicle


def _watch_live(  # noqa: PLR0917 - everything the loop needs, nothing more
    embedded: Embedded,
    chronicle: Chronicle,
    title: str,
    pace: float,
    end: float | None,
    max_cycles: int | None,
    before_pause: Spectator,
) -> None:
    from rich.live import Live  # noqa: PLC0415 - only a terminal needs it

    from hekla.cli.live import Screen  # noqa: PLC0415

    screen = Screen(title, chronicle.start)
    with Live(auto_refresh=False, screen=False) as live:

        def spectator(report: CycleReport) -> None:
            screen.tell(report.session.now, chronicle.record(report))
            live.update(screen.picture(report), refresh=True)
            before_pause(report)
            WallClock().sleep(pace)

        embedded.loop.run(until=end, max_cycles=max_cycles, on_cycle=spectator)
