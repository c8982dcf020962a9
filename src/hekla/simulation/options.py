"""Options: how the simulated cluster behaves, and what goes wrong in it by plan and by chance.

Chance is drawn per node and per pod from the seed alone, never from the order of what happens: the same
node fails at the same moments under every configuration.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from hekla.objects import Node
from hekla.simulation.workloads import Fault, Hazards, NodeDrains, NodeFails, NodesAdded

if TYPE_CHECKING:
    from hekla.simulation.cluster import SimulatedCluster


START = 1_767_225_600.0
"""When simulated time begins: the first second of 2026, so that timestamps look like timestamps."""


@dataclass(frozen=True)
class SimulationOptions:
    """Spans in seconds of simulated time."""

    period: float = 1.0
    """Between two cycles; Volcano's own is a second."""
    start_seconds: float = 0.0
    """How long a bound pod takes until it works."""
    grace_seconds: float = 30.0
    """How long an evicted pod takes to go; Kubernetes' own is half a minute."""
    until: float = math.inf
    """The simulation ends then, whatever still runs."""
    longest_nap: float = math.inf
    """How long no cycle takes place while nothing changes; some plugins act on time alone."""
    precision: float = 0.0
    """What happens within this part of the time that has passed is decided on together: 0.05 means that ten
    hours after the start there is a cycle every half an hour at most. 0: every change gets its cycle."""


_OF_NODES, _OF_PODS = range(2)


class Dice:
    """Draws spans of time until something fails."""

    def __init__(self, hazards: Hazards, seed: int) -> None:
        self._hazards = hazards
        self._seed = seed

    def pod_fails_after(self, job: str, pod: int, generation: int) -> float:
        """Seconds of running until the pod fails in this generation of its."""
        mean = self._hazards.pod_failure_seconds
        if mean is None:
            return math.inf
        chance = np.random.default_rng((self._seed, _OF_PODS, crc32(job.encode()), pod, generation))
        return float(chance.exponential(mean))

    def node_chance(self, name: str) -> np.random.Generator:
        return np.random.default_rng((self._seed, _OF_NODES, crc32(name.encode())))


class Trouble:
    """Lets nodes fail and come back."""

    def __init__(self, cluster: SimulatedCluster, dice: Dice, hazards: Hazards) -> None:
        self._cluster = cluster
        self._dice = dice
        self._hazards = hazards

    def plan_faults(self, faults: Iterable[Fault]) -> None:
        """What the workload foresees."""
        cluster = self._cluster
        for fault in faults:
            match fault:
                case NodeFails():
                    self._plan_both(fault, cluster.fail_node, cluster.repair_node)
                case NodeDrains():
                    self._plan_both(fault, cluster.drain_node, cluster.open_node)
                case NodesAdded():
                    cluster.plan(fault.at, self.add, fault.nodes)

    def _plan_both(
        self, fault: NodeFails | NodeDrains, begin: Callable[[str], None], end: Callable[[str], None]
    ) -> None:
        self._cluster.plan(fault.at, begin, fault.node)
        if fault.for_seconds is not None:
            self._cluster.plan(fault.at + fault.for_seconds, end, fault.node)

    def add(self, nodes: Iterable[Node]) -> None:
        """Nodes join the cluster, and what may happen to them by chance is drawn."""
        for node in nodes:
            self._cluster.add_node(node)
            if self._hazards.node_failure_seconds is not None:
                self._plan_failure((node.metadata.name, self._dice.node_chance(node.metadata.name)))

    def _plan_failure(self, subject: tuple[str, np.random.Generator]) -> None:
        mean = self._hazards.node_failure_seconds
        assert mean is not None
        at = self._cluster.now + float(subject[1].exponential(mean))
        self._cluster.plan(at, self._fail, subject, is_background=True)

    def _fail(self, subject: tuple[str, np.random.Generator]) -> None:
        name, chance = subject
        self._cluster.fail_node(name)
        at = self._cluster.now + float(chance.exponential(self._hazards.node_repair_seconds))
        self._cluster.plan(at, self._repair, subject)

    def _repair(self, subject: tuple[str, np.random.Generator]) -> None:
        self._cluster.repair_node(subject[0])
        self._plan_failure(subject)
