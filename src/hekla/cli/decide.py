"""`hekla decide`: one scheduling cycle, for scenarios and for manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from hekla.cli.embedded_run import embed
from hekla.cli.from_cluster import conf_for, facts_for, ignored_provisioners_option, live_options, reach
from hekla.cli.options import (
    GoSwitches,
    WarningPrinter,
    chosen_conf,
    configuration,
    registry_with,
    usable_conf,
)
from hekla.cli.outcome import echo_outcome
from hekla.cli.output import Style, as_json, echo, warn, wide_output_option
from hekla.clock import WallClock, stopwatch
from hekla.cluster.embedded import Options
from hekla.conf import Conf
from hekla.engine.explain.explanation import Explanation
from hekla.engine.framework.profile import Profile
from hekla.engine.framework.registry import Registry
from hekla.engine.model.node import Shard
from hekla.engine.state.snapshot import Snapshot, take_snapshot
from hekla.errors import HeklaError, InputError
from hekla.objects import seconds
from hekla.objects.scenario import is_scenario, read_scenario
from hekla.scheduler.cycle import CycleReport, run_cycle
from hekla.scheduler.load.read import LoadReader
from hekla.scheduler.outcome import outcome_of

DAY = 86_400.0


@click.command(cls=GoSwitches)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@configuration
@live_options
@ignored_provisioners_option
@click.option(
    "--cycles", default=1, show_default=True, type=click.IntRange(1), help="Show the last of N cycles."
)
@click.option("--profile", is_flag=True, help="Show where the time went, by action and plugin.")
@wide_output_option
def decide(  # noqa: PLR0917 - one parameter per option
    files: tuple[Path, ...],
    conf_file: Path | None,
    preset: str | None,
    strict: bool,
    plugins: tuple[str, ...],
    cycles: int,
    profile: bool,
    output: Style | None,
    **live: Any,
) -> None:
    """Run one scheduling cycle over FILES and print what it decides.

    FILES are manifests (YAML or JSON, many documents, folders, - for standard input), or scenarios: JSON
    files that carry a configuration and objects. Several scenarios give one JSON object per line.

    With --from-cluster the cycle runs on the state of a live cluster, and FILES, if any, are supposed to be
    in it as well. Nothing is bound, evicted or written.
    """
    registry, ignored = registry_with(plugins), live["ignored_provisioners"]
    if checked_source(files, live, cycles):
        start = stopwatch()
        report = cycle_on_live(files, conf_file, preset, registry, strict=strict, profile=profile, **live)
        loaded = stopwatch() - start - sum(report.times.values())
        echo_outcome(outcome_of("cluster", report, load_seconds=loaded), report, output or Style.TABLE)
        return
    if all(is_scenario(file) for file in files):
        own_conf = chosen_conf(conf_file, preset, registry, strict=strict) if conf_file or preset else None
        decide_scenarios(files, own_conf, registry, ignored, strict=strict, profile=profile, output=output)
        return
    conf = chosen_conf(conf_file, preset, registry, strict=strict)
    start = stopwatch()
    report = after_cycles(files, conf, registry, cycles, ignored, profile=profile)
    loaded = stopwatch() - start - sum(report.times.values())
    echo_outcome(outcome_of(str(files[0]), report, load_seconds=loaded), report, output or Style.TABLE)


def checked_source(files: Sequence[Path], live: dict[str, Any], cycles: int) -> bool:
    """Whether a live cluster is meant; says so where the command line makes no sense."""
    if live["from_cluster"]:
        if cycles > 1:
            raise click.UsageError("--cycles needs files: nothing is carried out on a live cluster")
        return True
    if not files:
        raise click.UsageError("give FILES, or --from-cluster")
    for option in ("kubeconfig", "context", "conf_place"):
        if live[option] is not None:
            raise click.UsageError("--kubeconfig, --context and --conf-from-cluster need --from-cluster")
    return False


def cycle_on_live(
    files: Sequence[Path],
    conf_file: Path | None,
    preset: str | None,
    registry: Registry,
    *,
    strict: bool,
    kubeconfig: Path | None,
    context: str | None,
    conf_place: str | None,
    names: tuple[str, ...],
    ignored_provisioners: tuple[str, ...],
    profile: bool = False,
    **_: Any,
) -> CycleReport:
    """One cycle on what the cluster is now; what it decides is only told."""
    access = reach(kubeconfig, context)
    conf = conf_for(access, conf_file, preset, conf_place, registry, strict=strict)
    facts = facts_for(access, names, files)
    snapshot = take_snapshot(facts, ignored_provisioners=ignored_provisioners)
    now = WallClock().now()
    LoadReader(conf, registry).put_into(snapshot, now)
    warn(str(complaint) for complaint in snapshot.complaints)
    return run_cycle(snapshot, conf, registry=registry, now=now, profile=Profile() if profile else None)


def decide_scenarios(
    files: Sequence[Path],
    conf: Conf | None,
    registry: Registry,
    ignored: tuple[str, ...] = (),
    *,
    strict: bool,
    profile: bool,
    output: Style | None,
) -> None:
    """Each scenario by itself; one that cannot be used does not keep the rest from being decided."""
    style = output or (Style.TABLE if len(files) == 1 else Style.JSON)
    failures = 0
    for file in files:
        try:
            start = stopwatch()
            loaded = load_scenario(file, registry, conf, ignored, strict=strict)
            load_seconds = stopwatch() - start
            report = run_cycle(
                loaded.snapshot,
                loaded.conf,
                registry=registry,
                now=loaded.now,
                memory=loaded.memory,
                profile=Profile() if profile else None,
            )
            echo_outcome(outcome_of(loaded.name, report, load_seconds=load_seconds), report, style)
        except HeklaError as error:
            failures += 1
            echo_failure(file, error, style)
    if failures:
        raise InputError(f"{failures} of {len(files)} scenarios could not be decided")


@dataclass(frozen=True)
class Loaded:
    """A scenario ready to be decided."""

    snapshot: Snapshot
    conf: Conf
    name: str
    now: float
    memory: dict[str, float]


def load_scenario(
    file: Path, registry: Registry, conf: Conf | None, ignored: tuple[str, ...] = (), *, strict: bool
) -> Loaded:
    """The scenario in a file; unless it says so, the time is a day after everything that it tells of."""
    scenario = read_scenario(file)
    own = conf or usable_conf(scenario.conf, f"{file}: conf", registry, strict=strict)
    sharding = scenario.sharding
    shard = Shard(sharding.mode, frozenset(sharding.nodes)) if sharding is not None else None
    ignored = ignored or scenario.ignored_provisioners
    snapshot = take_snapshot(scenario.objects, shard=shard, ignored_provisioners=ignored)
    made = (seconds(thing.metadata.creation_timestamp) for thing in scenario.objects)
    now = DAY + max(made, default=0.0) if scenario.now is None else scenario.now
    LoadReader(own, registry).put_into(snapshot, now)
    warn(f"{file}: {complaint}" for complaint in (*scenario.complaints, *snapshot.complaints))
    return Loaded(snapshot, own, scenario.name, now, scenario.memory)


def echo_failure(file: Path, error: HeklaError, style: Style) -> None:
    """A line in place of the answer, so that the lines still match the files."""
    if style is Style.JSON:
        echo(as_json({"name": file.stem, "error": str(error)}))
    else:
        echo(f"error: {error}", err=True)


def after_cycles(
    files: Sequence[Path],
    conf: Conf,
    registry: Registry,
    cycles: int,
    ignored: tuple[str, ...] = (),
    *,
    profile: bool = False,
) -> CycleReport:
    """The last of so many cycles on an embedded cluster that holds these manifests."""

    options = Options(ignored_provisioners=ignored)
    embedded, printer = embed(files, conf, registry, options=options), WarningPrinter()
    with embedded.loop as loop:
        for _ in range(cycles):
            report = loop.step(Profile() if profile else None)
            printer.tell((*embedded.cluster.complaints, *report.session.snapshot.complaints))
    return report


def as_mapping(explanation: Explanation) -> Mapping[str, object]:
    return {
        "job": explanation.job,
        "queue": explanation.queue,
        "phase": explanation.phase,
        "headline": explanation.headline,
        "code": None if explanation.code is None else explanation.code.value,
        "verdict": None if explanation.verdict is None else explanation.verdict.value,
        "reasons": list(explanation.reasons),
    }
