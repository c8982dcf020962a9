"""Resource strategy fit: resource by resource, prefer full or empty nodes; spare those with scarce devices.

Three opinions: pack or spread per kind of resource; keep tasks that need no device off nodes
that have some; and on such nodes leave enough cores and memory for the devices that are idle.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hekla.conf import argument
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import NODE_ORDER, PREDICATE, AnyPoint, Scope, answers
from hekla.engine.ledger.arrays import Amounts, Floats, Mask
from hekla.engine.ledger.axis import CPU_COLUMN, MEMORY_COLUMN
from hekla.engine.ledger.states import NodeStates
from hekla.engine.model.diagnosis import Code, Refusal
from hekla.engine.model.resources import MEMORY, PODS, is_whole
from hekla.engine.model.task import Task
from hekla.engine.plugins.class_memory import ClassMemory
from hekla.engine.plugins.resource_strategy_fit.strategies import (
    LEAST,
    MOST,
    Strategy,
    read_reserves,
    read_scarce,
    read_strategies,
    strategies_of,
    strategy_for,
)
from hekla.objects.keys import STRATEGY_TYPE, STRATEGY_WEIGHT

MAX_NODE_SCORE = 100.0
BYTES_PER_MILLI_DEVICE = 1e6
RESERVED = "node(s) kept cpu and memory for idle devices"

Columns = Sequence[tuple[int, Strategy]]
"""Columns that count, each with its strategy."""


@dataclass(frozen=True)
class ResourceStrategyFitArguments:
    weight: float = argument(
        10.0,
        key="resourceStrategyFitWeight",
        minimum=0,
        help="how much the fit of resources counts, in whole numbers; 0 turns it off",
    )
    resources: Mapping[str, object] = argument(
        {},
        key="resources",
        check=read_strategies,
        help='by resource or prefix with "*": {type: MostAllocated or LeastAllocated, weight: 1}; '
        "without any, cpu and memory are kept free alike",
    )
    scarce: Mapping[str, object] = argument(
        {},
        key="sra",
        check=read_scarce,
        help="nodes to spare: {enable, resources: a comma list, weight, resourceWeight: {name: 1}}",
    )
    proportional: Mapping[str, object] = argument(
        {},
        key="proportional",
        check=read_reserves,
        help="what idle devices keep free: {enable, resources: a comma list, "
        "resourceProportion: {<name>.cpu: cores each, <name>.memory: GB each}}",
    )


class ResourceStrategyFit(Plugin):
    """A pod may bring its own strategy in annotations."""

    name = "resource-strategy-fit"
    Arguments = ResourceStrategyFitArguments

    def on_open(self) -> None:
        told, axis, nodes = self.arguments, self.session.axis, self.session.nodes
        self._strategies = read_strategies(told.resources)
        self._counted = ClassMemory(self.session, self._columns_for)
        self._scarce = read_scarce(told.scarce)
        reserves = {
            axis.column_of[name]: reserve
            for name, reserve in read_reserves(told.proportional).items()
            if name in axis.column_of
        }
        self._reserves = {
            column: (scale * reserve.cpu, scale * reserve.memory * BYTES_PER_MILLI_DEVICE)
            for column, reserve in reserves.items()
            for scale in (milli_units(axis.names[column]),)
        }
        self._offers = {
            column: np.array([axis.names[column] in node.allocatable for node in nodes.nodes], dtype=np.bool_)
            for column in self._reserves
        }

    def silent_on(self) -> Collection[str | AnyPoint]:
        is_useful = {
            self.prefer_nodes_by_resource: int(self.arguments.weight) > 0,
            self.spare_nodes_with_scarce_resources: self._scarce.weight > 0,
            self.refuse_what_idle_devices_need: bool(self._reserves),
        }
        return [answer.__name__ for answer, useful in is_useful.items() if not useful]

    def distinguishes(self, task: Task) -> Hashable:
        notes = task.pod.metadata.annotations
        return notes.get(STRATEGY_TYPE), notes.get(STRATEGY_WEIGHT)

    @answers(PREDICATE, Scope.LEDGER)
    def refuse_what_idle_devices_need(self, task: Task, states: NodeStates) -> list[Refusal] | None:
        if any(task.vector[column] > 0 for column in self._reserves):
            return None
        offers = {column: offered[states.rows] for column, offered in self._offers.items()}
        short = eats_into_reserve(task.vector, states.idle, offers, self._reserves)
        plain = "cpu and memory kept for idle devices"
        return [Refusal(RESERVED, short, Code.UNRESOLVABLE, plain)] if short.any() else None

    @answers(NODE_ORDER, Scope.LEDGER)
    def prefer_nodes_by_resource(self, task: Task, states: NodeStates) -> Floats | None:
        columns = self._counted.of(task)
        if not columns:
            return None
        score = fit(task.vector, states.used, states.allocatable, columns)
        return score * (MAX_NODE_SCORE * int(self.arguments.weight))

    @answers(NODE_ORDER, Scope.CLASS)
    def spare_nodes_with_scarce_resources(self, task: Task) -> Floats | None:
        scarce, columns = self._scarce, self.session.axis.column_of
        total = sum(scarce.weights.values())
        if not total:
            return None
        known = {columns[name]: weight for name, weight in scarce.weights.items() if name in columns}
        plain = plainness(task.vector, self.session.nodes.allocatable, known, total)
        return plain * (MAX_NODE_SCORE * scarce.weight)

    def _columns_for(self, task: Task) -> Columns:
        """The resources the task asks for and that have a strategy."""
        strategies, names = strategies_of(task.pod, self._strategies), self.session.axis.names
        asked = [int(column) for column in np.flatnonzero(task.vector > 0)]
        found = [(column, strategy_for(names[column], strategies)) for column in asked]
        return [(column, strategy) for column, strategy in found if strategy is not None]


def milli_units(resource: str) -> float:
    """How many of the units that reserves are counted in make one of the ledger's units."""
    return 1000.0 if is_whole(resource) and resource not in (MEMORY, PODS) else 1.0


def fit(request: Amounts, used: Amounts, allocatable: Amounts, columns: Columns) -> Floats:
    """How well each node suits the strategies, from 0 to 1; a node that would overflow scores 0.

    request: (R,)   used, allocatable: (R, N)   ->   (N,)
    """
    score = np.zeros(used.shape[1])
    overflows = np.zeros(len(score), dtype=np.bool_)
    for column, strategy in columns:
        if strategy.weight == 0 or strategy.type not in (MOST, LEAST):
            continue
        capacity, after = allocatable[column], used[column] + request[column]
        offered = capacity > 0
        overflows |= offered & (after > capacity)
        wanted = after if strategy.type == MOST else capacity - after
        score += np.divide(wanted * float(strategy.weight), capacity, out=np.zeros(len(score)), where=offered)
    score[overflows] = 0.0
    # What a node lacks and what has no known type scores nothing, but its weight counts.
    total = sum(strategy.weight for _, strategy in columns)
    return score / total if total else np.zeros(len(score))


def plainness(request: Amounts, allocatable: Amounts, scarce: Mapping[int, int], total: int) -> Floats:
    """How little each node has of what is scarce, from 0 to 1; 0 where it lacks what the task asks for.

    request: (R,)   allocatable: (N, R)   scarce: weights by column   ->   (N,)
    """
    has = np.zeros(len(allocatable))
    for column, weight in scarce.items():
        has += weight * (allocatable[:, column] > 0)
    serves = (allocatable[:, request > 0] > 0).all(axis=1)
    return np.where(serves, 1.0 - has / total, 0.0)


def eats_into_reserve(
    request: Amounts,
    idle: Amounts,
    offers: Mapping[int, Mask],
    reserves: Mapping[int, tuple[float, float]],
) -> Mask:
    """Nodes where the task would leave too little cpu or memory for a device that is idle.

    request: (R,)   idle: (R, N)   offers: (N,) by column   reserves: cpu and memory by column   ->   (N,)
    """
    left_cpu = idle[CPU_COLUMN] - request[CPU_COLUMN]
    left_memory = idle[MEMORY_COLUMN] - request[MEMORY_COLUMN]
    short = np.zeros(len(left_cpu), dtype=np.bool_)
    for column, (cpu, memory) in reserves.items():
        devices = idle[column]
        short |= offers[column] & ((left_cpu < devices * cpu) | (left_memory < devices * memory))
    return short
