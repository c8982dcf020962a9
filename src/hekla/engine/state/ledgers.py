"""Ledgers: the nodes, what the two ledgers say of them, and the tasks that sit on them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import numpy as np

from hekla.engine.ledger.axis import Axis
from hekla.engine.ledger.nodes import NodeLedger
from hekla.engine.ledger.pods import PodLedger
from hekla.engine.model.node import NodeInfo
from hekla.engine.model.status import TERMINATED_SET
from hekla.engine.model.task import NOWHERE, Task
from hekla.objects.complaint import Complaint


class Ledgers:
    """Rows stand in the order in which nodes arrived."""

    def __init__(self, axis: Axis) -> None:
        self.nodes = NodeLedger((), axis)
        self.pods = PodLedger(self.nodes)
        self._adrift: dict[str, dict[str, Task]] = {}
        """Tasks by the node they sit on, where there is no such node."""

    def widen(self, axis: Axis) -> None:
        self.nodes.widen(axis)
        self.pods.widen(axis)

    def change(self, changed: Mapping[str, NodeInfo | None], order: Collection[str]) -> list[Task]:
        """Nodes are new, different or gone; the tasks that this leaves without a node or gives one."""
        row_of = self.nodes.row_of
        altered = {row_of[name]: node for name, node in changed.items() if node and name in row_of}
        # A node that was made anew under its old name stands last, though none comes or goes.
        if len(altered) < len(changed) or self._are_made_anew(altered):
            return self._lay_anew(changed, order)
        self.nodes.replace(altered)
        self.pods.replace(altered)
        return []

    def _are_made_anew(self, altered: Mapping[int, NodeInfo]) -> bool:
        known = self.nodes.nodes
        return any(
            node.manifest.metadata.uid != known[row].manifest.metadata.uid for row, node in altered.items()
        )

    def _lay_anew(self, changed: Mapping[str, NodeInfo | None], order: Collection[str]) -> list[Task]:
        known = {node.name: node for node in self.nodes.nodes}
        nodes = [node for name in order if (node := changed.get(name, known.get(name))) is not None]
        rows = np.array([self.nodes.row_of.get(node.name, NOWHERE) for node in nodes], dtype=np.intp)
        stranded = self.nodes.lay_anew(nodes, rows)
        self.pods.lay_anew(rows)
        for task in stranded:
            self._adrift.setdefault(task.node_name, {})[task.key] = task
        found = [task for node in nodes for task in self._adrift.pop(node.name, {}).values()]
        self.load(found)
        return [*stranded, *found]

    def load(self, tasks: Iterable[Task]) -> None:
        """Put tasks on the nodes that they sit on, all at once."""
        row_of, placed = self.nodes.row_of, []
        for task in tasks:
            if not task.node_name or task.status in TERMINATED_SET:
                continue
            row = row_of.get(task.node_name, NOWHERE)
            if row == NOWHERE:
                self._adrift.setdefault(task.node_name, {})[task.key] = task
            else:
                task.node = row
                placed.append(task)
        if placed:
            self.nodes.load(placed)
            self.pods.add_all(placed)

    def take_off(self, tasks: Iterable[Task]) -> None:
        """Tasks are no longer where they sit, as far as they sit anywhere."""
        placed = []
        for task in tasks:
            if task.node != NOWHERE:
                placed.append(task)
            elif (name := task.pod.spec.node_name) in self._adrift:
                self._adrift[name].pop(task.key, None)
                if not self._adrift[name]:
                    del self._adrift[name]
        if placed:
            self.pods.remove_all(placed)
            self.nodes.lift_all(placed)

    def complaints(self) -> Iterator[Complaint]:
        for name, tasks in self._adrift.items():
            for task in tasks.values():
                message = f'spec.nodeName: sits on node "{name}", which does not exist'
                yield Complaint(f"pod {task.key}", message)
