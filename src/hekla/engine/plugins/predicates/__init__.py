"""Predicates: the filters of Kubernetes' own scheduler. Which nodes may the task not run on?

Whether a node has room is not asked here: the actions do that. This plugin also keeps the pod
ledger, from which its filters and the scores of `nodeorder` are read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hekla.conf import argument
from hekla.engine.framework.plugin import Objection, Plugin
from hekla.engine.framework.points import (
    PRE_PREDICATE,
    PREDICATE,
    SIMULATE_ADD,
    SIMULATE_PREDICATE,
    SIMULATE_REMOVE,
    AnyPoint,
    Scope,
    answers,
)
from hekla.engine.ledger.arrays import Rows, any_of
from hekla.engine.ledger.states import NodeStates
from hekla.engine.model.diagnosis import Code, Refusal
from hekla.engine.model.task import NOWHERE, Task
from hekla.engine.model.wait_reason import Verdict
from hekla.engine.plugins.class_memory import ClassMemory
from hekla.engine.plugins.kubernetes.nodes import (
    CORDON,
    NodeTaints,
    chosen_nodes,
    is_tolerated,
    names_conflict,
    spelled,
    why_none_is_chosen,
)
from hekla.engine.plugins.kubernetes.pod_affinity import PodAffinityFilter, has_pod_affinity
from hekla.engine.plugins.kubernetes.pods import clashes, host_ports
from hekla.engine.plugins.kubernetes.topology_spread import HARD, has_spreading, read_constraints, uneven
from hekla.engine.plugins.predicates.volume_binding import VolumeBinding
from hekla.engine.plugins.predicates.volumes import Storage, VolumeLimits, VolumeZones, has_volumes
from hekla.lazy import lazy
from hekla.objects.pod import PodSpec

Refusals = list[Refusal] | None

MOST_KEPT = 256
"""So many refusals are remembered before all are forgotten."""
TOO_MANY_PODS = "node(s) pod number exceeded"
CORDONED = "node(s) were unschedulable"
NOT_CHOSEN = "node(s) didn't match Pod's node affinity/selector"
TAINTED = "node(s) had untolerated taint(s)"
OF_NODE_CONDITIONS = "node.kubernetes.io/"
"""Keys of taints that come and go with what a node reports."""
PORT_TAKEN = "node(s) didn't have free ports for the requested pod ports"
NAMES_CONFLICT = "pod affinity terms conflict"
NOT_PREPARED = (
    "volumes cannot be reserved with enablePredicate: false; set predicate.VolumeBindingEnable: false"
)


@dataclass(frozen=True)
class PredicatesArguments:
    """What is marked as having no effect is accepted because Volcano's files may hold it."""

    node_affinity: bool = argument(
        True, key="predicate.NodeAffinityEnable", help="heed node selectors and required node affinity"
    )
    node_ports: bool = argument(True, key="predicate.NodePortsEnable", help="heed host ports")
    taint_toleration: bool = argument(
        True, key="predicate.TaintTolerationEnable", help="heed taints of nodes"
    )
    pod_affinity: bool = argument(
        True, key="predicate.PodAffinityEnable", help="heed required affinity between pods"
    )
    volume_limits: bool = argument(
        True, key="predicate.NodeVolumeLimitsEnable", help="heed how many volumes a node can attach"
    )
    volume_zone: bool = argument(
        True, key="predicate.VolumeZoneEnable", help="keep tasks in the zones of their volumes"
    )
    topology_spread: bool = argument(
        True, key="predicate.PodTopologySpreadEnable", help="heed hard topology spread constraints"
    )
    volume_binding: bool = argument(
        True, key="predicate.VolumeBindingEnable", help="heed where volumes can be reached, found or made"
    )
    cache: bool = argument(
        False, key="predicate.CacheEnable", help="no effect: equal tasks always share their answers"
    )
    dynamic_resources: bool = argument(
        True, key="predicate.DynamicResourceAllocationEnable", help="no effect, as in Volcano"
    )
    bind_timeout: int = argument(
        600, key="volumebinding.bindTimeoutSeconds", help="no effect: binding volumes is not waited for"
    )
    volume_weight: int = argument(
        1, key="volumebinding.weight", help="no effect: scores volumes only with a feature gate that is off"
    )
    volume_shape: tuple[Mapping[str, int], ...] = argument(
        ({"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}),
        key="volumebinding.shape",
        help="no effect: scores volumes only with a feature gate that is off",
    )
    resource_filter_timeout: int = argument(
        10, key="dynamicresources.filterTimeoutSeconds", help="no effect: resource claims are not read"
    )


class Predicates(Plugin):
    """Filters stand in the order in which Volcano runs them.

    Volcano's predicate cache turns a repeated refusal by cordon, node affinity or taint into an
    error. Both keep preempt and reclaim off the node, so here the refusal stays what it was.
    """

    name = "predicates"
    Arguments = PredicatesArguments
    keeps_pods = True

    def on_open(self) -> None:
        session, tasks, told = self.session, self.session.tasks, self.arguments
        self._taints = session.nodes.derived(NodeTaints)
        self._kept: dict[Hashable, Refusals] = {}
        any_volumes = tasks.some(has_volumes)
        # As in Volcano, volumes are reserved by what the pre-predicate found, for pods without volumes too.
        self.may_object = told.volume_binding and not self._is_asked()
        has_affinity = told.pod_affinity and tasks.some(has_pod_affinity)
        self._affinity = PodAffinityFilter(session) if has_affinity else None
        self._company_before: dict[str, list[Refusal]] = {}
        self._follows = False
        self._limits = VolumeLimits(session, self._storage) if any_volumes and told.volume_limits else None
        self._zones = VolumeZones(session, self._storage) if any_volumes and told.volume_zone else None
        self._binding = VolumeBinding(session, self._storage) if any_volumes and told.volume_binding else None
        self._spreading = ClassMemory(
            session, lambda task: read_constraints(session, self._taints, task, HARD)
        )

    def _is_asked(self) -> bool:
        own = [entry for tier in self.session.conf.tiers for entry in tier.plugins if entry.name == self.name]
        return all([entry.enabled("enablePredicate") for entry in own])

    @lazy
    def _storage(self) -> Storage:
        return Storage(self.session.snapshot)

    def silent_on(self) -> Collection[AnyPoint | str]:
        """Filters that are switched off, or that no node and no task of the session has a use for."""
        told, tasks = self.arguments, self.session.tasks
        is_useful = (
            (Predicates.refuse_cordoned_nodes, self._taints.any_cordoned),
            (Predicates.refuse_nodes_not_chosen, told.node_affinity),
            (Predicates.refuse_tainted_nodes, told.taint_toleration and self._taints.any_hard),
            (Predicates.refuse_taken_ports, told.node_ports and tasks.some(host_ports)),
            (Predicates.refuse_wrong_company, self._affinity is not None),
            (Predicates.refuse_too_many_volumes, self._limits is not None),
            (Predicates.refuse_other_zones, self._zones is not None),
            (Predicates.refuse_uneven_spread, told.topology_spread and tasks.some(has_spreading)),
            (Predicates.refuse_unreachable_volumes, self._binding is not None),
        )
        return [answer.__name__ for answer, useful in is_useful if not useful]

    # Events: what is promised counts at once, what is being evicted no longer does

    def on_allocate(self, task: Task) -> str | None:
        if task.node == NOWHERE:  # it ran on a node that is not known
            return None
        if self._binding is not None:
            self._binding.take(task, task.node)
        if self._limits is not None:
            self._limits.attach(task, task.node)
        self.session.pods.add(task, task.node)
        return NOT_PREPARED if self.may_object else None

    def on_allocate_all(self, tasks: Sequence[Task]) -> None:
        if self._binding is not None or self._limits is not None or tasks[0].node == NOWHERE:
            super().on_allocate_all(tasks)
        else:
            self.session.pods.add_all(tasks)

    def on_release(self, task: Task) -> None:
        if task.node == NOWHERE:
            return
        self.session.pods.remove(task, task.node)
        if self._limits is not None:
            self._limits.detach(task, task.node)
        if self._binding is not None:
            self._binding.give_back(task)

    # Before any node is looked at

    @answers(PRE_PREDICATE, Scope.CLASS)
    def object_to_hopeless_tasks(self, task: Task) -> Objection | None:
        spec = task.pod.spec
        if spec.affinity is not None and self.arguments.node_affinity and names_conflict(spec):
            plain = "its node affinity names nodes that exclude each other"
            return _objection("NodeAffinity", NAMES_CONFLICT, plain, Verdict.NEVER)
        if self._affinity is not None:
            self._affinity.prepare(task)
        if self._zones is not None and spec.volumes and (found := self._zones.objection(task)):
            return _objection("VolumeZone", *found)
        if self._binding is not None and spec.volumes and (found := self._binding.objection(task)):
            return _objection("VolumeBinding", *found)
        return None

    # Filters

    @answers(PREDICATE, Scope.LEDGER)
    def refuse_full_nodes(self, task: Task, states: NodeStates) -> Refusals:  # noqa: ARG002 - alike for all
        full = states.pod_limit <= states.pod_count
        if not np.count_nonzero(full):  # quicker than full.any(), and asked at every turn
            return None
        return [Refusal(TOO_MANY_PODS, full, plain="runs as many pods as it may")]

    @answers(PREDICATE, Scope.CLASS)
    def refuse_cordoned_nodes(self, task: Task) -> Refusals:
        if is_tolerated(CORDON, task.pod.spec.tolerations):
            return None
        return [
            Refusal(
                CORDONED,
                self._taints.cordoned,
                Code.UNRESOLVABLE,
                plain="cordoned",
                verdict=Verdict.HELD,
                if_all="all nodes are cordoned",
            )
        ]

    @answers(PREDICATE, Scope.CLASS)
    def refuse_nodes_not_chosen(self, task: Task) -> Refusals:
        spec = task.pod.spec
        if spec.affinity is not None:
            return self._those_not_chosen(spec)
        return self._once(self._those_not_chosen, spec, tuple(spec.node_selector.items()))

    def _those_not_chosen(self, spec: PodSpec) -> Refusals:
        chosen = chosen_nodes(spec, self.session.nodes.labels)
        if chosen is None or chosen.all():
            return None
        return [
            Refusal(
                NOT_CHOSEN,
                ~chosen,
                Code.UNRESOLVABLE,
                plain="not chosen by the node selector or affinity",
                permits="its selector permits",
                if_all="" if chosen.any() else why_none_is_chosen(spec, self.session.nodes.labels),
            )
        ]

    @answers(PREDICATE, Scope.CLASS)
    def refuse_tainted_nodes(self, task: Task) -> Refusals:
        spec = task.pod.spec
        return self._once(self._those_tainted, spec, spec.tolerations)

    def _those_tainted(self, spec: PodSpec) -> Refusals:
        refused, taints = self._taints.refusing(spec.tolerations)
        if not taints:
            return None
        names = f"{'taint' if len(taints) == 1 else 'taints'} {', '.join(map(spelled, taints))}"
        passes = any(taint.key.startswith(OF_NODE_CONDITIONS) for taint in taints)
        return [
            Refusal(
                TAINTED,
                refused,
                Code.UNRESOLVABLE,
                plain=f"{names} not tolerated",
                verdict=Verdict.HELD if passes else Verdict.NEVER,
                permits="its tolerations permit",
                if_all=f"it tolerates no node's taints: {names}",
            )
        ]

    def _once(self, refuse: Callable[[PodSpec], Refusals], spec: PodSpec, heeded: Hashable) -> Refusals:
        """Many kinds of tasks have few selectors and tolerations: what these come to is kept.

        Of the spec, `refuse` looks at nothing but what is said to be heeded.
        """
        key = (refuse.__name__, heeded)
        if key not in self._kept:
            if len(self._kept) == MOST_KEPT:
                self._kept.clear()
            self._kept[key] = refuse(spec)
        return self._kept[key]

    @answers(PREDICATE, Scope.ROW, concerns=lambda _, task: bool(host_ports(task)))
    def refuse_taken_ports(self, task: Task, rows: Rows) -> Refusals:
        wanted = host_ports(task)
        taken = any_of([clashes(port, self.session.pods)[rows] > 0 for port in wanted])
        ports = ", ".join(str(port.port) for port in wanted)
        return [Refusal(PORT_TAKEN, taken, plain=f"host port {ports} taken")] if taken.any() else None

    @answers(PREDICATE)
    def refuse_wrong_company(self, task: Task) -> Refusals:
        if self._affinity is None:
            return None
        self._company_before[task.uid] = refusals = self._affinity.refusals(task)
        return refusals

    # Supposing that tasks were gone

    @answers(SIMULATE_ADD)
    @answers(SIMULATE_REMOVE)
    def follow_supposition(self, _task: Task, _moved: Task) -> None:
        """The pod ledger has followed already; being told means that what it shows may be used."""
        self._follows = True

    @answers(SIMULATE_PREDICATE)
    def object_to_company(self, task: Task, row: int) -> Objection | None:
        """Only pod affinity is looked at again: nothing else that an eviction changes is, in Volcano."""
        if self._affinity is None:
            return None
        refusals = self._affinity.refusals(task) if self._follows else self._company_before.get(task.uid, ())
        reason = next((refusal.reason for refusal in refusals if refusal.nodes[row]), None)
        return None if reason is None else Objection(reason, code=Code.UNSCHEDULABLE)

    @answers(PREDICATE, concerns=lambda _, task: has_volumes(task))
    def refuse_too_many_volumes(self, task: Task) -> Refusals:
        return self._limits.refusals(task) if self._limits is not None else None

    @answers(PREDICATE, concerns=lambda _, task: has_volumes(task))
    def refuse_other_zones(self, task: Task) -> Refusals:
        return self._zones.refusals(task) if self._zones is not None else None

    @answers(PREDICATE, concerns=lambda _, task: has_spreading(task))
    def refuse_uneven_spread(self, task: Task) -> Refusals:
        constraints = self._spreading.of(task)
        return uneven(constraints) if constraints else None

    @answers(PREDICATE, concerns=lambda _, task: has_volumes(task))
    def refuse_unreachable_volumes(self, task: Task) -> Refusals:
        return self._binding.refusals(task) if self._binding is not None else None


def _objection(filter_name: str, said: str, plain: str, verdict: Verdict = Verdict.HELD) -> Objection:
    reason = f"plugin {filter_name} pre-predicates failed {said}"
    return Objection(reason, plain=plain, verdict=verdict)
