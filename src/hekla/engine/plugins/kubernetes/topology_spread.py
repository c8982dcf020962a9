"""Topology spread: how evenly pods of one kind lie over zones, racks or nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Counts, Floats, Mask, all_of
from hekla.engine.ledger.labels import LabelColumn
from hekla.engine.model.diagnosis import Code, Refusal
from hekla.engine.model.task import Task
from hekla.engine.plugins.kubernetes.nodes import NodeTaints, chosen_nodes
from hekla.engine.plugins.kubernetes.pods import PodSelection, are_met, requirements_of, with_own_labels
from hekla.objects.pod import TopologySpreadConstraint

HOSTNAME = "kubernetes.io/hostname"
HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
UNEVEN = "node(s) didn't match pod topology spread constraints"
LACKS_LABEL = "node(s) didn't match pod topology spread constraints (missing required label)"
MAX_NODE_SCORE = 100


class Constraint(msgspec.Struct, frozen=True, eq=False):
    """One constraint of a class of tasks, ready to be compared with what is on the nodes."""

    key: str
    column: LabelColumn
    pods: Counts
    """Matching pods per node, live."""
    included: Mask
    """Nodes whose pods count."""
    domains: Mask
    """Per value of the label: does an included node have it?"""
    max_skew: int
    min_domains: int
    counts_itself: bool

    def per_domain(self) -> Counts:
        """Matching pods per value of the label; -> (values,)"""
        return self.column.per_value(np.where(self.included, self.pods, 0))


def has_spreading(task: Task) -> bool:
    return bool(task.pod.spec.topology_spread_constraints)


def read_constraints(session: Session, taints: NodeTaints, task: Task, kind: str) -> tuple[Constraint, ...]:
    """The task's constraints of one kind, hard or soft.

    Kubernetes spreads pods without any constraint by a default that follows the selectors of
    Services and ReplicaSets; such objects are not read here, so those pods are not spread.
    """
    asked = [one for one in task.pod.spec.topology_spread_constraints if one.when_unsatisfiable == kind]
    if not asked:
        return ()
    labels = session.nodes.labels
    with_all_keys = all_of([labels.column(one.topology_key).present for one in asked])
    return tuple(_read(session, taints, task, one, with_all_keys) for one in asked)


def _read(
    session: Session, taints: NodeTaints, task: Task, asked: TopologySpreadConstraint, with_all_keys: Mask
) -> Constraint:
    own_labels = task.pod.metadata.labels
    wanted = requirements_of(asked.label_selector)
    wanted = with_own_labels(wanted, own_labels, asked.match_label_keys)
    included = with_all_keys & _eligible(session, taints, task, asked)
    column = session.nodes.labels.column(asked.topology_key)
    # A selector that asks for nothing counts no pod, though the task itself does meet it.
    counted = PodSelection(wanted or None, frozenset({task.namespace}))
    return Constraint(
        key=asked.topology_key,
        column=column,
        pods=counted.count_staying(session.pods),
        included=included,
        domains=column.per_value(included.astype(np.int64)) > 0,
        max_skew=asked.max_skew,
        min_domains=1 if asked.min_domains is None else asked.min_domains,
        counts_itself=are_met(wanted, own_labels),
    )


def _eligible(session: Session, taints: NodeTaints, task: Task, asked: TopologySpreadConstraint) -> Mask:
    """Nodes that the constraint's policies let count; -> (N,)"""
    spec = task.pod.spec
    eligible = np.ones(len(session.nodes), dtype=np.bool_)
    if asked.node_affinity_policy != "Ignore":
        chosen = chosen_nodes(spec, session.nodes.labels)
        if chosen is not None:
            eligible &= chosen
    if asked.node_taints_policy == "Honor":
        eligible &= ~taints.refusing(spec.tolerations)[0]
    return eligible


def uneven(constraints: Sequence[Constraint]) -> list[Refusal]:
    """Refusals of nodes where one more pod would lie unevenly; a node's first failure speaks for it."""
    refusals: list[Refusal] = []
    undecided = np.ones(len(constraints[0].included), dtype=np.bool_)
    for constraint in constraints:
        lacking = undecided & ~constraint.column.present
        if lacking.any():
            plain = f"no label {constraint.key}"
            refusals.append(Refusal(LACKS_LABEL, lacking, Code.UNRESOLVABLE, plain=plain))
            undecided &= ~lacking
        crowded = undecided & too_crowded(constraint)
        if crowded.any():
            plain = f"too many of the kind in the same {constraint.key}"
            refusals.append(Refusal(UNEVEN, crowded, plain=plain))
            undecided &= ~crowded
    return refusals


def too_crowded(constraint: Constraint) -> Mask:
    """Nodes where one more pod would exceed the allowed skew over the emptiest domain; -> (N,)"""
    per_domain = constraint.per_domain()
    counted = per_domain[constraint.domains]
    emptiest = int(counted.min()) if len(counted) >= max(constraint.min_domains, 1) else 0
    allowed = constraint.max_skew + emptiest - int(constraint.counts_itself)
    return constraint.column.spread(per_domain) > allowed


def crowding(constraints: Sequence[Constraint], ranked: Mask) -> Floats:
    """How crowded each node's domains are, in Kubernetes' measure; the less the better.

    ranked: (N,), the candidates that carry all keys   ->   (N,) whole numbers
    """
    total = np.zeros(len(ranked))
    for constraint in constraints:
        column = constraint.column
        if constraint.key == HOSTNAME:
            size, nearby = int(np.count_nonzero(ranked)), constraint.pods
        else:
            size = int(np.count_nonzero(column.per_value(ranked.astype(np.int64))))
            nearby = column.spread(constraint.per_domain())
        total += nearby * math.log(size + 2) + (constraint.max_skew - 1)
    return rounded(total)


def rounded(numbers: Floats) -> Floats:
    """To the next whole number, halves upwards; numbers are not negative. (N,) -> (N,)"""
    whole = np.floor(numbers)
    return np.where(numbers - whole >= 0.5, whole + 1.0, whole)


def evenness(crowding: Floats, ranked: Mask) -> Counts:
    """Crowding turned into a score from 0 to 100; nodes that are not ranked get 0.

    crowding, ranked: (N,)   ->   (N,)
    """
    raw = crowding.astype(np.int64)
    among = raw[ranked]
    most = int(among.max(initial=0))
    if most == 0:
        return np.where(ranked, MAX_NODE_SCORE, 0)
    score = MAX_NODE_SCORE * (most + int(among.min()) - raw) // most
    return np.where(ranked, score, 0)
