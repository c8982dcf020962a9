"""Trials: one configuration with one seed, each, and what is kept of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from hekla.conf import Conf
from hekla.errors import HeklaError, InputError
from hekla.framework.registry import Registry
from hekla.insight.compare.arrivals import Arrivals
from hekla.insight.compare.pairs import JobFigures, job_figures
from hekla.measures import Summary, summarize
from hekla.objects import Node
from hekla.scheduler.builtin import BUILTIN
from hekla.sim.options import Options
from hekla.sim.run import Run
from hekla.sim.simulate import Progress, simulate
from hekla.workloads import Account, Submission, Workload

WorkloadOf = Callable[[int], Workload]
"""The workload for a seed."""


@dataclass(frozen=True)
class Entrant:
    """A configuration that takes part, and the actions and plugins that it names."""

    name: str
    conf: Conf
    registry: Registry = BUILTIN


@dataclass(frozen=True)
class Setup:
    """What all trials have in common."""

    workload_of: WorkloadOf
    arrivals: Arrivals
    entrants: tuple[Entrant, ...]
    nodes: tuple[Node, ...]
    options: Options
    kept_seed: int
    """Of this seed whole runs are kept."""


@dataclass(frozen=True)
class Trial:
    entrant: int
    seed: int


@dataclass(frozen=True)
class Result:
    """What is kept of a run."""

    trial: Trial
    summary: Summary
    jobs: JobFigures
    account: Account
    run: Run | None


@dataclass(frozen=True)
class Listed:
    """A workload with all its jobs at hand, the same for every seed: it can be sent to another process."""

    workload: Workload
    submissions: tuple[Submission, ...]
    account: Account = field(default_factory=Account)

    @staticmethod
    def of(workload: Workload) -> Listed:
        submissions = tuple(workload.jobs())
        return Listed(replace(workload, jobs=_none, account=Account()), submissions, workload.account)

    def __call__(self, seed: int) -> Workload:  # noqa: ARG002 - a workload of its own has none
        def jobs() -> Iterator[Submission]:
            return iter(self.submissions)

        return replace(self.workload, jobs=jobs, count=len(self.submissions), account=self.account)


def _none() -> Iterator[Submission]:
    return iter(())


def play(
    setup: Setup,
    trial: Trial,
    on_progress: Callable[[Progress], None],
    is_stopped: Callable[[], bool],
) -> Result | None:
    """The trial's result; none if it was stopped. What goes wrong says in which trial."""
    entrant = setup.entrants[trial.entrant]
    try:
        workload = setup.arrivals(setup.workload_of(trial.seed), trial.seed)
        run = simulate(
            workload,
            entrant.conf,
            nodes=setup.nodes,
            registry=entrant.registry,
            seed=trial.seed,
            options=setup.options,
            conf_name=entrant.name,
            on_progress=on_progress,
            is_stopped=is_stopped,
        )
    except HeklaError as error:
        raise InputError(f"{entrant.name}, seed {trial.seed}: {error}") from error
    # A run that nobody limited and that did not come to its end was interrupted from within.
    if not run.is_complete and (is_stopped() or math.isinf(setup.options.until)):
        return None
    kept = run if trial.seed == setup.kept_seed else None
    return Result(trial, summarize(run), job_figures(run), workload.account, kept)


def trials_of(entrants: Sequence[Entrant], seeds: Sequence[int]) -> list[Trial]:
    """Seed by seed, so that pairs are complete early."""
    return [Trial(entrant, seed) for seed in seeds for entrant in range(len(entrants))]
