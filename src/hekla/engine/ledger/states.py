"""Node states: what the two ledgers say of some nodes, as they are or as they would be.

An answer that reads node states and the task's request alone can be worked out for nodes as they
would look with more tasks on them, and so for many placements at once.
"""

from __future__ import annotations

import numpy as np

from hekla.engine.ledger.arrays import ALL_ROWS, Amounts, Counts, Rows, picked
from hekla.engine.ledger.nodes import NodeLedger
from hekla.engine.ledger.pods import PodLedger
from hekla.engine.model.task import Task


class NodeStates:
    """These rows as they are: one row of numbers per resource, `states.used[column]`.

    Every reading picks the rows anew; do not change the arrays that come back.
    """

    __slots__ = ("nodes", "pods", "rows")

    def __init__(self, nodes: NodeLedger, pods: PodLedger, rows: Rows = ALL_ROWS) -> None:
        self.nodes = nodes
        self.pods = pods
        self.rows = rows

    # What the node ledger says; (R, states)

    @property
    def allocatable(self) -> Amounts:
        """What nodes have."""
        return picked(self.nodes.allocatable.T, self.rows)

    @property
    def used(self) -> Amounts:
        """What is taken, until it is gone."""
        return picked(self.nodes.used.T, self.rows)

    @property
    def idle(self) -> Amounts:
        """What is free now."""
        return picked(self.nodes.idle.T, self.rows)

    @property
    def future(self) -> Amounts:
        """What will be free once releases are done and promises are kept."""
        return picked(self.nodes.future.T, self.rows)

    @property
    def pod_limit(self) -> Counts:
        """How many pods nodes may run; (states,)"""
        return picked(self.nodes.pod_limit, self.rows)

    # What the pod ledger says; (R, states)

    @property
    def requested(self) -> Amounts:
        """What pods ask for, promised ones included and evicted ones not."""
        return picked(self.pods.requested.T, self.rows)

    @property
    def nonzero(self) -> Amounts:
        """The same of cpu and memory, where a pod that asks for nothing counts for something; (2, states)"""
        return picked(self.pods.nonzero.T, self.rows)

    @property
    def pod_count(self) -> Counts:
        """How many pods there are; (states,)"""
        return picked(self.pods.count, self.rows)


class SupposedStates(NodeStates):
    """These rows with so many more tasks like one on each of them; a row may come more than once."""

    __slots__ = ("_nonzero_pods", "_pods", "_tasks", "added")

    def __init__(self, nodes: NodeLedger, pods: PodLedger, rows: Rows, task: Task, added: Counts) -> None:
        super().__init__(nodes, pods, rows)
        self.added = added
        self._tasks: Amounts = task.vector[:, None] * added
        # Where nobody moves pods in it, the pod ledger stays as it was when the session opened.
        self._pods = added if pods.is_kept else np.zeros_like(added)
        self._nonzero_pods: Amounts = np.array(task.nonzero_on_node, dtype=np.int64)[:, None] * self._pods

    @property
    def used(self) -> Amounts:
        return np.add(super().used, self._tasks)

    @property
    def idle(self) -> Amounts:
        return np.subtract(super().idle, self._tasks)

    @property
    def future(self) -> Amounts:
        return np.subtract(super().future, self._tasks)

    @property
    def requested(self) -> Amounts:
        return np.add(super().requested, self._tasks) if self.pods.is_kept else super().requested

    @property
    def nonzero(self) -> Amounts:
        return np.add(super().nonzero, self._nonzero_pods)

    @property
    def pod_count(self) -> Counts:
        return np.add(super().pod_count, self._pods)
