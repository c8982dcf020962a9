"""`hekla capacity`: how many nodes, or how much of a quota, a workload needs to meet its goals."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.progress import Progress as Bars

from hekla.cli.compare import WorkloadFile, chosen_arrivals, is_for_machines, readable_again
from hekla.cli.interrupt import INTERRUPTED, interruptible
from hekla.cli.options import (
    POSITIVE_SPAN,
    SPAN,
    GoSwitches,
    chosen_conf,
    configuration,
    registry_with,
    workload_options,
)
from hekla.cli.output import Style, echo, echo_data, output_option, require_writable, warn
from hekla.cli.simulate import (
    REFRESH_SECONDS,
    chosen_nodes,
    chosen_options,
    job_bars,
    stage_options,
    tell_account,
)
from hekla.clock import stopwatch
from hekla.insight.capacity import (
    CapacityAnswer,
    NodeSizing,
    Sizing,
    WarmUp,
    answer_data,
    answer_lines,
    form_of_curve,
    read_goal,
    read_nodes,
    read_quota,
    write_curve,
)
from hekla.insight.capacity import capacity as capacity_of
from hekla.insight.capacity.capacity import OnTrial
from hekla.insight.capacity.sizing import NODES_EXAMPLE, QUOTA_EXAMPLE, with_default_queue
from hekla.objects import Node
from hekla.simulation.measures.words import spoken_seconds
from hekla.simulation.simulate import Progress
from hekla.text import escaped

NOT_ENOUGH = 4
"""The exit code where no size meets the goals, as of a plan for a job that would not start."""


class Beginning(click.ParamType[WarmUp]):
    """A part of a run, or a span of time."""

    name = "share or duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> WarmUp:
        text = str(value)
        if not text.endswith("%"):
            return WarmUp(seconds=SPAN.convert(text, param, ctx))
        try:
            part = float(text.removesuffix("%")) / 100
        except ValueError:
            part = -1.0
        if not 0 <= part < 1:
            self.fail(f'"{value}" is no share; write it like "10%", or a span like "2h"', param, ctx)
        return WarmUp(part=part)


@click.command(cls=GoSwitches)
@click.argument("workload_file", metavar="WORKLOAD", type=click.Path(path_type=Path))
@click.option(
    "--nodes", "node_texts", multiple=True, metavar="NODES",
    help=f"The cluster, with a range in it: {NODES_EXAMPLE}, or an amount per node, "
    '"8 x cpu=64,gpu=1..8"; repeatable, for nodes that stay as they are.',
)  # fmt: skip
@click.option(
    "--quota", metavar="QUOTA",
    help=f"Look for a queue's quota instead: {QUOTA_EXAMPLE}; also deserved, guarantee, weight.",
)  # fmt: skip
@click.option(
    "--goal", "goal_texts", multiple=True, required=True, metavar="GOAL",
    help='What is to hold: "wait.p95 < 10m", "research: slowdown.mean <= 3"; repeatable.',
)  # fmt: skip
@click.option("--queue", default="", metavar="NAME", help="Of whose jobs goals are that name no queue.")
@configuration
@click.option(
    "--seeds", "seed_count", type=click.IntRange(min=1), default=5, show_default=True,
    help="How many seeds, where a seed changes anything.",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The first of them.")
@click.option(
    "--resample", type=POSITIVE_SPAN, metavar="SPAN", help="Draw blocks of such length of the trace anew."
)
@click.option(
    "--jitter", type=POSITIVE_SPAN, metavar="SPAN", help="Put arrivals off by chance, up to such a span."
)
@click.option(
    "--warm-up", type=Beginning(), metavar="SHARE|SPAN",
    help="Leave out jobs of the beginning, as 10% or 2h; else 10% where seeds bring other jobs.",
)  # fmt: skip
@click.option(
    "--confidence", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.95,
    show_default=True, help="Of the intervals.",
)  # fmt: skip
@click.option(
    "--processes", type=click.IntRange(min=1), metavar="N",
    help="How many at a time; by default one per core.",
)  # fmt: skip
@stage_options
@click.option(
    "--plot", "plots", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
    help="Draw the curve: .svg, or .html with the answer; repeatable.",
)  # fmt: skip
@workload_options
@output_option
def capacity(  # noqa: PLR0917 - one parameter per option
    workload_file: Path,
    node_texts: tuple[str, ...],
    quota: str | None,
    goal_texts: tuple[str, ...],
    queue: str,
    conf_file: Path | None,
    preset: str | None,
    strict: bool,
    plugins: tuple[str, ...],
    seed_count: int,
    seed: int,
    processes: int | None,
    plots: tuple[Path, ...],
    output: Style | None,
    **given: Any,
) -> None:
    """Tell the smallest number of nodes, or quota, with which WORKLOAD meets its goals.

    Every size is simulated under the same arrivals; the sizes looked at are found by halving. The answer
    comes with an interval over seeds, and with the reason where no size helps (exit code 4). Ctrl-C stops
    and tells what is known so far.
    """

    for plot in plots:
        form_of_curve(plot)
        require_writable(plot)
    goals = [read_goal(text, queue) for text in goal_texts]
    arrivals = chosen_arrivals(given)
    registry = registry_with(plugins)
    conf = chosen_conf(conf_file, preset, registry, strict=strict)
    counted = chosen_sizing(node_texts, quota)
    nodes = chosen_nodes(node_texts, given) if counted is None else []
    with readable_again(workload_file) as path:
        source = WorkloadFile.of(path, {**given, "seed": seed}, nodes)
        sizing = counted or quota_of(quota, source, nodes, seed)
        with watched_sizes(sizing, seed_count, quiet=is_for_machines(output)) as (show, is_stopped):
            answer = capacity_of(
                source,
                sizing,
                goals,
                conf,
                registry=registry,
                seeds=range(seed, seed + seed_count),
                arrivals=arrivals,
                warm_up=given["warm_up"],
                confidence=given["confidence"],
                options=chosen_options(given),
                processes=processes or os.cpu_count() or 1,
                plugins=plugins,
                on_trial=show,
                is_stopped=is_stopped,
            )
    _tell(answer, output, plots)


def chosen_sizing(node_texts: Sequence[str], quota: str | None) -> NodeSizing | None:
    """Nodes of which a number is open; none where a quota is looked for."""
    counted = read_nodes(node_texts)
    if counted is None and quota is None:
        raise click.UsageError(
            f"say what to look for: a number of nodes, --nodes {NODES_EXAMPLE}, or --quota {QUOTA_EXAMPLE}"
        )
    if counted is not None and quota is not None:
        raise click.UsageError("one number is looked for at a time: give a range of nodes, or --quota")
    return counted


def quota_of(quota: str | None, source: WorkloadFile, nodes: Sequence[Node], seed: int) -> Sizing:
    assert quota is not None
    workload = with_default_queue(source(seed))
    if not nodes and not any(isinstance(each, Node) for each in workload.objects):
        raise click.UsageError('the workload brings no nodes; name some, as in: --nodes "10 x cpu=32"')
    return read_quota(quota, workload, nodes)


def _tell(answer: CapacityAnswer, output: Style | None, plots: Sequence[Path]) -> None:
    tell_account(answer.account)
    warn(answer.notes)
    if output is not None and is_for_machines(output):
        echo_data(answer_data(answer), output)
    else:
        echo("\n".join(answer_lines(answer)))
    for plot in plots if answer.sizes else ():
        write_curve(answer, plot)
        echo(f"wrote {plot}", err=True)
    if not answer.is_complete:
        sys.exit(INTERRUPTED)
    if answer.smallest is None or answer.missed:
        sys.exit(NOT_ENOUGH)


@contextmanager
def watched_sizes(sizing: Sizing, runs: int, *, quiet: bool) -> Iterator[tuple[OnTrial, Any]]:
    """Shows progress on standard error, where that is a terminal; and whether Ctrl-C was pressed."""
    with interruptible() as is_stopped:
        if quiet or not sys.stderr.isatty():
            yield (lambda _value, _number, _progress: None), is_stopped
            return
        with job_bars() as bars:
            yield SizeBar(bars, sizing, runs).show, is_stopped


class SizeBar:
    """One bar, for the jobs of all runs of a size."""

    def __init__(self, bars: Bars, sizing: Sizing, runs: int) -> None:
        self._bars = bars
        self._task = bars.add_task("", total=None, told="")
        self._sizing = sizing
        self._runs = runs
        self._sizes: list[int] = []
        self._by_run: dict[int, Progress] = {}
        self._shown = -1.0

    def show(self, value: int, number: int, progress: Progress) -> None:
        if not self._sizes or self._sizes[-1] != value:
            self._sizes.append(value)
            self._by_run = {}
        self._by_run[number] = progress
        now = stopwatch()
        if now - self._shown < REFRESH_SECONDS:
            return
        self._shown = now
        known = self._by_run.values()
        self._bars.update(
            self._task,
            description=escape(escaped(self._sizing.spoken(value))),
            completed=sum(each.finished for each in known),
            total=None if progress.count is None else progress.count * max(self._runs, len(known)),
            told=f"jobs  size {len(self._sizes)}  {spoken_seconds(progress.now)} simulated",
        )
