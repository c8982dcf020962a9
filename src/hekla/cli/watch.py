"""A cluster on the terminal, drawn anew as cycles go by, for `run --watch` and `demo`."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Sequence

from rich.console import Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from hekla.cli.embedded_run import Embedded, PrintedLog
from hekla.cli.options import WarningPrinter
from hekla.cli.output import echo
from hekla.clock import WallClock
from hekla.engine.ledger.axis import CPU_COLUMN
from hekla.engine.model.job import Job
from hekla.engine.model.status import Status
from hekla.engine.model.task import NOWHERE, Task
from hekla.objects import VolcanoJob
from hekla.scheduler.cycle import CycleReport
from hekla.text import escaped

BAR = 16
ROWS = 12
STYLES = {
    "enqueue": "cyan",
    "allocate": "green",
    "backfill": "bright_blue",
    "preempt": "red",
    "reclaim": "magenta",
    "shuffle": "yellow",
}
FINISHED = ("Completed",)


class Screen:
    """The latest picture, and the last few sentences."""

    def __init__(self, title: str, start: float) -> None:
        self._title = title
        self._start = start
        self._lines: deque[Text] = deque(maxlen=10)

    def tell(self, moment: float, lines: Sequence[tuple[str, str]]) -> None:
        for action, sentence in lines:
            line = Text(f"t+{moment - self._start:>5.0f}s  ", style="dim")
            line.append(f"{action:12}", style=STYLES.get(action, ""))
            line.append(escaped(sentence))
            self._lines.append(line)

    def picture(self, report: CycleReport) -> RenderableType:
        session = report.session
        heading = Text(f"{escaped(self._title)}   t+{session.now - self._start:.0f}s", style="bold")
        columns = Table.grid(expand=True, padding=(0, 2))
        columns.add_row(self._jobs(report), Group(self._queues(report), self._nodes(report)))
        told = Group(*self._lines) if self._lines else Text("nothing yet", style="dim")
        return Group(heading, columns, Panel(told, title="what happened", title_align="left", height=12))

    def _jobs(self, report: CycleReport) -> Table:
        grid = Table(title="jobs", title_justify="left", expand=True, box=None)
        for name in ("job", "queue", "phase", "ready", "pods"):
            grid.add_column(name, no_wrap=True)
        jobs = sorted(
            report.session.jobs.values(), key=lambda job: (job.phase in FINISHED, job.created, job.uid)
        )
        for job in jobs[:ROWS]:
            ready = f"{job.roster.ready}/{job.minimum}"
            grid.add_row(_word(job.title), _word(job.queue), _word(job.phase or "Pending"), ready, _dots(job))
        if len(jobs) > ROWS:
            grid.add_row(f"and {len(jobs) - ROWS} more", "", "", "", "")
        return grid

    def _queues(self, report: CycleReport) -> Table:
        session = report.session
        grid = Table(title="queues", title_justify="left", expand=True, box=None)
        for name in ("queue", "cpu in use", ""):
            grid.add_column(name, no_wrap=True)
        total = int(session.total[CPU_COLUMN])
        for name in dict.fromkeys(job.queue for job in session.jobs.values()):
            used = sum(
                int(task.vector[CPU_COLUMN])
                for task in session.tasks
                if is_there(task) and task.job in session.jobs and session.jobs[task.job].queue == name
            )
            grid.add_row(_word(name), bar(used, total), f"{used / 1000:g} of {total / 1000:g}")
        return grid

    def _nodes(self, report: CycleReport) -> Table:
        nodes = report.session.nodes
        grid = Table(title="nodes", title_justify="left", expand=True, box=None)
        for name in ("node", "cpu in use", ""):
            grid.add_column(name, no_wrap=True)
        for row, name in enumerate(nodes.names[:ROWS]):
            used, total = int(nodes.used[row, CPU_COLUMN]), int(nodes.allocatable[row, CPU_COLUMN])
            mark = " (cordoned)" if nodes.nodes[row].manifest.spec.unschedulable else ""
            grid.add_row(
                _word(name),
                bar(used, total),
                f"{sum(map(is_there, nodes.tasks_on[row].values()))} pods{mark}",
            )
        if len(nodes) > ROWS:
            grid.add_row(f"and {len(nodes) - ROWS} more", "", "")
        return grid


def _word(text: str) -> Text:
    """As it is: no codes, and no markup."""
    return Text(escaped(text))


def is_there(task: Task) -> bool:
    """Takes up room now; a promise does not."""
    return task.node != NOWHERE and task.status is not Status.PIPELINED


def bar(used: int, total: int) -> Text:
    filled = round(BAR * used / total) if total else 0
    text = Text("█" * min(filled, BAR), style="green" if used <= total else "red")
    text.append("░" * max(0, BAR - filled), style="dim")
    return text


def _dots(job: Job) -> Text:
    """One mark per pod, by what it does; many pods are only counted."""
    marks = {
        Status.RUNNING: ("●", "green"),
        Status.BOUND: ("●", "green"),
        Status.BINDING: ("◐", "green"),
        Status.ALLOCATED: ("◐", "yellow"),
        Status.PIPELINED: ("◌", "yellow"),
        Status.PENDING: ("○", "dim"),
        Status.RELEASING: ("✕", "red"),
        Status.SUCCEEDED: ("✓", "dim green"),
        Status.FAILED: ("!", "bold red"),
        Status.UNKNOWN: ("?", "red"),
    }
    text = Text()
    for status, (mark, style) in marks.items():
        count = len(job.roster.having(status))
        text.append(
            mark * count if len(job.roster) <= BAR else f"{mark}{count} " if count else "", style=style
        )
    return text


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
            live.update(screen.picture(report), refresh=True)
            before_pause(report)
            WallClock().sleep(pace)

        embedded.loop.run(until=end, max_cycles=max_cycles, on_cycle=on_cycle)
