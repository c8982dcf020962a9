"""Node order: the scores of Kubernetes' own scheduler. How good is each node for the task?

Scores are whole numbers from 0 to 100, each times its weight. They read the pod ledger, which
only the `predicates` plugin keeps up to date.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from hekla.conf import argument
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import BATCH_NODE_ORDER, NODE_ORDER, AnyPoint, Scope, answers
from hekla.engine.ledger.arrays import Counts, Floats, Mask, all_of
from hekla.engine.ledger.axis import CPU_COLUMN, MEMORY_COLUMN
from hekla.engine.ledger.states import NodeStates
from hekla.engine.model.task import Task
from hekla.engine.plugins.class_memory import ClassMemory
from hekla.engine.plugins.kubernetes.nodes import NodeTaints, has_affinity, preference
from hekla.engine.plugins.kubernetes.pod_affinity import has_pod_affinity
from hekla.engine.plugins.kubernetes.topology_spread import (
    SOFT,
    crowding,
    evenness,
    has_spreading,
    read_constraints,
)
from hekla.engine.plugins.nodeorder.allocation_scores import (
    MAX_NODE_SCORE,
    balanced_allocation,
    capacity_of,
    least_allocated,
    most_allocated,
)
from hekla.engine.plugins.nodeorder.pod_scores import NodeImages, PodAffinityScore, stretched

GPU = "nvidia.com/gpu"
CPU_AND_MEMORY = (CPU_COLUMN, MEMORY_COLUMN)


@dataclass(frozen=True)
class NodeOrderArguments:
    least_requested: int = argument(1, key="leastrequested.weight", help="weight of free cpu and memory")
    most_requested: int = argument(0, key="mostrequested.weight", help="weight of used cpu and memory")
    balanced_resource: int = argument(1, key="balancedresource.weight", help="weight of even use")
    node_affinity: int = argument(2, key="nodeaffinity.weight", help="weight of preferred node affinity")
    image_locality: int = argument(1, key="imagelocality.weight", help="weight of images already there")
    pod_affinity: int = argument(2, key="podaffinity.weight", help="weight of preferred pod affinity")
    taint_toleration: int = argument(3, key="tainttoleration.weight", help="weight of tolerated soft taints")
    topology_spread: int = argument(
        2, key="podtopologyspread.weight", help="weight of soft topology spread constraints"
    )


class NodeOrder(Plugin):
    name = "nodeorder"
    Arguments = NodeOrderArguments

    def on_open(self) -> None:
        session, told = self.session, self.arguments
        self._capacity = session.pods.derived(capacity_of, CPU_AND_MEMORY)
        self._gpu = session.axis.column_of.get(GPU)
        if self._gpu is not None:
            self._capacity_with_gpu = session.pods.derived(capacity_of, (*CPU_AND_MEMORY, self._gpu))
        self._taints = session.nodes.derived(NodeTaints)
        self._images = session.nodes.derived(NodeImages)
        has_affinity = told.pod_affinity and session.tasks.some(has_pod_affinity)
        self._company = PodAffinityScore(session) if has_affinity else None
        self._disliked = ClassMemory(session, self._disliked_taints)
        self._preferred = ClassMemory(session, self._preferred_nodes)
        self._spreading = ClassMemory(
            session, lambda task: read_constraints(session, self._taints, task, SOFT)
        )

    def silent_on(self) -> Collection[AnyPoint | str]:
        """Scores without weight, or that would be 0 for every task of the session."""
        told, tasks = self.arguments, self.session.tasks
        is_useful = (
            (NodeOrder.prefer_nodes_with_images, told.image_locality and bool(self._images)),
            (NodeOrder.prefer_free_nodes, told.least_requested),
            (NodeOrder.prefer_full_nodes, told.most_requested),
            (NodeOrder.prefer_evenly_used_nodes, told.balanced_resource),
            (NodeOrder.prefer_chosen_nodes, told.node_affinity and tasks.some(has_affinity)),
            (NodeOrder.prefer_tolerated_nodes, told.taint_toleration and self._taints.any_soft),
            (NodeOrder.tolerate_all_nodes, told.taint_toleration),
            (NodeOrder.prefer_good_company, self._company is not None),
            (NodeOrder.prefer_even_spread, told.topology_spread and tasks.some(has_spreading)),
        )
        return [answer.__name__ for answer, useful in is_useful if not useful]

    @answers(NODE_ORDER, Scope.CLASS)
    def prefer_nodes_with_images(self, task: Task) -> Floats | None:
        return weighted(self._images.scores(task), self.arguments.image_locality)

    # What depends on the node's own pods

    @answers(BATCH_NODE_ORDER, Scope.LEDGER)
    def prefer_free_nodes(self, task: Task, states: NodeStates) -> Floats:
        score = least_allocated(states.nonzero, task.shape.nonzero_column, self._capacity, states.rows)
        return times(self.arguments.least_requested, score)

    @answers(BATCH_NODE_ORDER, Scope.LEDGER)
    def prefer_full_nodes(self, task: Task, states: NodeStates) -> Floats:
        score = most_allocated(states.nonzero, task.shape.nonzero_column, self._capacity, states.rows)
        return times(self.arguments.most_requested, score)

    @answers(BATCH_NODE_ORDER, Scope.LEDGER)
    def prefer_evenly_used_nodes(self, task: Task, states: NodeStates) -> Floats | None:
        asks_for_gpu = self._gpu is not None and task.vector[self._gpu] > 0
        capacity = self._capacity_with_gpu if asks_for_gpu else self._capacity
        amounts = task.shape.amounts
        if not any([amounts[place] for place in capacity.places]):
            return None
        asked = task.vector[capacity.columns, None]
        held = states.requested[capacity.columns]
        score = balanced_allocation(held, asked, capacity, states.rows)
        return times(self.arguments.balanced_resource, score)

    # What is measured against the other candidates

    @answers(BATCH_NODE_ORDER, Scope.CANDIDATES, concerns=lambda _, task: prefers_nodes(task))
    def prefer_chosen_nodes(self, task: Task, among: Mask) -> Floats | None:
        score = share_of_best(self._preferred.of(task), among)
        return None if score is None else weighted(score, self.arguments.node_affinity)

    @answers(BATCH_NODE_ORDER, Scope.CLASS)
    def tolerate_all_nodes(self, _task: Task) -> float:
        """A node without soft taints that are not tolerated gets all there is to get."""
        return float(self.arguments.taint_toleration * MAX_NODE_SCORE)

    def dislikes_nodes(self, task: Task) -> bool:
        return self._disliked.of(task) is not None

    @answers(BATCH_NODE_ORDER, Scope.CANDIDATES, concerns=dislikes_nodes)
    def prefer_tolerated_nodes(self, task: Task, among: Mask) -> Floats | None:
        """What other nodes lose of that, compared with the candidate that has the most of them."""
        disliked = self._disliked.of(task)
        share = share_of_best(disliked, among) if disliked is not None else None
        return None if share is None else weighted(share, -self.arguments.taint_toleration)

    @answers(BATCH_NODE_ORDER)
    def prefer_good_company(self, task: Task, among: Mask) -> Floats | None:
        raw = self._company.raw(task) if self._company is not None else None
        score = stretched(raw, among) if raw is not None else None
        return None if score is None else weighted(score, self.arguments.pod_affinity)

    @answers(BATCH_NODE_ORDER, concerns=lambda _, task: has_spreading(task))
    def prefer_even_spread(self, task: Task, among: Mask) -> Floats | None:
        constraints = self._spreading.of(task)
        if not constraints:
            return None
        ranked = among & all_of([constraint.column.present for constraint in constraints])
        return weighted(evenness(crowding(constraints, ranked), ranked), self.arguments.topology_spread)

    def _preferred_nodes(self, task: Task) -> Counts:
        affinity = task.pod.spec.affinity
        wishes = affinity.node_affinity if affinity is not None else None
        return preference(wishes.preferred if wishes is not None else (), self.session.nodes.labels)

    def _disliked_taints(self, task: Task) -> Counts | None:
        counts = self._taints.disliked(task.pod.spec.tolerations)
        return counts if counts.any() else None


def prefers_nodes(task: Task) -> bool:
    affinity = task.pod.spec.affinity
    node_affinity = None if affinity is None else affinity.node_affinity
    return node_affinity is not None and bool(node_affinity.preferred)


def times(weight: int, score: Floats) -> Floats:
    """The score as often as its weight says; the array is changed."""
    return score if weight == 1 else np.multiply(score, weight, out=score)


def weighted(score: Counts | Floats, weight: int) -> Floats:
    """(N,) -> (N,)"""
    return np.multiply(score, weight, dtype=np.float64)


def share_of_best(raw: Counts, among: Mask) -> Counts | None:
    """Each node's part of the highest value among the candidates, in percent; None where that is 0.

    raw, among: (N,)   ->   (N,)
    """
    highest = int(raw.max(where=among, initial=0))
    return MAX_NODE_SCORE * raw // highest if highest else None
