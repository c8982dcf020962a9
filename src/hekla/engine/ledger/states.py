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

    Do not change the arrays that come back.
    """

    __slots__ = ("_added", "_of_pods", "_resources", "nodes", "pods", "rows")

    def __init__(self, nodes: NodeLedger, pods: PodLedger, rows: Rows = ALL_ROWS) -> None:
        self.nodes = nodes
        self.pods = pods
        self.rows = rows
        self._resources = len(nodes.axis)
        self._of_pods: Amounts = picked(pods.states.T, rows)
        self._added: Amounts | None = None
        """What is supposed to be used beside what the ledger says; (R, states)"""

    # What the node ledger says; (R, states)

    @property
    def allocatable(self) -> Amounts:
        """What nodes have."""
        return picked(self.nodes.allocatable.T, self.rows)

    @property
    def idle(self) -> Amounts:
        """What is free now."""
        idle = picked(self.nodes.idle.T, self.rows)
        return idle if self._added is None else idle - self._added

    @property
    def used(self) -> Amounts:
        """What is taken, until it is gone."""
        used = picked(self.nodes.used.T, self.rows)
        return used if self._added is None else used + self._added

    @property
    def future(self) -> Amounts:
        """What will be free once releases are done and pipelined tasks have their room."""
        future = picked(self.nodes.future.T, self.rows)
        return future if self._added is None else future - self._added

    @property
    def pod_limit(self) -> Counts:
        """How many pods nodes may run; (states,)"""
        return picked(self.nodes.pod_limit, self.rows)

    # What the pod ledger says; (R, states)

    @property
    def requested(self) -> Amounts:
        """What pods ask for, pipelined ones included and evicted ones not."""
        return self._of_pods[: self._resources]

    @property
    def nonzero(self) -> Amounts:
        """The same of cpu and memory, where a pod that asks for nothing counts for something; (2, states)"""
        return self._of_pods[self._resources : self._resources + 2]

    @property
    def pod_count(self) -> Counts:
        """How many pods there are; (states,)"""
        count: Counts = self._of_pods[self._resources + 2]
        return count


class SupposedStates(NodeStates):
    """These rows with so many more tasks like one on each of them; a row may come more than once."""

    __slots__ = ()

    def __init__(self, nodes: NodeLedger, pods: PodLedger, rows: Rows, task: Task, added: Counts) -> None:
        super().__init__(nodes, pods, rows)
        self._added = task.vector[:, None] * added
        # Where no plugin moves pods in it, the pod ledger stays as it was when the session opened.
        if pods.is_kept:
            self._of_pods = np.add(self._of_pods, task.shape.among_pods[:, None] * added)
