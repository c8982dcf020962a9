"""Changes: the ways in which a job could be asked for so that it starts, each with what it costs its user.

A ladder is a list of alternatives from small to large: the first that works is enough. A scale is a number
that can be lowered: the largest that works is wanted. Costs run from 0 (nothing is given up) to 1
(everything is); they only serve to put small changes first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from hekla.controllers.queue_tree import ROOT, has_children, is_open, parent_of
from hekla.engine.plugins.kubernetes.nodes import HARD_EFFECTS, is_tolerated, spelled
from hekla.insight.plan.request import JobRequest, PlanRequest
from hekla.insight.plan.whatif import WhatIfCluster
from hekla.objects import HyperNode, Node, PriorityClass, Queue, Taint, Toleration
from hekla.objects.pod import Affinity, PodSpec
from hekla.objects.scheduling import NetworkTopology

QUEUE_COST = 0.1
TIER_COST = 0.15
TOLERATION_COST = 0.2
CLASS_COST = 0.25
CONSTRAINT_COST = 0.3
SOFT_COST = 0.4

MOST_TAINTS = 5
KUBERNETES = "node.kubernetes.io/"
"""Taints of this domain say that a node is not well; tolerating them is no advice."""


@dataclass(frozen=True)
class Change:
    """One thing to write differently, and the request that results."""

    kind: str
    line: str
    cost: float
    request: PlanRequest


Ladder = Sequence[Change]


def ladders(request: PlanRequest, cluster: WhatIfCluster) -> Iterator[Ladder]:
    """Every way to ask for something else rather than for less, in the same queue."""
    yield topologies(request, cluster.all_of(HyperNode))
    yield from tolerations(request, cluster.all_of(Node))
    yield from constraints(request)
    yield priorities(request, cluster.all_of(PriorityClass))


def topologies(request: PlanRequest, hyper_nodes: Sequence[HyperNode]) -> Ladder:
    """Higher and higher tiers, then no bound at all."""
    hard = [(path, asked) for path, asked in request.topologies if asked.mode != "soft"]
    if not hard:
        return []
    tiers = sorted({each.spec.tier for each in hyper_nodes})
    lowest = min((tier_of(asked, hyper_nodes) for _, asked in hard), default=0)
    higher = [tier for tier in tiers if tier > lowest]
    steps = [_raised(request, hard, tier, TIER_COST * rank) for rank, tier in enumerate(higher, start=1)]
    return [*steps, _softened(request, hard)]


def tier_of(topology: NetworkTopology, hyper_nodes: Sequence[HyperNode]) -> int:
    """The highest tier allowed, whether it is written as a number or as a name."""
    if topology.highest_tier_allowed is not None:
        return topology.highest_tier_allowed
    named = [each.spec.tier for each in hyper_nodes if each.spec.tier_name == topology.highest_tier_name]
    return (
        named[0]
        if named and topology.highest_tier_name
        else max((each.spec.tier for each in hyper_nodes), default=0)
    )


def _raised(
    request: PlanRequest, hard: Sequence[tuple[str, NetworkTopology]], tier: int, cost: float
) -> Change:
    def change(asked: NetworkTopology) -> NetworkTopology:
        if asked.mode == "soft" or (asked.highest_tier_allowed or 0) >= tier:
            return asked
        return replace(asked, highest_tier_allowed=tier, highest_tier_name="")

    was = sorted({str(asked.highest_tier_name or asked.highest_tier_allowed) for _, asked in hard})
    paths = " and ".join(f"{path}.highestTierAllowed" for path, _ in hard)
    line = f"{paths}: {tier} (was {', '.join(was)})"
    return Change("topology", line, min(cost, SOFT_COST), request.with_topologies(change))


def _softened(request: PlanRequest, hard: Sequence[tuple[str, NetworkTopology]]) -> Change:
    line = " and ".join(f"{path}.mode" for path, _ in hard) + ": soft (was hard)"
    softened = request.with_topologies(lambda asked: replace(asked, mode="soft"))
    return Change("topology", line, SOFT_COST, softened)


def tolerations(request: PlanRequest, nodes: Sequence[Node]) -> Iterator[Ladder]:
    """One for every kind of taint that keeps the pods off nodes, the commonest first."""
    specs = [role.spec for role in request.roles]
    counts = Counter(
        taint
        for node in nodes
        for taint in set(map(_essence, node.spec.taints))
        if taint.effect in HARD_EFFECTS
        and not taint.key.startswith(KUBERNETES)
        and not all(is_tolerated(taint, spec.tolerations) for spec in specs)
    )
    ranked = sorted(counts.items(), key=lambda entry: (-entry[1], spelled(entry[0]), entry[0].effect))
    for taint, count in ranked[:MOST_TAINTS]:
        yield [_tolerating(request, taint, count)]


def _essence(taint: Taint) -> Taint:
    return Taint(key=taint.key, value=taint.value, effect=taint.effect)


def _tolerating(request: PlanRequest, taint: Taint, count: int) -> Change:
    added = Toleration(key=taint.key, operator="Equal", value=taint.value, effect=taint.effect)
    nodes = "1 node has" if count == 1 else f"{count} nodes have"
    line = f"{spec_path(request)}.tolerations: add {spelled(taint)}:{taint.effect} ({nodes} this taint)"
    changed = request.with_specs(lambda spec: replace(spec, tolerations=(*spec.tolerations, added)))
    return Change("toleration", line, TOLERATION_COST, changed)


def spec_path(request: PlanRequest) -> str:
    """Where pod specs stand, all of them."""
    if len(request.roles) == 1:
        return request.roles[0].path
    return "spec.tasks[*].template.spec" if isinstance(request, JobRequest) else "pods: spec"


def constraints(request: PlanRequest) -> Iterator[Ladder]:
    """Each thing that ties the pods to some nodes, dropped."""
    specs = [role.spec for role in request.roles]
    pairs = dict.fromkeys(pair for spec in specs for pair in sorted(spec.node_selector.items()))
    for key, value in pairs:
        yield [_dropped(request, f"nodeSelector: drop {key}: {value}", _without_label(key, value))]
    for name, written in _AFFINITIES.items():
        if any(_required(spec, name) for spec in specs):
            what = f"affinity.{written}.requiredDuringSchedulingIgnoredDuringExecution: drop"
            yield [_dropped(request, what, _without_affinity(name))]
    if any(
        each.when_unsatisfiable == "DoNotSchedule" for s in specs for each in s.topology_spread_constraints
    ):
        what = "topologySpreadConstraints: drop those with whenUnsatisfiable: DoNotSchedule"
        yield [_dropped(request, what, _without_spread)]


_AFFINITIES = {
    "node_affinity": "nodeAffinity",
    "pod_affinity": "podAffinity",
    "pod_anti_affinity": "podAntiAffinity",
}


def _dropped(request: PlanRequest, what: str, change: Callable[[PodSpec], PodSpec]) -> Change:
    line = f"{spec_path(request)}.{what}"
    return Change("constraint", line, CONSTRAINT_COST, request.with_specs(change))


def _without_label(key: str, value: str) -> Callable[[PodSpec], PodSpec]:
    def change(spec: PodSpec) -> PodSpec:
        kept = {k: v for k, v in spec.node_selector.items() if (k, v) != (key, value)}
        return replace(spec, node_selector=kept)

    return change


def _required(spec: PodSpec, name: str) -> bool:
    part = getattr(spec.affinity, name, None)
    return part is not None and bool(part.required)


def _without_affinity(name: str) -> Callable[[PodSpec], PodSpec]:
    def change(spec: PodSpec) -> PodSpec:
        if not _required(spec, name):
            return spec
        affinity = spec.affinity or Affinity()
        part = getattr(affinity, name)
        nothing = None if name == "node_affinity" else ()
        return replace(spec, affinity=replace(affinity, **{name: replace(part, required=nothing)}))

    return change


def _without_spread(spec: PodSpec) -> PodSpec:
    kept = tuple(
        each for each in spec.topology_spread_constraints if each.when_unsatisfiable != "DoNotSchedule"
    )
    return replace(spec, topology_spread_constraints=kept)


def priorities(request: PlanRequest, classes: Sequence[PriorityClass]) -> Ladder:
    """The classes above the job's own, the lowest first."""
    value_of = {each.metadata.name: each.value for each in classes}
    usual = next((each.value for each in classes if each.global_default), 0)
    own = value_of.get(request.priority_class, usual)
    above = sorted((value, name) for name, value in value_of.items() if value > own)
    was = request.priority_class or "none"
    return [
        Change(
            "priority",
            f"{request.where('priority class')}: {name} (was {was})",
            CLASS_COST,
            request.in_class(name),
        )
        for _, name in above
        if not name.startswith("system-")
    ]


def queues(request: PlanRequest, cluster: WhatIfCluster) -> Iterator[Ladder]:
    """Every other queue that takes jobs, those nearest to the job's own first."""
    by_name = {queue.metadata.name: queue for queue in cluster.all_of(Queue)}
    own = by_name.get(request.queue)
    parent = parent_of(own) if own is not None else ROOT
    taking = [
        queue
        for name, queue in by_name.items()
        if name not in (ROOT, request.queue) and is_open(queue) and not has_children(name, by_name)
    ]
    taking.sort(key=lambda queue: (parent_of(queue) != parent, queue.metadata.name))
    for queue in taking:
        name = queue.metadata.name
        line = f"{request.where('queue')}: {name} (was {request.queue})"
        yield [Change("queue", line, QUEUE_COST, request.in_queue(name))]
