"""Node affinity: which nodes a selector means, worked out on label columns for all nodes at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hekla.engine.ledger.arrays import Counts, Mask, all_of
from hekla.engine.ledger.labels import LabelColumn, NodeLabels
from hekla.engine.model.task import Task
from hekla.objects.pod import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodSpec,
    PreferredSchedulingTerm,
)
from hekla.objects.quantity import read_integer

NODE_NAME = "metadata.name"


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
