"""`hekla run`: an embedded cluster over many cycles, live, until all is done."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import Any

import click

from hekla import __version__
from hekla.cli.embedded_run import START, Embedded, PrintedLog, embed
from hekla.cli.interrupt import INTERRUPTED
from hekla.cli.options import GoSwitches, chosen_conf, configuration, named_conf, registry_with
from hekla.cli.output import Style, echo, echo_data, require_writable, wide_output_option
from hekla.cli.watch import watch
from hekla.clock import VirtualClock, WallClock
from hekla.cluster.embedded import Options
from hekla.engine.framework.registry import Registry
from hekla.insight.replay import CycleRecorder, header
from hekla.simulation.observer import Observer
from hekla.simulation.report import write_report
from hekla.text import counted

WIDTH = 80
"""Of sentences; tables may be wider."""


class Seconds(click.FloatRange):
    """A number of seconds that a clock can reach."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds: float = super().convert(value, param, ctx)
        if not math.isfinite(seconds):
            self.fail(f'expected a finite number of seconds, got "{value}"', param, ctx)
        return seconds


@click.command(cls=GoSwitches)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@configuration
@click.option("--wall", is_flag=True, help="Real time instead of virtual time.")
@click.option(
    "--pace",
    default=0.1,
    show_default=True,
    type=Seconds(min=0),
    help="Seconds to look at each cycle, on a terminal.",
)
@click.option(
    "--period",
    default=1.0,
    show_default=True,
    type=Seconds(min=0, min_open=True),
    help="Seconds between cycles.",
)
@click.option(
    "--run-seconds",
    default=30.0,
    show_default=True,
    type=Seconds(min=0),
    help="How long pods run that do not say.",
)
@click.option(
    "--until", type=Seconds(min=0), help="Stop after so many seconds (of virtual time, unless --wall)."
)  # fmt: skip
@click.option("--max-cycles", type=click.IntRange(1), help="Stop after so many cycles.")
@click.option("--record", type=click.Path(path_type=Path), help="Keep every cycle for `hekla replay`.")
@click.option("--report", "report_file", type=click.Path(path_type=Path), help="Write an HTML report.")
@wide_output_option
def run(  # noqa: PLR0917 - one parameter per option
    files: tuple[Path, ...],
    conf_file: Path | None,
    preset: str | None,
    strict: bool,
    plugins: tuple[str, ...],
    wall: bool,
    pace: float,
    period: float,
    run_seconds: float,
    until: float | None,
    max_cycles: int | None,
    record: Path | None,
    report_file: Path | None,
    output: Style | None,
) -> None:
    """Load FILES (manifests, folders, - for standard input) into an embedded cluster and run it until
    nothing can change any more.

    Pods run for the time in their annotation hekla.dev/run-seconds; objects arrive at the time in
    hekla.dev/arrives-at. Ctrl-C stops and tells what there is so far.
    """
    for target in (record, report_file):
        require_writable(target)
    registry = registry_with(plugins)
    conf = chosen_conf(conf_file, preset, registry, strict=strict)
    clock = WallClock() if wall else VirtualClock(START)
    options = Options(run_seconds=run_seconds)
    is_data = output is not None and output.is_data
    embedded = embed(files, conf, registry, clock=clock, options=options, period=period)
    observer = None if report_file is None else observer_of(embedded, period)
    with recorded(embedded, record, options, registry, plugins):
        log = watch(
            embedded,
            title="hekla run",
            pace=pace,
            until=until,
            max_cycles=max_cycles,
            quiet=is_data,
            before_pause=(lambda _report: None) if observer is None else observer.look,
        )
    if output is not None and is_data:
        echo_data(log.as_data(), output)
    else:
        echo_summary(log, is_wide=output is Style.WIDE)
    if observer is not None and report_file is not None:
        write_report(observer.run(files[0].stem, named_conf(conf_file, preset)), report_file)
    if log.is_interrupted:
        sys.exit(INTERRUPTED)


def observer_of(embedded: Embedded, period: float) -> Observer:
    return Observer(embedded.cluster, period=period)


@contextmanager
def recorded(
    embedded: Embedded, path: Path | None, options: Options, registry: Registry, plugins: Sequence[str]
) -> Iterator[None]:
    """Have its cycles written down, if they are to be; the file is complete however this is left."""
    if path is None:
        yield
        return

    head = header(__version__, options.scheduler_names, plugins=plugins)
    embedded.loop.observer = recorder = CycleRecorder(path, head, registry.catalogue())
    recorder.follow(embedded.cluster.state)
    try:
        yield
    finally:
        recorder.close()


def echo_summary(log: PrintedLog, *, is_wide: bool = False) -> None:
    """What became of every job, and why some still wait."""
    if log.is_interrupted:
        echo("\nnot complete: what happened up to the moment at which it was stopped")
    echo(f"\n{log.wide_table() if is_wide else log.table()}")
    counts = ", ".join(f"{action} {count}" for action, count in log.counts.items() if count)
    said = f"{counted(log.cycles, 'cycle')}; decisions: {counts or 'none'}"
    echo("\n" + fill(said, WIDTH, subsequent_indent="  "))
    if log.waiting:
        echo("\nstill waiting\n" + "\n".join(str(explanation) for explanation in log.waiting))
