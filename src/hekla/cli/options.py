"""Options that several commands share, and the types of their values: spans of time, sizes, switches as Go
writes them.

Spans are as Go writes them, and with days: `500ms`, `1m30s`, `7d`, `1d12h`, or a number of seconds; sizes
are as Kubernetes writes them: `500Mi`, `1Gi`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from hekla.cli.examples import write_examples
from hekla.cli.output import warn
from hekla.conf import BUILT_IN_DEFAULT, PRESETS, Conf, configuration_in, read_conf, require
from hekla.engine.framework.registry import Registry
from hekla.errors import ConfError, InputError
from hekla.objects import Node
from hekla.objects.quantity import LONGEST, read_long_span, whole
from hekla.scheduler.builtin import BUILTIN
from hekla.simulation.workloads import Workload, read_workload
from hekla.simulation.workloads.columns import columns_in

WHOLE = 1000
"""Characters that no sentence has."""
SHELL_WORD = "2>&1"
"""Stands last in the arguments of Volcano's Deployments, where no shell reads it."""


class WithExamples(click.Command):
    """A command whose help ends with examples."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        write_examples(ctx.command_path, formatter)


class GoSwitches(WithExamples):
    """A command whose switches may have a value after `=`; manifests made for Volcano write them so.

    `former` are old names of options, which go on to work, with the ones that they have now.
    """

    def __init__(self, *given: Any, former: Mapping[str, str] | None = None, **more: Any) -> None:
        super().__init__(*given, **more)
        self._former = former or {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(self._plain(args, ctx)))

    def _plain(self, args: Sequence[str], ctx: click.Context) -> Iterator[str]:
        """The words as click knows them; a switch that is off anyway needs none."""
        end = args.index("--") if "--" in args else len(args)
        for word in map(self._renamed, args[:end]):
            name, _, value = word.partition("=")
            switch = self._switch(name) if value else None
            if switch is not None:
                yes, no = switch.opts[:1], switch.secondary_opts[:1]
                yield from yes if click.BOOL.convert(value, switch, ctx) is (name in switch.opts) else no
            elif word != SHELL_WORD:
                yield word
        yield from args[end:]

    def _renamed(self, word: str) -> str:
        name, equals, value = word.partition("=")
        if name not in self._former:
            return word
        warn([f"{name} is now {self._former[name]}"])
        return self._former[name] + equals + value

    def _switch(self, name: str) -> click.Option | None:
        switches = (option for option in self.params if isinstance(option, click.Option) and option.is_flag)
        return next((one for one in switches if name in (*one.opts, *one.secondary_opts)), None)


class GoSwitchGroup(WithExamples, click.Group):
    """A group of such commands."""

    command_class = GoSwitches

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """With the whole first sentence of each: cut, it would say less than its name."""
        names = self.list_commands(ctx)
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.commands[name].get_short_help_str(WHOLE)) for name in names])


class Span(click.ParamType[float]):
    """Seconds from 0 to a hundred years; `is_positive` leaves 0 out."""

    name = "duration"

    def __init__(self, *, is_positive: bool = False) -> None:
        self._is_positive = is_positive

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = _seconds(str(value))
        if math.isnan(seconds):
            self.fail(f'"{value}" is no span of time; write it like "1s", "1m30s" or "7d"', param, ctx)
        if seconds < 0 or (self._is_positive and seconds == 0):
            self.fail(f'"{value}" is too short; expected a span {self._least}', param, ctx)
        if seconds > LONGEST:
            self.fail(f'"{value}" is too long; expected a span of at most a hundred years', param, ctx)
        return seconds

    @property
    def _least(self) -> str:
        return "above 0" if self._is_positive else "of at least 0"


def _seconds(text: str) -> float:
    """What the text says; NaN where it says nothing."""
    for read in (float, read_long_span):
        try:
            return read(text)
        except (InputError, ValueError):
            pass
    return math.nan


class Size(click.ParamType[int]):
    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            size = whole(str(value))
        except InputError:
            size = 0
        if size <= 0:
            self.fail(f'"{value}" is no size; write it like "500Mi" or "2Gi"', param, ctx)
        return size


SPAN, POSITIVE_SPAN, SIZE = Span(), Span(is_positive=True), Size()


Command = TypeVar("Command", bound=Callable[..., Any])
CONF_HELP = "A volcano-scheduler.conf, or a ConfigMap with one."


strict_option = click.option(
    "--strict", is_flag=True, help="Treat warnings about the configuration as errors."
)
plugin_option = click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="MODULE:CLASS",
    help="Add a plugin or action of your own (also file.py:Class).",
)


def configuration(command: Command) -> Command:
    """`--conf`, `--preset`, `--strict` and `--plugin`."""
    for option in reversed(
        (
            click.option("--conf", "conf_file", type=click.Path(path_type=Path), help=CONF_HELP),
            click.option(
                "--preset", type=click.Choice(sorted(PRESETS)), help="A built-in configuration instead."
            ),
            strict_option,
            plugin_option,
        )
    ):
        command = option(command)
    return command


def registry_with(plugins: Iterable[str]) -> Registry:
    """Everything built in, installed, and named on the command line."""
    registry = BUILTIN.with_installed()
    for reference in plugins:
        registry = registry.with_named(reference)
    return registry


def chosen_conf(conf_file: Path | None, preset: str | None, registry: Registry, *, strict: bool) -> Conf:
    """The configuration to use; its mistakes are told on standard error."""
    if conf_file is not None and preset is not None:
        raise click.UsageError("give either --conf or --preset, not both")
    if conf_file is not None:
        return usable_conf(read_text(conf_file), str(conf_file), registry, strict=strict)
    text = PRESETS[preset].text if preset else BUILT_IN_DEFAULT
    return usable_conf(text, preset or "default", registry, strict=strict)


def named_conf(conf_file: Path | None, preset: str | None) -> str:
    """What the configuration is called in results."""
    return preset or "default" if conf_file is None else conf_file.name


def usable_conf(text: str, source: str, registry: Registry, *, strict: bool) -> Conf:
    reading = read_conf(text, source, registry.catalogue())
    conf = require(reading, strict)
    warn(str(mistake) for mistake in reading[1])
    return conf


def read_conf_text(path: Path) -> str:
    """The text of the configuration in a file, where a ConfigMap holds it without what is around it."""
    text = read_text(path)
    found = configuration_in(text)
    if not found.is_found:
        raise ConfError("\n".join(f"error: {replace(one, source=str(path))}" for one in found.mistakes))
    return str(found.text)


def read_text(path: Path) -> str:
    """A text file; `-` is standard input."""
    try:
        return sys.stdin.read() if str(path) == "-" else path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f'cannot read "{path}": {reason}') from error


class WarningPrinter:
    """Tells complaints on standard error, each once."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def tell(self, complaints: Iterable[object]) -> None:
        news = [text for text in map(str, complaints) if text not in self._told]
        self._told.update(news)
        warn(dict.fromkeys(news))


FORMATS = ("hekla", "jsonl", "manifests", "swf", "openb", "pai", "philly", "csv", "sacct", "recording", "run")

_OPTIONS = (
    click.option("--format", type=click.Choice(FORMATS), help="The form of the file; else it is found out."),
    click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N jobs."),
    click.option(
        "--sample", type=click.FloatRange(0, 1), default=1.0, metavar="SHARE",
        help="A share of the jobs from 0 to 1, picked by chance.",
    ),
    click.option(
        "--sample-seed", type=click.IntRange(min=0), metavar="SEED",
        help="Same seed, same sample and same generated jobs; else --seed, where there is one.",
    ),
    click.option(
        "--speedup", type=click.FloatRange(0, min_open=True), default=1.0, metavar="TIMES",
        help="Jobs arrive so many times as fast, and run as long as ever.",
    ),
    click.option("--default-duration", type=SPAN, help="For jobs that do not say how long they run."),
    click.option("--lenient", is_flag=True, help="Count broken rows of a trace instead of giving up."),
    click.option(
        "--columns", multiple=True, metavar="KEY=COLUMN,...",
        help="Tables: which column says what, as submit=SubmitTime,run=Minutes:min,cpu=Cores; repeatable.",
    ),
    click.option(
        "--time-zone", default="UTC", show_default=True, metavar="ZONE",
        help="Tables, sacct: of times that name none, as Europe/Berlin.",
    ),
    click.option(
        "--queue-from", default="Partition", show_default=True, metavar="COLUMN",
        help="sacct: the column that is the queue, as Account.",
    ),
    click.option(
        "--pod-cpus", type=click.IntRange(min=1), default=1, metavar="N",
        help="SWF: processors per pod (1).",
    ),
    click.option(
        "--status", "statuses", type=int, multiple=True, metavar="N",
        help="SWF: only jobs with this status; may be repeated.",
    ),
    click.option("--follow", is_flag=True, help="SWF: jobs wait for their preceding job."),
    click.option("--any-gpu", is_flag=True, help="Alibaba, sacct: the model of a GPU does not matter."),
    click.option("--gpu-shares", is_flag=True, help="Alibaba, tables: ask for thousandths of GPUs."),
    click.option(
        "--job-table", type=click.Path(path_type=Path), help="Alibaba v2020: the job table, for users."
    ),
)  # fmt: skip


def workload_options(command: Command) -> Command:
    """Everything that `chosen_workload` understands."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def chosen_workload(path: str | Path, given: Mapping[str, Any], nodes: Sequence[Node] = ()) -> Workload:
    """The workload in a file, read as the options say; `given` may hold other options as well."""
    return read_workload(path, nodes=nodes, **reading_options(given))


def reading_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """What the command line says of how workloads are read."""
    return {
        "format": given["format"],
        "limit": given["limit"],
        "sample": given["sample"],
        "seed": given.get("seed", 0) if given["sample_seed"] is None else given["sample_seed"],
        "speedup": given["speedup"],
        "duration": given["default_duration"],
        "lenient": given["lenient"],
        "columns": columns_in(given["columns"]) if given["columns"] else {},
        "time_zone": given["time_zone"],
        "queue_from": given["queue_from"],
        "pod_cpus": given["pod_cpus"],
        "statuses": frozenset(given["statuses"]) or None,
        "follow": given["follow"],
        "any_gpu": given["any_gpu"],
        "gpu_shares": given["gpu_shares"],
        "job_table": given["job_table"],
    }
