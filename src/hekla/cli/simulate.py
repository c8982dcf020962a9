"""`hekla simulate`: a workload in virtual time, and what became of every job."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn
from rich.progress import Progress as Bar
from rich.progress import Progress as Bars

from hekla.cli.interrupt import INTERRUPTED, interruptible
from hekla.cli.options import (
    POSITIVE_SPAN,
    SPAN,
    GoSwitches,
    chosen_conf,
    chosen_workload,
    configuration,
    named_conf,
    registry_with,
    workload_options,
)
from hekla.cli.outcome import spelled_request
from hekla.cli.output import (
    Style,
    echo,
    echo_data,
    require_folder,
    require_writable,
    warn,
    wide_output_option,
)
from hekla.clock import stopwatch
from hekla.objects import Node
from hekla.simulation.measures import run_data, save, summary_lines
from hekla.simulation.measures.files import FOLDER, form_of
from hekla.simulation.measures.words import spoken_seconds
from hekla.simulation.options import SimulationOptions
from hekla.simulation.run import Run, State
from hekla.simulation.simulate import Progress, Simulation
from hekla.simulation.workloads import Account, Workload
from hekla.simulation.workloads.nodes import nodes_of
from hekla.text import UNCUT, escaped, table

SOME_NODES = "10 x cpu=32,memory=128Gi"

nodes_option = click.option(
    "--nodes", "node_texts", multiple=True, metavar="NODES",
    help=f'The cluster, as "{SOME_NODES}", or a file of manifests or machines; repeatable.',
)  # fmt: skip

_STAGE_OPTIONS = (
    click.option("--period", type=POSITIVE_SPAN, default=1.0, show_default=True, help="Between two cycles."),
    click.option("--start-seconds", type=SPAN, default=0.0, help="How long a bound pod takes to start."),
    click.option(
        "--grace", type=SPAN, default=30.0, show_default=True, help="How long an evicted pod takes to go."
    ),
    click.option("--until", type=SPAN, help="Stop after so much simulated time."),
)


REFRESH_SECONDS = 0.1


def stage_options(command: Any) -> Any:
    """How the simulated cluster behaves."""
    for option in reversed(_STAGE_OPTIONS):
        command = option(command)
    return command


@click.command(cls=GoSwitches, former={"--jobs": "--list-jobs"})
@click.argument("workload_file", metavar="WORKLOAD", type=click.Path(path_type=Path))
@nodes_option
@configuration
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same run.")
@stage_options
@click.option("--report", "report_file", type=click.Path(path_type=Path), help="Write an HTML report.")
@click.option(
    "--save", "save_to", multiple=True, type=click.Path(path_type=Path), metavar="PATH",
    help="Write results: .json, .csv, .parquet, or a folder of tables; repeatable.",
)  # fmt: skip
@click.option("--list-jobs", "lists_jobs", is_flag=True, help="List every job, too.")
@workload_options
@wide_output_option
def simulate(  # noqa: PLR0917 - one parameter per option
    workload_file: Path,
    node_texts: tuple[str, ...],
    conf_file: Path | None,
    preset: str | None,
    strict: bool,
    plugins: tuple[str, ...],
    seed: int,
    report_file: Path | None,
    save_to: tuple[Path, ...],
    lists_jobs: bool,
    output: Style | None,
    **given: Any,
) -> None:
    """Run WORKLOAD on a simulated cluster, as fast as it goes, and tell what became of every job.

    WORKLOAD is a file of jobs (our own YAML, a trace, a table, a recording, a snapshot) or a folder of
    manifests. Times are seconds of simulated time. Ctrl-C stops and tells what there is so far.
    """

    require_places(report_file, save_to)
    registry = registry_with(plugins)
    conf = chosen_conf(conf_file, preset, registry, strict=strict)
    nodes = chosen_nodes(node_texts, given)
    workload = chosen_workload(workload_file, {**given, "seed": seed}, nodes)
    simulation = Simulation(
        workload,
        conf,
        nodes=nodes or default_nodes(workload),
        registry=registry,
        seed=seed,
        options=chosen_options(given),
        conf_name=named_conf(conf_file, preset),
    )
    run, is_stopped = watched(simulation.run, quiet=output in (Style.JSON, Style.YAML))
    tell_account(workload.account)
    warn(run.notes)
    _echo(run, output, lists_jobs=lists_jobs)
    _save(run, report_file, save_to)
    if is_stopped and not run.is_complete:
        sys.exit(INTERRUPTED)


def require_places(report_file: Path | None, save_to: Sequence[Path]) -> None:
    """Raises InputError, before anything runs, where results could not be written."""

    require_writable(report_file)
    for path in save_to:
        (require_folder if form_of(path) == FOLDER else require_writable)(path)


def chosen_nodes(texts: Sequence[str], given: dict[str, Any]) -> list[Node]:
    return nodes_of(*texts, gpu_shares=given["gpu_shares"]) if texts else []


def default_nodes(workload: Workload) -> list[Node]:
    """Some nodes, where neither the workload nor an option names any; and that is told."""

    if any(isinstance(manifest, Node) for manifest in workload.objects):
        return []
    warn([f'no nodes are named; "{SOME_NODES}" is taken, see --nodes'])
    return nodes_of(SOME_NODES)


def chosen_options(given: dict[str, Any]) -> SimulationOptions:
    until = given["until"]
    return SimulationOptions(
        period=given["period"],
        start_seconds=given["start_seconds"],
        grace_seconds=given["grace"],
        until=math.inf if until is None else until,
    )


def watched(simulate_with: Callable[..., Run], *, quiet: bool) -> tuple[Run, bool]:
    """The run, and whether Ctrl-C was pressed, which ends it at the next cycle; with a bar on a terminal."""

    with interruptible() as is_stopped, progress_bar(quiet=quiet) as show:
        return simulate_with(show, is_stopped), is_stopped()


def tell_account(account: Account) -> None:
    """What reading a workload left out or assumed."""
    warn(f"left out: {count:,} x {why}" for why, count in account.dropped.items())
    warn(f"assumed: {count:,} x {what}" for what, count in account.changed.items())


def _save(run: Run, report_file: Path | None, save_to: Sequence[Path]) -> None:
    for path in save_to:
        for written in save(run, path):
            echo(f"wrote {written}", err=True)
    if report_file is not None:
        from hekla.simulation.report import write_report  # noqa: PLC0415 - slow to import, rarely needed

        write_report(run, report_file)
        echo(f"wrote {report_file}", err=True)


def _echo(run: Run, output: Style | None, *, lists_jobs: bool) -> None:
    if output in (Style.JSON, Style.YAML):
        echo_data(run_data(run), output)
        return
    if not run.is_complete:
        echo("not complete: what happened up to the moment at which it was stopped\n")
    echo("\n".join(summary_lines(run)))
    if output is Style.WIDE:
        echo("\n" + _wide_job_table(run))
    elif lists_jobs:
        echo("\n" + _job_table(run))


JOB_HEADERS = ("job", "queue", "state", "pods", "submitted", "started", "finished", "evicted")
WIDE_HEADERS = (*JOB_HEADERS, "user", "at least", "waited", "runs for", "restarts", "requests")


def _job_table(run: Run) -> str:
    return table(JOB_HEADERS, [_job_row(run, row) for row in range(len(run.jobs))])


def _wide_job_table(run: Run) -> str:
    rows = [(*_job_row(run, row), *_more_of_job(run, row)) for row in range(len(run.jobs))]
    return table(WIDE_HEADERS, rows, UNCUT)


def _job_row(run: Run, row: int) -> tuple[object, ...]:
    jobs = run.jobs
    return (
        jobs.names[row],
        run.queues[jobs.queue[row]],
        State(jobs.state[row]).name.capitalize(),
        int(jobs.pods[row]),
        *(_time(column[row]) for column in (jobs.submitted, jobs.started, jobs.finished)),
        int(jobs.evictions[row]),
    )


def _more_of_job(run: Run, row: int) -> tuple[object, ...]:
    jobs = run.jobs
    requests = dict(zip(run.resources, jobs.requests[row].tolist(), strict=True))
    return (
        jobs.users[row] or "-",
        int(jobs.minimum[row]),
        _time(jobs.started[row] - jobs.submitted[row]),
        _time(jobs.run_seconds[row]),
        int(jobs.restarts[row]),
        spelled_request(requests),
    )


def _time(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.1f}s"


@contextmanager
def progress_bar(*, quiet: bool = False) -> Iterator[Callable[[Progress], None] | None]:
    """Shows progress on standard error, where that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return

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


def job_bars() -> Bars:
    """On standard error, gone when all is done; each counts jobs."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[told]}"),
    )
    return Bars(*columns, console=Console(stderr=True), transient=True)


Show = Callable[[int, Progress], None]


@dataclass(frozen=True)
class RunMonitor:
    show: Show
    """The number of a run, and how far it has come."""
    is_stopped: Callable[[], bool]


@contextmanager
def watching(names: Sequence[str], first_seed: int, *, quiet: bool) -> Iterator[RunMonitor]:
    """Runs come seed by seed, for each seed under every configuration in turn."""
    with interruptible() as is_stopped, progress_bars(names, first_seed, quiet=quiet) as show:
        yield RunMonitor(show, is_stopped)


@contextmanager
def progress_bars(names: Sequence[str], first_seed: int, *, quiet: bool = False) -> Iterator[Show]:
    """A bar for every run that has begun, on standard error, where that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda _number, _progress: None
        return

    with job_bars() as bars:
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
