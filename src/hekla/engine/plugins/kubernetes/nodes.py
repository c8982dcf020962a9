"""Nodes: which of them a selector means, worked out on label columns, and which turn a pod away by taints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hekla.engine.ledger.arrays import Counts, Mask, all_of
from hekla.engine.ledger.labels import LabelColumn, NodeLabels
from hekla.engine.model.node import NodeInfo
from hekla.engine.model.task import Task
from hekla.lazy import lazy
from hekla.objects.complaint import nearest
from hekla.objects.node import Taint
from hekla.objects.pod import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodSpec,
    PreferredSchedulingTerm,
    Toleration,
)
from hekla.objects.quantity import read_integer

NODE_NAME = "metadata.name"
HARD_EFFECTS = ("NoSchedule", "NoExecute")
SOFT_EFFECT = "PreferNoSchedule"
CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def has_affinity(task: Task) -> bool:
    return task.pod.spec.affinity is not None


def chosen_nodes(spec: PodSpec, labels: NodeLabels) -> Mask | None:
    """Nodes that the pod's node selector and required affinity allow; None: it asks for nothing."""
    required = required_selector(spec)
    if not spec.node_selector and required is None:
        return None
    allowed = carrying(spec.node_selector, labels)
    if required is not None:
        allowed &= matching_any(required.node_selector_terms, labels)
    return allowed


def required_selector(spec: PodSpec) -> NodeSelector | None:
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    return affinity.required if affinity is not None else None


def why_none_is_chosen(spec: PodSpec, labels: NodeLabels) -> str:
    """Which label no node carries, of those that the pod asks for, and which one may be meant."""
    for key, value in spec.node_selector.items():
        if not labels.column(key).equals(value).any():
            return _no_node_with(key, (value,), labels)
    required = required_selector(spec)
    if required is None:
        asked = ", ".join(f"{key}={value}" for key, value in spec.node_selector.items())
        return f"no node has all labels at once: {asked}"
    for term in required.node_selector_terms:
        for one in term.match_expressions:
            met = meeting(one, labels.column(one.key))
            if one.operator in ("In", "Exists") and met is not None and not met.any():
                return _no_node_with(one.key, one.values, labels)
    return "no node is chosen by its node selector and affinity"


def _no_node_with(key: str, values: Sequence[str], labels: NodeLabels) -> str:
    known = labels.column(key).code_of
    wanted = " or ".join(f"{key}={value}" for value in values) or key
    if not known:
        near = nearest(key, labels.keys())
    else:
        near = next((f"{key}={found}" for value in values if (found := nearest(value, known))), "")
    return f"no node has label {wanted}" + (f" (did you mean {near}?)" if near else "")


def carrying(wanted: Mapping[str, str], labels: NodeLabels) -> Mask:
    """Nodes that carry all of these labels; -> (N,)"""
    nodes = np.ones(len(labels), dtype=np.bool_)
    for key, value in wanted.items():
        nodes &= labels.column(key).equals(value)
    return nodes


def matching_any(terms: Sequence[NodeSelectorTerm], labels: NodeLabels) -> Mask:
    """Nodes that match at least one term; no terms match no node; -> (N,)"""
    nodes = np.zeros(len(labels), dtype=np.bool_)
    for term in terms:
        nodes |= matching(term, labels)
    return nodes


def matching(term: NodeSelectorTerm, labels: NodeLabels) -> Mask:
    """Nodes that meet every requirement of the term; a term that is empty or wrong matches none; -> (N,)"""
    met = [meeting(one, labels.column(one.key)) for one in term.match_expressions]
    met += [naming(one, labels) for one in term.match_fields]
    if not met or any(nodes is None for nodes in met):
        return np.zeros(len(labels), dtype=np.bool_)
    return all_of([nodes for nodes in met if nodes is not None])


def meeting(requirement: NodeSelectorRequirement, column: LabelColumn) -> Mask | None:
    """Nodes whose label meets the requirement; None where the requirement makes no sense; -> (N,)"""
    values = requirement.values
    match requirement.operator:
        case "In" if values:
            return column.is_any_of(values)
        case "NotIn" if values:
            return ~column.is_any_of(values)
        case "Exists" if not values:
            return column.present
        case "DoesNotExist" if not values:
            return ~column.present
        case "Gt" | "Lt" if len(values) == 1 and (bound := read_integer(values[0])) is not None:
            return beyond(bound, column, upwards=requirement.operator == "Gt")
    return None


def naming(requirement: NodeSelectorRequirement, labels: NodeLabels) -> Mask | None:
    """Nodes by name: Kubernetes allows exactly one name per requirement; -> (N,)"""
    if requirement.key != NODE_NAME or len(requirement.values) != 1:
        return None
    named = labels.node_names().equals(requirement.values[0])
    return {"In": named, "NotIn": ~named}.get(requirement.operator)


def beyond(bound: int, column: LabelColumn, *, upwards: bool) -> Mask:
    """Nodes whose label is a whole number beyond the bound; -> (N,)"""
    numbers = {value: read_integer(value) for value in column.code_of}
    return column.where_value(
        {
            value: (number > bound if upwards else number < bound)
            for value, number in numbers.items()
            if number is not None
        }
    )


def preference(terms: Sequence[PreferredSchedulingTerm], labels: NodeLabels) -> Counts:
    """The sum of the weights of the preferred terms that each node matches; -> (N,)"""
    total = np.zeros(len(labels), dtype=np.int64)
    for term in terms:
        if term.weight:
            total += term.weight * matching(term.preference, labels)
    return total


def names_conflict(spec: PodSpec) -> bool:
    """Every term asks for nodes by name, and for names that exclude each other."""
    required = required_selector(spec)
    if required is None or not required.node_selector_terms:
        return False
    return all(_names_no_node(term) for term in required.node_selector_terms)


def _names_no_node(term: NodeSelectorTerm) -> bool:
    named = [set(one.values) for one in term.match_fields if one.key == NODE_NAME and one.operator == "In"]
    return bool(named) and not set.intersection(*named)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
    return False


def is_tolerated(taint: Taint, tolerations: Sequence[Toleration]) -> bool:
    return any(tolerates(toleration, taint) for toleration in tolerations)


def spelled(taint: Taint) -> str:
    """A taint as people write it: `gpu=reserved`, or the bare key."""
    return f"{taint.key}={taint.value}" if taint.value else taint.key


class NodeTaints:
    """The taints of all nodes, as a few distinct sets and the number of each node's set."""

    def __init__(self, nodes: Sequence[NodeInfo]) -> None:
        number_of: dict[tuple[Taint, ...], int] = {}
        numbers = [number_of.setdefault(node.manifest.spec.taints, len(number_of)) for node in nodes]
        self._sets = list(number_of)
        self._set_of_row = np.array(numbers, dtype=np.intp)
        self.cordoned: Mask = np.array([node.manifest.spec.unschedulable for node in nodes], dtype=np.bool_)
        self.any_cordoned = bool(self.cordoned.any())

    @lazy
    def any_hard(self) -> bool:
        return any(taint.effect in HARD_EFFECTS for taints in self._sets for taint in taints)

    @lazy
    def any_soft(self) -> bool:
        return any(taint.effect == SOFT_EFFECT for taints in self._sets for taint in taints)

    def refusing(self, tolerations: Sequence[Toleration]) -> tuple[Mask, list[Taint]]:
        """Nodes with a hard taint that is not tolerated, and which taint of each kind of node is first."""
        found = [_first_untolerated(taints, tolerations) for taints in self._sets]
        refused = np.array([taint is not None for taint in found], dtype=np.bool_)
        return refused[self._set_of_row], list(dict.fromkeys(taint for taint in found if taint is not None))

    def disliked(self, tolerations: Sequence[Toleration]) -> Counts:
        """How many soft taints of each node are not tolerated; -> (N,)"""
        soft = [toleration for toleration in tolerations if toleration.effect in ("", SOFT_EFFECT)]
        counts = [
            sum(taint.effect == SOFT_EFFECT and not is_tolerated(taint, soft) for taint in taints)
            for taints in self._sets
        ]
        return np.array(counts, dtype=np.int64)[self._set_of_row]


def _first_untolerated(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> Taint | None:
    hard = (taint for taint in taints if taint.effect in HARD_EFFECTS)
    return next((taint for taint in hard if not is_tolerated(taint, tolerations)), None)
