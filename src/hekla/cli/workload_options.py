"""Options that say how a file becomes a workload, for every command that takes one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hekla.cli.spans import SPAN

if TYPE_CHECKING:
    from hekla.objects import Node
    from hekla.workloads import Workload

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = ("hekla", "jsonl", "manifests", "swf", "openb", "pai", "philly")

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
        "--pod-cpus", type=click.IntRange(min=1), default=1, metavar="N",
        help="SWF: processors per pod (1).",
    ),
    click.option(
        "--status", "statuses", type=int, multiple=True, metavar="N",
        help="SWF: only jobs with this status; may be repeated.",
    ),
    click.option("--follow", is_flag=True, help="SWF: jobs wait for their preceding job."),
    click.option("--any-gpu", is_flag=True, help="Alibaba: the model of a GPU does not matter."),
    click.option("--gpu-shares", is_flag=True, help="Alibaba: ask for thousandths of GPUs."),
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
    from hekla.workloads import read_workload  # noqa: PLC0415 - --help stays quick

    return read_workload(
        path,
        nodes=nodes,
        format=given["format"],
        limit=given["limit"],
        sample=given["sample"],
        seed=given.get("seed", 0) if given["sample_seed"] is None else given["sample_seed"],
        speedup=given["speedup"],
        duration=given["default_duration"],
        lenient=given["lenient"],
        pod_cpus=given["pod_cpus"],
        statuses=frozenset(given["statuses"]) or None,
        follow=given["follow"],
        any_gpu=given["any_gpu"],
        gpu_shares=given["gpu_shares"],
        job_table=given["job_table"],
    )
