"""Trials: what the runs of a comparison have in common, and what is kept of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hekla.conf import Conf
from hekla.engine.framework.registry import Registry
from hekla.errors import HeklaError, InputError
from hekla.insight.compare.pairs import JobFigures, job_figures
from hekla.objects import Node
from hekla.scheduler.builtin import BUILTIN
from hekla.simulation.measures import Summary, summarize
from hekla.simulation.options import SimulationOptions
from hekla.simulation.run import Run
from hekla.simulation.simulate import Progress, simulate
from hekla.simulation.workloads import Account
from hekla.simulation.workloads.arrivals import Arrivals, WorkloadOf


@dataclass(frozen=True)
class ComparedConf:
    """A configuration that takes part, and the actions and plugins that it names."""

    name: str
    conf: Conf
    registry: Registry = BUILTIN


@dataclass(frozen=True)
class Setup:
    """What all trials have in common."""

    workload_of: WorkloadOf
    arrivals: Arrivals
    compared_confs: tuple[ComparedConf, ...]
    nodes: tuple[Node, ...]
    options: SimulationOptions
    kept_seed: int
    """Of this seed whole runs are kept."""


@dataclass(frozen=True)
class ComparedTrial:
    compared_conf: int
    seed: int


@dataclass(frozen=True)
class TrialResult:
    """What is kept of a run."""

    trial: ComparedTrial
    summary: Summary
    jobs: JobFigures
    account: Account
    run: Run | None


def play(
    setup: Setup,
    trial: ComparedTrial,
    on_progress: Callable[[Progress], None],
    is_stopped: Callable[[], bool],
) -> TrialResult | None:
    """The trial's result; none if it was stopped. What goes wrong says in which trial."""
    compared_conf = setup.compared_confs[trial.compared_conf]
    try:
        workload = setup.arrivals(setup.workload_of(trial.seed), trial.seed)
        run = simulate(
            workload,
            compared_conf.conf,
            nodes=setup.nodes,
            registry=compared_conf.registry,
            seed=trial.seed,
            options=setup.options,
            conf_name=compared_conf.name,
            on_progress=on_progress,
            is_stopped=is_stopped,
        )
    except HeklaError as error:
        raise InputError(f"{compared_conf.name}, seed {trial.seed}: {error}") from error
    # A run without a limit that did not come to its end was interrupted from within.
    if not run.is_complete and (is_stopped() or math.isinf(setup.options.until)):
        return None
    kept = run if trial.seed == setup.kept_seed else None
    return TrialResult(trial, summarize(run), job_figures(run), workload.account, kept)


def trials_of(compared_confs: Sequence[ComparedConf], seeds: Sequence[int]) -> list[ComparedTrial]:
    """Seed by seed, so that pairs are complete early."""
    return [
        ComparedTrial(compared_conf, seed) for seed in seeds for compared_conf in range(len(compared_confs))
    ]
