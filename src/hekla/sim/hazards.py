"""Hazards: what goes wrong by plan and by chance.

Chance is drawn per node and per pod from the seed alone, never from the order of what happens: the same
node fails at the same moments under every configuration.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from hekla.objects import Node
from hekla.workloads import Fault, Hazards, NodeDrains, NodeFails, NodesAdded

if TYPE_CHECKING:
    from hekla.sim.stage import Stage

_OF_NODES, _OF_PODS = range(2)


class Dice:
    """Draws spans of time until something fails."""

    def __init__(self, hazards: Hazards, seed: int) -> None:
        self._hazards = hazards
        self._seed = seed

    def pod_fails_after(self, job: int, pod: int, life: int) -> float:
        """Seconds of running until the pod fails in this life of its."""
        mean = self._hazards.pod_failure_seconds
        if mean is None:
            return math.inf
        chance = np.random.default_rng((self._seed, _OF_PODS, job, pod, life))
        return float(chance.exponential(mean))

    def node_chance(self, number: int) -> np.random.Generator:
        return np.random.default_rng((self._seed, _OF_NODES, number))


class Trouble:
    """Lets nodes fail and come back."""

    def __init__(self, stage: Stage, dice: Dice, hazards: Hazards) -> None:
        self._stage = stage
        self._dice = dice
        self._hazards = hazards

    def plan_faults(self, faults: Iterable[Fault], nodes: dict[str, Node]) -> None:
        """What the workload foresees."""
        for fault in faults:
            match fault:
                case NodeFails():
                    self._stage.plan(fault.at, self._stage.fail_node, fault.node)
                    if fault.for_seconds is not None:
                        self._stage.plan(
                            fault.at + fault.for_seconds, self._stage.add_node, nodes[fault.node]
                        )
                case NodeDrains():
                    self._stage.plan(fault.at, self._stage.drain_node, fault.node)
                    if fault.for_seconds is not None:
                        self._stage.plan(fault.at + fault.for_seconds, self._stage.open_node, fault.node)
                case NodesAdded():
                    self._stage.plan(fault.at, self._add_all, fault.nodes)

    def _add_all(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            self._stage.add_node(node)

    def plan_chance(self, nodes: Iterable[Node]) -> None:
        """What happens to these nodes by chance."""
        if self._hazards.node_failure_seconds is None:
            return
        for number, node in enumerate(nodes):
            self._plan_failure((node, self._dice.node_chance(number)))

    def _plan_failure(self, subject: tuple[Node, np.random.Generator]) -> None:
        mean = self._hazards.node_failure_seconds
        assert mean is not None
        at = self._stage.now + float(subject[1].exponential(mean))
        self._stage.plan(at, self._fail, subject, is_background=True)

    def _fail(self, subject: tuple[Node, np.random.Generator]) -> None:
        node, chance = subject
        self._stage.fail_node(node.metadata.name)
        at = self._stage.now + float(chance.exponential(self._hazards.node_repair_seconds))
        self._stage.plan(at, self._repair, subject)

    def _repair(self, subject: tuple[Node, np.random.Generator]) -> None:
        self._stage.add_node(subject[0])
        self._plan_failure(subject)
