"""Trials: one size with one seed, under the same arrivals as every other size; also with limits eased."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from hekla.conf import Conf
from hekla.engine.framework.registry import Registry
from hekla.errors import HeklaError, InputError
from hekla.insight.capacity.goals import Goal
from hekla.insight.capacity.observed import WarmUp, observed, utilisation
from hekla.insight.capacity.sizing import Sizing, with_default_queue
from hekla.objects import Manifest, Node, Queue
from hekla.objects.meta import ResourceList
from hekla.simulation.options import SimulationOptions
from hekla.simulation.run import Floats
from hekla.simulation.simulate import Progress, Simulation
from hekla.simulation.workloads import Account, Workload
from hekla.simulation.workloads.arrivals import Arrivals, WorkloadOf
from hekla.simulation.workloads.nodes import node_called

M = TypeVar("M", bound=Manifest)


@dataclass(frozen=True)
class SizeSetup:
    """What all trials have in common."""

    workload_of: WorkloadOf
    arrivals: Arrivals
    sizing: Sizing
    goals: tuple[Goal, ...]
    conf: Conf
    registry: Registry
    options: SimulationOptions
    warm_up: WarmUp


@dataclass(frozen=True)
class Easing:
    """Which limits are eased, to see what they are to blame for."""

    copies: int = 1
    """So many times as many nodes."""
    has_capabilities: bool = True
    """Whether queues' capabilities hold."""
    lifted: str = ""
    """The one queue whose capability does not hold."""


AS_IT_IS = Easing()


@dataclass(frozen=True)
class SizeTrial:
    value: int
    seed: int
    easing: Easing = AS_IT_IS


@dataclass(frozen=True)
class SizeOutcome:
    """What is kept of a run."""

    trial: SizeTrial
    observed: tuple[Floats, ...]
    """For every goal."""
    utilisation: dict[str, float]
    capabilities: dict[str, ResourceList]
    """Of queues that have one."""
    notes: tuple[str, ...]
    account: Account


def play(
    setup: SizeSetup,
    trial: SizeTrial,
    on_progress: Callable[[Progress], None],
    is_stopped: Callable[[], bool],
) -> SizeOutcome | None:
    """The trial's outcome; none if it was stopped. What goes wrong says in which trial."""
    try:
        workload = with_default_queue(setup.arrivals(setup.workload_of(trial.seed), trial.seed))
        sized = eased(setup.sizing.workload(workload, trial.value), trial.easing)
        nodes = setup.sizing.nodes(trial.value) or list(_all_of(Node, sized))
        simulation = Simulation(
            _without_nodes(sized),
            setup.conf,
            nodes=copied(nodes, trial.easing.copies),
            registry=setup.registry,
            seed=trial.seed,
            options=setup.options,
            tells_causes=False,
        )
        run = simulation.run(on_progress, is_stopped)
    except HeklaError as error:
        raise InputError(f"{setup.sizing.spoken(trial.value)}, seed {trial.seed}: {error}") from error
    # A run without a limit that did not come to its end was interrupted from within.
    if not run.is_complete and (is_stopped() or math.isinf(setup.options.until)):
        return None
    return SizeOutcome(
        trial,
        tuple(observed(run, goal, setup.warm_up) for goal in setup.goals),
        utilisation(run, setup.warm_up.ends_at(run)),
        {
            queue.metadata.name: queue.spec.capability
            for queue in _all_of(Queue, sized)
            if queue.spec.capability
        },
        tuple(run.notes),
        workload.account,
    )


def _all_of(kind: type[M], workload: Workload) -> Iterator[M]:
    return (each for each in workload.objects if isinstance(each, kind))


def _without_nodes(workload: Workload) -> Workload:
    """That other nodes are given is what was asked for, and no news."""
    return replace(workload, objects=tuple(each for each in workload.objects if not isinstance(each, Node)))


def copied(nodes: Sequence[Node], times: int) -> list[Node]:
    """So many times as many nodes."""
    more = [
        node_called(f"{node.metadata.name}-{time}", node.status, node.metadata.labels, node.spec)
        for time in range(2, times + 1)
        for node in nodes
    ]
    return [*nodes, *more]


def eased(workload: Workload, easing: Easing) -> Workload:
    """The workload without the capabilities that are not to hold."""
    if easing.has_capabilities and not easing.lifted:
        return workload
    objects = tuple(
        msgspec.structs.replace(each, spec=msgspec.structs.replace(each.spec, capability={}))
        if isinstance(each, Queue) and (not easing.has_capabilities or each.metadata.name == easing.lifted)
        else each
        for each in workload.objects
    )
    return replace(workload, objects=objects)
