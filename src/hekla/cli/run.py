"""`hekla run`: an embedded cluster over many cycles, live, until all is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hekla import __version__
from hekla.cli.chronicle import Chronicle
from hekla.cli.embedding import START, embed
from hekla.cli.options import chosen_conf, configuration, registry_with
from hekla.cli.style import Style, echo_data, output_option
from hekla.cli.table import counted
from hekla.cli.watch import watch
from hekla.clock import VirtualClock, WallClock
from hekla.cluster.embedded import Options
from hekla.framework.registry import Registry

if TYPE_CHECKING:
    from hekla.timetravel import Scribe


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@configuration
@click.option("--wall", is_flag=True, help="Real time instead of virtual time.")
@click.option("--pace", default=0.1, show_default=True, help="Seconds to look at each cycle, on a terminal.")
@click.option("--period", default=1.0, show_default=True, help="Seconds between cycles.")
@click.option("--run-seconds", default=30.0, show_default=True, help="How long pods run that do not say.")
@click.option("--until", type=float, help="Stop after so many seconds (of virtual time, unless --wall).")
@click.option("--max-cycles", type=click.IntRange(1), help="Stop after so many cycles.")
@click.option("--record", type=click.Path(path_type=Path), help="Keep every cycle for `hekla replay`.")
@output_option
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
    output: Style | None,
) -> None:
    """Load FILES (manifests, folders, - for standard input) into an embedded cluster and run it until
    nothing can change any more.

    Pods run for the time in their annotation hekla.dev/run-seconds; objects arrive at the time in
    hekla.dev/arrives-at.
    """
    registry = registry_with(plugins)
    conf = chosen_conf(conf_file, preset, registry, strict=strict)
    clock = WallClock() if wall else VirtualClock(START)
    options = Options(run_seconds=run_seconds)
    is_data = output in (Style.JSON, Style.YAML)
    with recording(record, options, registry, plugins) as scribe:
        embedded = embed(files, conf, registry, clock=clock, options=options, period=period, scribe=scribe)
        chronicle = watch(
            embedded, title="hekla run", pace=pace, until=until, max_cycles=max_cycles, quiet=is_data
        )
    if output is not None and is_data:
        echo_data(chronicle.as_data(), output)
    else:
        echo_summary(chronicle)


@contextmanager
def recording(
    path: Path | None, options: Options, registry: Registry, plugins: Sequence[str]
) -> Iterator[Scribe | None]:
    """Whoever writes the cycles down, if they are to be; complete when it is left, however that happens."""
    if path is None:
        yield None
        return
    from hekla.timetravel import Scribe, header  # noqa: PLC0415 - only a recording needs it

    scribe = Scribe(path, header(__version__, options.scheduler_names, plugins=plugins), registry.catalogue())
    try:
        yield scribe
    finally:
        scribe.close()


def echo_summary(chronicle: Chronicle) -> None:
    """What became of every job, and why some still wait."""
    click.echo(f"\n{chronicle.table()}")
    deeds = ", ".join(f"{action} {count}" for action, count in chronicle.deeds.items() if count)
    click.echo(f"\n{counted(chronicle.cycles, 'cycle')}; decisions: {deeds or 'none'}")
    if chronicle.waiting:
        click.echo("\nstill waiting\n" + "\n".join(str(explanation) for explanation in chronicle.waiting))
