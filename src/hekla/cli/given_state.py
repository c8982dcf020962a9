"""The state of a cluster that answers about jobs are worked out from: manifests, a scenario, or live."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from hekla.cli.from_cluster import conf_for, facts_for, reach
from hekla.cli.from_files import manifests_in
from hekla.cli.options import SPAN, chosen_conf, usable_conf
from hekla.cli.output import warn
from hekla.clock import WallClock
from hekla.conf import Conf
from hekla.engine.framework.registry import Registry
from hekla.engine.model.node import Shard
from hekla.insight.explain import SAMPLES, ClusterState, ExpectedStart, StartAssumptions
from hekla.insight.forecast import Sampling, read_history
from hekla.insight.plan import admitted_state, with_first_pods
from hekla.objects import Manifest, VolcanoJob
from hekla.objects.scenario import is_scenario, read_scenario
from hekla.simulation.workloads.manifests import youngest
from hekla.text import counted

Command = TypeVar("Command", bound=Callable[..., Any])
OnComplaints = Callable[[Iterable[object]], None]
_WORK = re.compile(r"\b(?:job|podgroup|pod) ([^\s:]+):", re.IGNORECASE)
"""Whom a complaint is about, where that is a job or a part of one."""


@dataclass(frozen=True)
class ConfOptions:
    """What the command line says about the configuration."""

    file: Path | None
    preset: str | None
    registry: Registry
    strict: bool

    @property
    def is_given(self) -> bool:
        return self.file is not None or self.preset is not None

    def conf(self) -> Conf:
        """The one in a file, a preset, or the one that is built in."""
        return chosen_conf(self.file, self.preset, self.registry, strict=self.strict)


def tell_all(complaints: Iterable[object]) -> None:
    warn(map(str, complaints))


def tell_of(names: Collection[str]) -> OnComplaints:
    """Tells what concerns these jobs; what is wrong with other jobs, and with their pods, is left out."""

    def concerns(complaint: str) -> bool:
        found = _WORK.search(complaint)
        return found is None or any(bare_name(name) in found[1] for name in names)

    return lambda complaints: warn(text for text in map(str, complaints) if concerns(text))


def bare_name(name: str) -> str:
    """Without its namespace."""
    return name.rpartition("/")[2]


def state_in(files: Sequence[Path], options: ConfOptions, tell: OnComplaints = tell_all) -> ClusterState:
    """A scenario as it stands, conf, time and all; manifests as a cluster would admit them."""
    if len(files) == 1 and is_scenario(files[0]):
        return state_in_scenario(files[0], options, tell)
    conf = options.conf()
    return state_of(manifests_in(files, tell), conf, options.registry, tell)


def state_of(
    manifests: Sequence[Manifest], conf: Conf, registry: Registry, tell: OnComplaints | None = None
) -> ClusterState:
    """What a cluster would make of the manifests before anything is scheduled."""
    admitted = admitted_state(manifests)
    if tell is not None:
        tell(admitted.complaints)
    written = [each for each in manifests if isinstance(each, VolcanoJob)]
    is_dated = youngest(manifests) > 0
    return ClusterState(admitted.objects, manifests, conf, registry, is_dated=is_dated, written=written)


def state_in_scenario(file: Path, options: ConfOptions, tell: OnComplaints = tell_all) -> ClusterState:
    scenario = read_scenario(file)
    tell(f"{file}: {complaint}" for complaint in scenario.complaints)
    registry, strict = options.registry, options.strict
    conf = (
        options.conf()
        if options.is_given
        else usable_conf(scenario.conf, f"{file}: conf", registry, strict=strict)
    )
    sharding = scenario.sharding
    return ClusterState(
        with_first_pods(scenario.objects),
        scenario.objects,
        conf,
        registry,
        now=scenario.now,
        memory=scenario.memory,
        shard=Shard(sharding.mode, frozenset(sharding.nodes)) if sharding is not None else None,
        ignored_provisioners=scenario.ignored_provisioners,
    )


def live_state(
    options: ConfOptions,
    files: Sequence[Path],
    *,
    kubeconfig: Path | None,
    context: str | None,
    conf_place: str | None,
    names: tuple[str, ...],
    **_: Any,
) -> ClusterState:
    """A live cluster with its Jobs, and what files suppose to be in it as well."""
    access = reach(kubeconfig, context)
    conf = conf_for(access, options.file, options.preset, conf_place, options.registry, strict=options.strict)
    facts = facts_for(access, names, files, with_jobs=True)
    return ClusterState(
        with_first_pods(facts),
        facts,
        conf,
        options.registry,
        now=WallClock().now(),
        scheduler_names=names,
    )


# When jobs start


def assumption_options(command: Command) -> Command:
    """What an expected start supposes."""
    for option in reversed(
        (
            click.option(
                "--samples", default=SAMPLES, show_default=True, type=click.IntRange(0),
                help="How many simulations tell the expected start; 0: it is not told.",
            ),
            click.option(
                "--history", "histories", multiple=True, type=click.Path(path_type=Path),
                help="Ended jobs to learn run times from: a saved run, or a workload; repeatable.",
            ),
            click.option(
                "--default-duration", type=SPAN, help="How long jobs run of which nothing else is known."
            ),
            click.option(
                "--arrivals", type=click.FloatRange(0), metavar="RATE",
                help="Jobs that come later: so many per hour like those there are.",
            ),
        )
    ):  # fmt: skip
        command = option(command)
    return command


def assumptions_of(given: dict[str, Any]) -> StartAssumptions | None:
    """What the options say; None where no expected start is asked for."""
    if not given["samples"]:
        return None
    return StartAssumptions(
        history=[past for path in given["histories"] for past in read_history(path)],
        run_seconds=given["default_duration"],
        arrivals=given["arrivals"],
        sampling=Sampling(rolls=given["samples"]),
    )


def spoken_expectation(expected: ExpectedStart) -> str:
    """`p50 in 2.0 h (14:05), p90 in 5.1 h (17:10); 20 samples`, or why it cannot be told."""
    from hekla.cli.forecast import spoken_start  # noqa: PLC0415 - needs what only an expected start needs

    if expected.unknown:
        return expected.unknown
    if not expected.p90:
        return "now"
    p50, p90 = (spoken_start(value, expected) for value in (expected.p50, expected.p90))
    return f"p50 {p50}, p90 {p90}; {counted(expected.samples, 'sample')}"
