"""Trials: the runs of a comparison, one after the other or in processes of their own, and what chance alone
would do."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from ctypes import c_double
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import zip_longest
from multiprocessing import get_context
from typing import Any

from hekla.conf import Conf
from hekla.engine.framework.registry import Registry, load_class
from hekla.errors import HeklaError, InputError
from hekla.insight.compare.arrivals import Arrivals, Jittered, Resampled
from hekla.insight.compare.pairs import JobFigures, job_figures
from hekla.objects import Node
from hekla.processes import is_told_to_stop, process_pool
from hekla.scheduler.builtin import BUILTIN
from hekla.simulation.measures import Summary, summarize
from hekla.simulation.options import SimulationOptions
from hekla.simulation.run import Run
from hekla.simulation.simulate import Progress, simulate
from hekla.simulation.workloads import Account, Submission, Workload

WorkloadOf = Callable[[int], Workload]
"""The workload for a seed."""


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


@dataclass(frozen=True)
class ListedWorkload:
    """A workload with all its jobs at hand, the same for every seed: it can be sent to another process."""

    workload: Workload
    submissions: tuple[Submission, ...]
    account: Account = field(default_factory=Account)

    @staticmethod
    def of(workload: Workload) -> ListedWorkload:
        submissions = tuple(workload.jobs())
        return ListedWorkload(replace(workload, jobs=_none, account=Account()), submissions, workload.account)

    def __call__(self, seed: int) -> Workload:  # noqa: ARG002 - a workload of its own has none
        def jobs() -> Iterator[Submission]:
            return iter(self.submissions)

        return replace(self.workload, jobs=jobs, count=len(self.submissions), account=self.account)


def _none() -> Iterator[Submission]:
    return iter(())


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


class Chance(Enum):
    ARRIVALS = "arrivals"
    """Every seed brings other jobs."""
    FAILURES = "failures"
    """The same jobs with every seed, but other nodes and pods fail."""
    RESAMPLED = "resampled"
    """Every seed draws anew from one trace."""
    JITTERED = "jittered"
    """Every seed shifts the arrivals of one trace."""
    NONE = "none"
    """A seed changes nothing: one run tells all."""


def chance_of(workload_of: WorkloadOf, arrivals: Arrivals, seeds: Sequence[int]) -> Chance:
    """Found out by looking at the jobs of the first two seeds."""
    if isinstance(arrivals, Resampled):
        return Chance.RESAMPLED
    if isinstance(arrivals, Jittered):
        return Chance.JITTERED
    first = workload_of(seeds[0])
    if len(seeds) > 1 and _differ(first, workload_of(seeds[1])):
        return Chance.ARRIVALS
    hazards = first.hazards
    is_risky = hazards.node_failure_seconds is not None or hazards.pod_failure_seconds is not None
    return Chance.FAILURES if is_risky else Chance.NONE


def _differ(one: Workload, other: Workload) -> bool:
    return any(mine != its for mine, its in zip_longest(one.jobs(), other.jobs()))


POLL_SECONDS = 0.1
UNKNOWN = -1.0

OnProgress = Callable[[int, Progress], None]
"""The number of the trial, and how far it has come."""
SharedProgress = Any
"""Shared numbers: first whether to stop, then five for every trial; ctypes has no type for it."""
_FIELDS = 5


def in_turn(
    setup: Setup, trials: Sequence[ComparedTrial], on_progress: OnProgress, is_stopped: Callable[[], bool]
) -> Iterator[TrialResult]:
    """One trial after the other, here."""
    for number, trial in enumerate(trials):
        result = play(setup, trial, lambda progress, at=number: on_progress(at, progress), is_stopped)  # type: ignore[misc]
        if result is None:
            return
        yield result


def in_processes(
    setup: Setup,
    trials: Sequence[ComparedTrial],
    on_progress: OnProgress,
    is_stopped: Callable[[], bool],
    *,
    processes: int,
    plugins: Sequence[str] = (),
) -> Iterator[TrialResult]:
    """As they end; once stopped, those that had ended. The first error ends all of them."""
    shared = get_context("spawn").RawArray(c_double, 1 + _FIELDS * len(trials))
    given = (shared, _packed(setup), tuple(plugins))
    try:
        with process_pool(min(processes, len(trials)), _begin, *given) as pool:
            pending = {pool.submit(_play, number, trial) for number, trial in enumerate(trials)}
            yield from _collected(pending, shared, on_progress, is_stopped)
    except BrokenProcessPool as error:
        raise HeklaError(
            "a process that simulated ended at once, killed or out of memory; try with fewer at a time"
        ) from error


def _collected(
    pending: set[Future[TrialResult | None]],
    shared: SharedProgress,
    on_progress: OnProgress,
    is_stopped: Callable[[], bool],
) -> Iterator[TrialResult]:
    while pending:
        done = wait(pending, POLL_SECONDS, FIRST_COMPLETED).done
        pending -= done  # no other reference is left: large results are freed as soon as they are used
        _tell(shared, on_progress)
        for future in done:
            result = None if future.cancelled() else future.result()
            if result is not None:
                yield result
        if is_stopped() and not shared[0]:
            shared[0] = 1.0
            for future in pending:
                future.cancel()


def _packed(setup: Setup) -> bytes:
    try:
        return pickle.dumps(setup)
    except Exception as error:  # pickle raises whatever the object that cannot be packed raises
        raise InputError(
            f"what is compared cannot be sent to another process: {error}; use one process"
        ) from error


def _tell(shared: SharedProgress, on_progress: OnProgress) -> None:
    for number in range(len(shared) // _FIELDS):
        now, submitted, finished, known, cycles = shared[1 + number * _FIELDS : 1 + (number + 1) * _FIELDS]
        if cycles:
            total = None if known == UNKNOWN else int(known)
            on_progress(number, Progress(now, int(submitted), int(finished), total, int(cycles)))


_given: tuple[SharedProgress, bytes, Sequence[str]] | None = None
_setup: Setup | None = None


def _begin(shared: SharedProgress, packed: bytes, plugins: Sequence[str]) -> None:
    """The first that a worker does. The setup is unpacked in the first trial: errors come back from there."""
    global _given  # noqa: PLW0603 - the one thing that a process is given
    _given = shared, packed, plugins


def _play(number: int, trial: ComparedTrial) -> TrialResult | None:
    assert _given is not None
    shared = _given[0]

    def show(progress: Progress) -> None:
        known = UNKNOWN if progress.count is None else progress.count
        told = (progress.now, progress.submitted, progress.finished, known, progress.cycles)
        shared[1 + number * _FIELDS : 1 + (number + 1) * _FIELDS] = told

    return play(_opened(), trial, show, lambda: bool(shared[0]) or is_told_to_stop())


def _opened() -> Setup:
    global _setup  # noqa: PLW0603 - opened once per process
    if _setup is None:
        assert _given is not None
        _, packed, plugins = _given
        for reference in plugins:
            load_class(reference)  # a class from a file is found by its module, once that is loaded
        _setup = pickle.loads(packed)  # noqa: S301 - packed by the process that started this one
    return _setup
