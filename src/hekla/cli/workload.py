"""`hekla workload`: look at workloads, make them up, and turn one form into another."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, TextIO

import click
from msgspec.structs import replace

from hekla.cli.options import SPAN, GoSwitchGroup, chosen_workload, workload_options
from hekla.cli.output import Style, echo, echo_data, output_option
from hekla.errors import InputError
from hekla.objects.quantity import write_duration
from hekla.simulation.workloads import Settings, Workload, nodes_of
from hekla.simulation.workloads import generate as generated
from hekla.simulation.workloads.summary import WorkloadSummary
from hekla.text import counted, table

FORMS = {".yaml": "yaml", ".yml": "yaml", ".jsonl": "jsonl", ".ndjson": "jsonl", ".swf": "swf"}
FILE = click.argument("file", type=click.Path(path_type=Path, allow_dash=True))


def out_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`-O FILE` and `--to`."""
    out = click.option(
        "-O", "--out", type=click.Path(path_type=Path), help="Where to write; else standard output."
    )
    to = click.option(
        "--to",
        type=click.Choice(sorted(set(FORMS.values()))),
        help="The form to write; else the suffix of the file says it, or yaml.",
    )
    return out(to(command))


@click.group(cls=GoSwitchGroup)
def workload() -> None:
    """Look at workloads, make them up, and turn one form into another.

    A workload says who submits what, when, and for how long: a file in YAML or JSON lines, manifests, a
    snapshot of a cluster, a recording of hekla, Slurm's accounting, a table whose columns are named, or a
    trace (Standard Workload Format, Alibaba's GPU traces of 2020 and 2023, Microsoft's Philly).
    """


@workload.command()
@FILE
@workload_options
@output_option
def show(file: Path, output: Style | None, **given: Any) -> None:
    """Tell what is in the workload FILE: jobs, queues, sizes, run times, and what was left out and why."""

    data = WorkloadSummary(chosen_workload(file, given)).as_data()
    if output is None or output is Style.TABLE:
        echo(as_text(data))
    else:
        echo_data(data, output)


@workload.command()
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="How many jobs (1000).")
@click.option("--horizon", type=SPAN, help="No job arrives later.")
@click.option("--load", type=click.FloatRange(0, min_open=True), help="The share of the nodes to keep busy.")
@click.option(
    "--rate", type=click.FloatRange(0, min_open=True), help="Jobs per hour, in place of a load (60)."
)
@click.option("--nodes", multiple=True, metavar="NODES", help='As "16 x cpu=96,memory=1Ti,gpu=8", or a file.')
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same jobs."
)
@out_options
def generate(nodes: tuple[str, ...], seed: int, out: Path | None, to: str | None, **given: Any) -> None:
    """Make up work that looks like that of a cluster for training.

    Queues, users, kinds of pods and all the rest are set in a workload file under `generate`. The nodes are
    written into the file.
    """

    if given["load"] is not None and given["rate"] is not None:
        raise click.UsageError("give either --load or --rate, not both")
    if given["load"] is not None and not nodes:
        raise click.UsageError("--load is a share of nodes: say which with --nodes")
    said = {key: value for key, value in given.items() if value is not None}
    if "horizon" in said:
        said.setdefault("jobs", None)
    cluster = nodes_of(*nodes)
    made = generated(Settings(**said), seed, cluster)
    write(replace(made, objects=(*made.objects, *cluster)), out, to)


@workload.command()
@FILE
@workload_options
@out_options
def convert(file: Path, out: Path | None, to: str | None, **given: Any) -> None:
    """Write the workload FILE in another form, or a part of it in the same."""
    write(chosen_workload(file, given), out, to)


def write(made: Workload, out: Path | None, to: str | None) -> None:
    """Write the workload; what was left out or changed is told on standard error."""
    from hekla.simulation.workloads.write import WRITERS  # noqa: PLC0415 - slow to import, and `show` does without

    form = to or form_of(out)
    with opened(out) as file:
        lost = WRITERS[form](made, file)
    for note in (*made.account.notes(), *(f"{count} not written: {what}" for what, count in lost.items())):
        echo(note, err=True)
    if out is not None:
        echo(f"wrote {counted(made.account.taken, 'job')} to {out}", err=True)


def form_of(out: Path | None) -> str:
    if out is None:
        return "yaml"
    form = FORMS.get(out.suffix.lower())
    if form is None:
        raise click.UsageError(
            f'"{out}": no form is written under this suffix; use {", ".join(FORMS)} or --to'
        )
    return form


@contextmanager
def opened(out: Path | None) -> Iterator[TextIO]:
    if out is None:
        yield sys.stdout
        return
    try:
        with out.open("w", encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise InputError(f'cannot write "{out}": {error.strerror}') from error


def as_text(data: Mapping[str, Any]) -> str:
    """The summary for people."""

    span = written(data["lastArrival"] - data["firstArrival"])
    users = f" of {counted(data['users'], 'user')}" if data["users"] else ""
    parts = [f"{data['name']}: {counted(data['jobs'], 'job')}{users} in {span}"]
    if data["jobs"]:
        heads = ("", *data["pods"])
        pods = ("pods", *(f"{value:g}" for value in data["pods"].values()))
        runs = ("run time", *map(written, data["runSeconds"].values()))
        parts += [table(heads, [pods, runs]), queue_table(data)]
    there = [f"{count} {kind}" for kind, count in data["objects"].items()]
    there += [counted(data["faults"], "fault")] if data["faults"] else []
    parts += [f"with it: {', '.join(there)}"] if there else []
    notes = [f"{count} left out: {reason}" for reason, count in data["dropped"].items()]
    notes += [f"{count} changed: {reason}" for reason, count in data["changed"].items()]
    return "\n\n".join([*parts, *(["\n".join(notes)] if notes else [])])


def queue_table(data: Mapping[str, Any]) -> str:
    """Jobs by queue, with hours of processors and GPUs."""

    shown = [name for name in data["resourceHours"] if name != "memory"]
    rows: list[Sequence[object]] = [
        (
            name,
            queue["jobs"],
            queue["users"],
            queue["pods"],
            *(f"{queue['resourceHours'].get(resource, 0):.1f}" for resource in shown),
        )
        for name, queue in data["queues"].items()
    ]
    hours = [f"{resource.rpartition('/')[2]} hours" for resource in shown]
    return table(("queue", "jobs", "users", "pods", *hours), rows)


def written(seconds: float) -> str:
    """`1h30m0s`, or days where there are many hours."""

    if seconds == float("inf"):
        return "forever"
    days, rest = divmod(seconds, 86_400)
    return f"{int(days)}d{rest / 3600:.0f}h" if days >= 2 else write_duration(timedelta(seconds=seconds))
