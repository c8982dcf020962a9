"""`hekla plan`: would a job start, where, at whose expense, and what would help if not."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hekla.cli.from_cluster import live_options
from hekla.cli.go_switches import GoSwitches
from hekla.cli.options import configuration
from hekla.cli.style import Style, echo_data, output_option
from hekla.cli.terminal import echo, warn
from hekla.errors import InputError
from hekla.safe_text import escaped

if TYPE_CHECKING:
    from hekla.framework.registry import Registry
    from hekla.insight.plan import Planner
    from hekla.insight.plan.search import OnTry
    from hekla.objects import Manifest

WOULD_NOT_START = 4
"""The exit code for a plan of which some job would not start."""
DEFAULT_TRIES = 100


@click.command(cls=GoSwitches)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="JOB...")
@click.option(
    "-s", "--state", multiple=True, type=click.Path(path_type=Path),
    help="The cluster: a snapshot, a scenario, or manifests; repeatable.",
)  # fmt: skip
@live_options
@configuration
@click.option("--together", is_flag=True, help="Each job finds those before it in place.")
@click.option(
    "--tries", default=DEFAULT_TRIES, show_default=True, type=click.IntRange(0),
    help="How many changes are tried out at most; 0 suggests nothing.",
)  # fmt: skip
@output_option
def plan(  # noqa: PLR0917 - one parameter per option
    files: tuple[Path, ...],
    state: tuple[Path, ...],
    conf_file: Path | None,
    preset: str | None,
    strict: bool,
    plugins: tuple[str, ...],
    together: bool,
    tries: int,
    output: Style | None,
    **live: Any,
) -> None:
    """Tell whether JOB would start now: on which nodes, and whose pods would have to go.

    JOB is a file with a Job of Volcano, a PodGroup with its pods, or a Pod. If it would not start, what holds
    it back is told, and the smallest changes with which it would, each of them tried out. Nothing is
    submitted, bound, evicted or written.

    Exit codes: 0 it would start, now or after evictions; 4 it would not; 1 a file cannot be used; 2 the
    command was called wrongly.
    """
    from hekla.cli.options import registry_with  # noqa: PLC0415 - --help stays quick
    from hekla.cli.planned import told  # noqa: PLC0415

    registry = registry_with(plugins)
    given: dict[str, Any] = {"conf_file": conf_file, "preset": preset, "strict": strict}
    if checked_source(state, live):
        planner = planner_on_live(registry, **given, **live)
    else:
        planner = planner_on_files(state, registry, **given)
    warn(map(str, planner.complaints))
    jobs = manifests_in(files)
    with progress(tries) as on_try:
        plans = planner.plan(jobs, together=together, tries=tries, on_try=on_try)
    if output in (Style.JSON, Style.YAML):
        echo_data([each.as_data() for each in plans], output)
    else:
        echo("\n\n".join(map(told, plans)))
    if not all(each.starts for each in plans):
        sys.exit(WOULD_NOT_START)


def checked_source(state: Sequence[Path], live: dict[str, Any]) -> bool:
    """Whether a live cluster is meant; says so where the command line makes no sense."""
    if bool(state) == live["from_cluster"]:
        raise click.UsageError("give the cluster: either --state FILE or --from-cluster")
    if not live["from_cluster"] and any(
        live[option] is not None for option in ("kubeconfig", "context", "conf_place")
    ):
        raise click.UsageError("--kubeconfig, --context and --conf-from-cluster need --from-cluster")
    return bool(live["from_cluster"])


def planner_on_live(
    registry: Registry,
    *,
    conf_file: Path | None,
    preset: str | None,
    strict: bool,
    kubeconfig: Path | None,
    context: str | None,
    conf_place: str | None,
    names: tuple[str, ...],
    **_: Any,
) -> Planner:
    from hekla.cli.from_cluster import conf_for, facts_for, reach  # noqa: PLC0415 - --help stays quick
    from hekla.clock import WallClock  # noqa: PLC0415
    from hekla.insight.plan import Planner  # noqa: PLC0415

    access = reach(kubeconfig, context)
    conf = conf_for(access, conf_file, preset, conf_place, registry, strict=strict)
    facts = facts_for(access, names, ())
    return Planner(facts, conf, registry=registry, now=WallClock().now(), scheduler_names=names)


def planner_on_files(
    state: Sequence[Path], registry: Registry, *, conf_file: Path | None, preset: str | None, strict: bool
) -> Planner:
    """A scenario is taken as it stands, conf, time and all; manifests as a cluster would admit them."""
    from hekla.cli.options import chosen_conf  # noqa: PLC0415 - --help stays quick
    from hekla.insight.plan import Planner, admitted_state  # noqa: PLC0415
    from hekla.objects.scenario import is_scenario  # noqa: PLC0415

    if len(state) == 1 and is_scenario(state[0]):
        own = chosen_conf(conf_file, preset, registry, strict=strict) if conf_file or preset else None
        return planner_on_scenario(state[0], registry, own, strict=strict)
    conf = chosen_conf(conf_file, preset, registry, strict=strict)
    admitted = admitted_state(manifests_in(state))
    warn(map(str, admitted.complaints))
    return Planner(admitted.objects, conf, registry=registry)


def planner_on_scenario(file: Path, registry: Registry, own: Any, *, strict: bool) -> Planner:
    from hekla.cli.options import usable_conf  # noqa: PLC0415 - --help stays quick
    from hekla.insight.plan import Planner  # noqa: PLC0415
    from hekla.model.shard import Shard  # noqa: PLC0415
    from hekla.objects.scenario import read_scenario  # noqa: PLC0415

    scenario = read_scenario(file)
    warn(f"{file}: {complaint}" for complaint in scenario.complaints)
    conf = own or usable_conf(scenario.conf, f"{file}: conf", registry, strict=strict)
    sharding = scenario.sharding
    shard = Shard(sharding.mode, frozenset(sharding.nodes)) if sharding is not None else None
    return Planner(
        scenario.objects, conf, registry=registry, now=scenario.now, memory=scenario.memory, shard=shard
    )


def manifests_in(files: Sequence[Path]) -> list[Manifest]:
    """What the files hold; what cannot be used of them is told on standard error."""
    from hekla.objects.read import read_manifests  # noqa: PLC0415

    for file in files:
        if str(file) != "-" and not file.exists():
            raise InputError(f'no file or folder "{file}"')
    reading = read_manifests(files)
    warn(map(str, reading.complaints))
    if not reading.objects:
        raise InputError("no usable object in " + ", ".join(f'"{file}"' for file in files))
    return reading.objects


@contextmanager
def progress(tries: int) -> Iterator[OnTry | None]:
    """A line on a terminal that counts the tries, and is gone afterwards."""
    if not sys.stderr.isatty():
        yield None
        return

    def say(count: int, change: str) -> None:
        told = f"trying changes: {count} of at most {tries}: {escaped(change)[:40]}"
        click.echo(f"\r\x1b[K{told}", nl=False, err=True)

    try:
        yield say
    finally:
        click.echo("\r\x1b[K", nl=False, err=True)
