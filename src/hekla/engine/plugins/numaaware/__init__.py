"""NUMA aware: keep tasks off nodes whose kubelet would turn them away, and prefer few NUMA nodes.

Only Guaranteed pods that ask for whole CPUs get CPUs of their own. Which CPUs that are follows from
the node's free ones; a placement takes them, and undoing it returns exactly those.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hekla.conf import argument
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import BATCH_NODE_ORDER, PREDICATE, AnyPoint, Scope, answers
from hekla.engine.ledger.arrays import Floats, Mask, Rows
from hekla.engine.model.diagnosis import Code, Refusal
from hekla.engine.model.requests import is_guaranteed, whole_cpus
from hekla.engine.model.resources import CPU
from hekla.engine.model.status import Status
from hekla.engine.model.task import NOWHERE, Task
from hekla.engine.plugins.kubernetes.pods import Holdings
from hekla.engine.plugins.numaaware.cpu_topology import (
    NO_CPUS,
    CpuSet,
    CpuTopology,
    assign,
    pick,
    topology_of,
    union,
)
from hekla.engine.plugins.numaaware.row_memory import RowMemory
from hekla.errors import InputError
from hekla.objects import Numatopology
from hekla.objects.complaint import Complaint
from hekla.objects.keys import NUMA_POLICY
from hekla.objects.node import CpuInfo
from hekla.objects.quantity import whole

CPU_MANAGER, TOPOLOGY_MANAGER = "CPUManagerPolicy", "TopologyManagerPolicy"
STATIC = "static"
NO_POLICY = ("", "none")

MAX_NODE_SCORE = 100


class CpuWish(NamedTuple):
    """The policy a Guaranteed pod insists on, and the whole CPUs each of its containers asks for."""

    policy: str
    cpus: tuple[int, ...]

    @property
    def insists(self) -> bool:
        return self.policy not in NO_POLICY


class NumaFit(NamedTuple):
    """Why the node turns the task away, or the CPUs it would give each container."""

    reason: str = ""
    plain: str = ""
    code: Code = Code.ERROR
    cpus: tuple[CpuSet, ...] = ()


PASSES = NumaFit()
NO_NUMA_INFO = NumaFit("node(s) had no NUMA topology", "NUMA topology unknown")
NOT_STATIC = NumaFit("node(s) didn't have the static cpu manager policy", "cpu manager policy not static")
OTHER_POLICY = NumaFit("node(s) had another topology manager policy", "other topology manager policy")
NO_FREE_CPUS = NumaFit("node(s) had no free CPUs of their own", "no CPU free to be given to one task alone")
NOT_ADMITTED = NumaFit(
    "node(s) couldn't align the CPUs to NUMA nodes",
    "CPUs would lie on too many NUMA nodes",
    Code.UNRESOLVABLE,
)


@dataclass
class NodeCpus:
    """One node's CPUs: which are free now, which the system keeps, and by what rules it gives them out."""

    topology: CpuTopology
    free: CpuSet
    reserved: CpuSet
    cpu_policy: str
    policy: str
    reported: frozenset[str]
    """Pods that the node agent has counted already."""


@dataclass(frozen=True)
class CpuAssignment:
    """The CPUs decided for a task: by container, and how many on each NUMA node."""

    node: str
    containers: Mapping[str, str]
    per_numa_node: Mapping[int, int]

    def __str__(self) -> str:
        cpus = ", ".join(f"{name}: {cpus}" for name, cpus in self.containers.items())
        return f"CPUs on {self.node}: {cpus}"


@dataclass(frozen=True)
class NumaAwareArguments:
    weight: int = argument(1, key="weight", help="how much the score counts")


class NumaAware(Plugin):
    """Volcano remembers the CPUs that the predicate found for a task; here they are worked out again
    when the task is placed, which gives the same, and never the same CPU to two tasks.
    """

    name = "numa-aware"
    hands_out_devices = True
    Arguments = NumaAwareArguments

    def on_open(self) -> None:
        self._cpus_of_row: dict[int, NodeCpus] = {}
        self._wishes: dict[str, CpuWish | None] = {}
        self._holdings: Holdings[tuple[int, tuple[CpuSet, ...]]] = Holdings()
        self._numa_nodes = RowMemory(self.session, self._numa_nodes_needed)
        self._read_topologies()
        self._count_unreported()

    def _read_topologies(self) -> None:
        known: dict[tuple[tuple[str, CpuInfo], ...], CpuTopology] = {}
        for manifest in self.session.snapshot.all_of(Numatopology):
            row = self.session.nodes.row_of.get(manifest.metadata.name)
            if row is None:
                continue
            details = tuple(manifest.spec.cpu_detail.items())
            try:
                if details not in known:
                    known[details] = topology_of(manifest.spec.cpu_detail)
                self._cpus_of_row[row] = cpus_of(manifest, known[details])
            except InputError as error:
                subject = f"numatopology {manifest.key}"
                self.session.snapshot.complaints.append(Complaint(subject, f"left out: {error}"))

    def _count_unreported(self) -> None:
        """Pods that are sent to a node but that its agent has not seen yet hold their CPUs already."""
        bound = [task for task in self.session.tasks if task.status is Status.BOUND and task.node != NOWHERE]
        for task in sorted(bound, key=lambda task: (task.created, task.uid)):
            node = self._cpus_of_row.get(task.node)
            if node is not None and task.uid not in node.reported:
                node.free &= ~union(self._judge(task, task.node).cpus)

    def silent_on(self) -> Collection[AnyPoint | str]:
        """Nothing to say where no task could be turned away or get CPUs of its own."""
        wishes = [self._wish_of(task) for task in self.session.tasks]
        matters = any(wish is not None and (wish.insists or self._cpus_of_row) for wish in wishes)
        return () if matters else (PREDICATE, BATCH_NODE_ORDER)

    def distinguishes(self, task: Task) -> CpuWish | None:
        return self._wish_of(task)

    # Answers

    def wants_own_cpus(self, task: Task) -> bool:
        return self._wish_of(task) is not None

    @answers(PREDICATE, Scope.ROW, concerns=wants_own_cpus)
    def refuse_nodes_that_would_turn_it_away(self, task: Task, rows: Rows) -> list[Refusal] | None:
        wanted = np.arange(len(self.session.nodes))[rows].tolist()
        verdicts = [self._judge(task, row) for row in wanted]
        refusing = {verdict.reason: verdict for verdict in verdicts if verdict.reason}
        return [
            Refusal(reason, np.array([given.reason == reason for given in verdicts]), said.code, said.plain)
            for reason, said in refusing.items()
        ]

    @answers(BATCH_NODE_ORDER, concerns=wants_own_cpus)
    def prefer_few_numa_nodes(self, task: Task, among: Mask) -> Floats | None:
        wish = self._wish_of(task)
        if wish is None or not wish.insists:
            return None
        needed = self._numa_nodes.of(task)
        most = int(needed.max(where=among, initial=0))
        if most == 0:
            return None
        score = (MAX_NODE_SCORE - needed * MAX_NODE_SCORE // most).astype(np.float64)
        return np.multiply(score, float(self.arguments.weight))

    def _numa_nodes_needed(self, task: Task, row: int) -> int:
        cpus = union(self._judge(task, row).cpus)
        return len(self._cpus_of_row[row].topology.covered(cpus)) if cpus else 0

    def _judge(self, task: Task, row: int) -> NumaFit:
        wish, node = self._wish_of(task), self._cpus_of_row.get(row)
        if wish is None:
            return PASSES
        if wish.insists:
            problem = _mismatch(wish, node)
            if problem is not None:
                return problem
        if node is None or node.cpu_policy != STATIC or node.policy in NO_POLICY:
            return PASSES
        cpus = assign(node.topology, node.policy, node.free & ~node.reserved, wish.cpus)
        return NOT_ADMITTED if cpus is None else NumaFit(cpus=cpus)

    def _wish_of(self, task: Task) -> CpuWish | None:
        if task.uid not in self._wishes:
            self._wishes[task.uid] = wish_of(task)
        return self._wishes[task.uid]

    # Events

    def on_allocate(self, task: Task) -> None:
        held = self._holdings.take(task, lambda: self._choose(task))
        if held is not None:
            row, cpus = held
            self._cpus_of_row[row].free &= ~union(cpus)

    def on_release(self, task: Task) -> None:
        held = self._holdings.give_back(task)
        if held is not None:
            row, cpus = held
            self._cpus_of_row[row].free |= union(cpus)

    def _choose(self, task: Task) -> tuple[int, tuple[CpuSet, ...]] | None:
        cpus = self._judge(task, task.node).cpus
        return (task.node, cpus) if union(cpus) else None

    @property
    def assignments(self) -> dict[str, CpuAssignment]:
        """What was decided in this session, by the UID of the task."""
        tasks = {task.uid: task for task in self.session.tasks}
        return {
            uid: self._assignment(tasks[uid], row, cpus) for uid, (row, cpus) in self._holdings.held.items()
        }

    def _assignment(self, task: Task, row: int, cpus: tuple[CpuSet, ...]) -> CpuAssignment:
        topology, everything = self._cpus_of_row[row].topology, union(cpus)
        given = zip(task.pod.spec.containers, cpus, strict=True)
        return CpuAssignment(
            self.session.nodes.names[row],
            {container.name: topology.spelled(part) for container, part in given if part},
            {at: (topology.numa_nodes[at] & everything).bit_count() for at in topology.covered(everything)},
        )

    def on_close(self) -> None:
        assignments = self.assignments
        for task in self.session.tasks:
            if task.status is Status.BINDING and task.uid in assignments:
                self.session.trace.of_job(
                    task.job, f"{task.name} gets {assignments[task.uid]}", speaker=self.name
                )


def cpus_of(manifest: Numatopology, topology: CpuTopology) -> NodeCpus:
    """The node's CPUs as its agent reports them; raises InputError where the report cannot be read."""
    spec = manifest.spec
    free = spec.numares[CPU].allocatable if CPU in spec.numares else ""
    return NodeCpus(
        topology=topology,
        free=topology.named(free),
        reserved=pick(topology, topology.everything, whole(spec.res_reserved.get(CPU, 0))),
        cpu_policy=spec.policies.get(CPU_MANAGER, ""),
        policy=spec.policies.get(TOPOLOGY_MANAGER, ""),
        reported=frozenset(pod.uid for pod in spec.pod_allocations),
    )


def wish_of(task: Task) -> CpuWish | None:
    """What the task wants of a node's CPUs; None where it gets none of its own."""
    try:
        if not is_guaranteed(task.pod):
            return None
    except InputError:  # a limit that is no quantity; requests were read before
        return None
    policy = task.pod.metadata.annotations.get(NUMA_POLICY, "")
    return CpuWish(policy, tuple(whole_cpus(container.resources) for container in task.pod.spec.containers))


def _mismatch(wish: CpuWish, node: NodeCpus | None) -> NumaFit | None:
    """Why a node cannot serve a task that insists on a policy."""
    if node is None:
        return NO_NUMA_INFO
    if node.cpu_policy != STATIC:
        return NOT_STATIC
    if node.policy != wish.policy:
        return OTHER_POLICY
    return NO_FREE_CPUS if node.free == NO_CPUS else None
