"""`hekla compare`: a workload under several configurations, and which of them is better at what."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from hekla.cli.interrupt import INTERRUPTED
from hekla.cli.options import (
    POSITIVE_SPAN,
    GoSwitches,
    chosen_conf,
    chosen_workload,
    plugin_option,
    registry_with,
    strict_option,
    workload_options,
)
from hekla.cli.output import Style, echo, echo_coloured, echo_data, require_writable, warn, wide_output_option
from hekla.cli.simulate import (
    RunMonitor,
    chosen_nodes,
    chosen_options,
    default_nodes,
    nodes_option,
    stage_options,
    tell_account,
    watching,
)
from hekla.conf import PRESETS
from hekla.engine.framework.registry import Registry
from hekla.insight.compare import (
    Arrivals,
    AsTheyAre,
    ComparedConf,
    Comparison,
    Jittered,
    Judgement,
    Resampled,
    comparison_data,
    form_of,
    judged_lines,
    names_of,
    numbered,
    save_comparison,
    write_comparison_report,
)
from hekla.insight.compare import compare as compare_all
from hekla.objects import Node
from hekla.simulation.workloads import Workload

STDIN = "-"
LOOKED_AT = 100
"""Jobs that tell whether a workload is generated: they differ with another seed."""
COLOURS: Mapping[Judgement | None, str] = {Judgement.BETTER: "green", Judgement.WORSE: "red"}
MORE = "-o wide shows every figure, --report FILE.html charts"


@click.command(cls=GoSwitches, former={"--jobs": "--processes"})
@click.argument("workload_file", metavar="WORKLOAD", type=click.Path(path_type=Path))
@click.option(
    "--conf", "conf_files", multiple=True, type=click.Path(path_type=Path),
    help="A volcano-scheduler.conf, or a ConfigMap with one; repeatable. The first is the base.",
)  # fmt: skip
@click.option(
    "--preset", "presets", multiple=True, type=click.Choice(sorted(PRESETS)),
    help="A built-in configuration; repeatable. Files come before presets.",
)  # fmt: skip
@strict_option
@plugin_option
@nodes_option
@click.option(
    "--seeds", "seed_count", type=click.IntRange(min=1), default=5, show_default=True,
    help="How many seeds, where a seed changes anything.",
)  # fmt: skip
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="The first; the next ones follow it.",
)
@click.option(
    "--resample", type=POSITIVE_SPAN, metavar="SPAN", help="Draw blocks of such length of the trace anew."
)
@click.option(
    "--jitter", type=POSITIVE_SPAN, metavar="SPAN", help="Put arrivals off by chance, up to such a span."
)
@click.option(
    "--confidence", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.95,
    show_default=True, help="Of the intervals.",
)  # fmt: skip
@click.option(
    "--processes", type=click.IntRange(min=1), metavar="N",
    help="How many at a time; by default one per core.",
)  # fmt: skip
@stage_options
@click.option("--report", "report_file", type=click.Path(path_type=Path), help="Write an HTML report.")
@click.option(
    "--save", "save_to", multiple=True, type=click.Path(path_type=Path), metavar="PATH",
    help="Write the figures of all runs: .json, .csv or .parquet; repeatable.",
)  # fmt: skip
@workload_options
@wide_output_option
def compare(  # noqa: PLR0917 - one parameter per option
    workload_file: Path,
    conf_files: tuple[Path, ...],
    presets: tuple[str, ...],
    strict: bool,
    plugins: tuple[str, ...],
    node_texts: tuple[str, ...],
    seed_count: int,
    seed: int,
    processes: int | None,
    report_file: Path | None,
    save_to: tuple[Path, ...],
    output: Style | None,
    **given: Any,
) -> None:
    """Run WORKLOAD under several configurations and tell which is better at what, and how surely.

    The first configuration is the base. All see the same arrivals. A generated workload has other jobs with
    every seed, and hazards strike elsewhere; a trace is the same every time, so that one run each is
    made, unless --resample or --jitter changes them. Ctrl-C stops and tells what there is so far.
    """

    for saved in save_to:
        form_of(saved)
        require_writable(saved)
    require_writable(report_file)
    arrivals = chosen_arrivals(given)
    registry = registry_with(plugins)
    compared_confs = chosen_entrants(conf_files, presets, registry, strict=strict)
    nodes = chosen_nodes(node_texts, given)
    with readable_again(workload_file) as path:
        source = WorkloadFile.of(path, {**given, "seed": seed}, nodes)
        some = source(seed)
        with watched([compared_conf.name for compared_conf in compared_confs], seed, output) as watch:
            comparison = compare_all(
                source,
                compared_confs,
                seeds=range(seed, seed + seed_count),
                nodes=nodes or default_nodes(some),
                options=chosen_options(given),
                arrivals=arrivals,
                confidence=given["confidence"],
                processes=processes or os.cpu_count() or 1,
                plugins=plugins,
                on_progress=watch.show,
                is_stopped=watch.is_stopped,
            )
    tell_account(comparison.account)
    warn(comparison.notes)
    if not comparison.against:
        echo("stopped before two runs of one seed were complete: nothing to compare", err=True)
        sys.exit(INTERRUPTED)
    _echo(comparison, output)
    _save(comparison, report_file, save_to)
    if not comparison.is_complete:
        sys.exit(INTERRUPTED)


def watched(
    names: Sequence[str], first_seed: int, output: Style | None
) -> AbstractContextManager[RunMonitor]:
    return watching(names, first_seed, quiet=is_for_machines(output))


@dataclass(frozen=True)
class WorkloadFile:
    """A workload that every process reads for itself."""

    path: Path
    given: Mapping[str, Any]
    nodes: Sequence[Node]
    is_sampled: bool = False
    """A share of the jobs of a trace is taken, which is to be the same for every seed."""

    @staticmethod
    def of(path: Path, given: Mapping[str, Any], nodes: Sequence[Node]) -> WorkloadFile:
        whole = WorkloadFile(path, {**given, "sample": 1.0, "limit": given["limit"] or LOOKED_AT}, nodes)
        is_sampled = given["sample"] < 1 and list(whole(0).jobs()) == list(whole(1).jobs())
        return WorkloadFile(path, given, nodes, is_sampled)

    def __call__(self, seed: int) -> Workload:
        """What is generated by chance differs with the seed; a sample of a trace is one and the same."""
        given = dict(self.given)
        if not self.is_sampled:
            given["sample_seed"] = (given["sample_seed"] or 0) + seed
        return chosen_workload(self.path, given, self.nodes)


@contextmanager
def readable_again(path: Path) -> Iterator[Path]:
    """The file, or one with what comes from standard input."""
    if str(path) != STDIN:
        yield path
        return
    with TemporaryDirectory(prefix="hekla-") as folder:
        copy = Path(folder) / "stdin"
        with copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield copy


def chosen_entrants(
    conf_files: Sequence[Path], presets: Sequence[str], registry: Registry, *, strict: bool
) -> list[ComparedConf]:
    if len(conf_files) + len(presets) < 2:
        raise click.UsageError(
            "give two configurations or more, by --conf or --preset; the first is the base"
        )
    names = [*names_of(conf_files), *presets]
    chosen: list[tuple[Path | None, str | None]] = [
        *((path, None) for path in conf_files),
        *((None, preset) for preset in presets),
    ]
    return [
        ComparedConf(name, chosen_conf(*one, registry, strict=strict), registry)
        for name, one in zip(numbered(names), chosen, strict=True)
    ]


def chosen_arrivals(given: Mapping[str, Any]) -> Arrivals:
    resample, jitter = given["resample"], given["jitter"]
    for option, span in (("--resample", resample), ("--jitter", jitter)):
        if span is not None and not 0 < span < math.inf:
            raise click.BadParameter(f'expected a finite span above 0, got "{span:g}"', param_hint=option)
    if resample is not None and jitter is not None:
        raise click.UsageError("give either --resample or --jitter, not both")
    if resample is not None:
        return Resampled(resample)
    return AsTheyAre() if jitter is None else Jittered(jitter)


def _save(comparison: Comparison, report_file: Path | None, save_to: Sequence[Path]) -> None:
    for path in save_to:
        save_comparison(comparison, path)
        echo(f"wrote {path}", err=True)
    if report_file is not None:
        write_comparison_report(comparison, report_file)
        echo(f"wrote {report_file}", err=True)


def _echo(comparison: Comparison, output: Style | None) -> None:
    if output is not None and is_for_machines(output):
        echo_data(comparison_data(comparison), output)
        return
    is_wide = output is Style.WIDE
    lines = judged_lines(comparison, details=is_wide)
    echo_coloured([(part.text, COLOURS.get(part.judgement, "")) for part in line] for line in lines)
    if sys.stdout.isatty() and not is_wide:
        echo(f"\n{MORE}")


def is_for_machines(output: Style | None) -> bool:
    return output is not None and output.is_data
