"""Domains: the tree of network domains with a session's sums, one row per domain."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hekla.engine.ledger.arrays import Amounts
from hekla.engine.ledger.domain_tree import TOP, Domain, DomainTree
from hekla.engine.ledger.nodes import NodeLedger

MANY = 8
"""Once one node in so many has changed, all are summed up anew."""

__all__ = ["TOP", "Domain", "DomainTree", "Domains"]


class Domains:
    """All domains by name, and the sums of what their nodes had when the session opened."""

    def __init__(self, nodes: NodeLedger, tree: DomainTree) -> None:
        self.tree = tree
        self._nodes = nodes
        self.complaints, self.warnings, self.is_ready = tree.complaints, tree.warnings, tree.is_ready
        self.by_name, self.top, self.closest = tree.by_name, tree.top, tree.closest
        self.tiers, self.tier_of_name = tree.tiers, tree.tier_of_name
        self._sum_up()
        self._room = DomainRoom(tree, nodes)

    def _sum_up(self) -> None:
        nodes, tree = self._nodes, self.tree
        if len(tree.by_name) == 1:
            # Everything lies in the virtual domain, and the ledger knows the sums; nothing is promised yet.
            self.allocatable: Amounts = nodes.total[None]
            self.idle: Amounts = self.allocatable - nodes.used_in_all
            self.future: Amounts = self.idle + nodes.releasing_in_all
        else:
            self.allocatable = tree.sums(nodes.allocatable)
            self.idle = tree.sums(nodes.idle)
            self.future = tree.sums(nodes.future)

    def ancestors(self, name: str) -> list[str]:
        """The domain, its parent, and so on up to the virtual one; do not change the list."""
        return self.tree.ancestors(name)

    def common(self, left: str, right: str) -> str:
        """The lowest domain that contains both; an empty name stands for nothing yet."""
        return self.tree.common(left, right)

    def common_of(self, names: Iterable[str]) -> str:
        return self.tree.common_of(names)

    def lowest_around(self, rows: Iterable[int]) -> str:
        """The lowest domain that contains all these nodes; smallest name among equals."""
        return self.tree.lowest_around(rows)

    def room(self) -> Amounts:
        """What will be idle in each domain, as it is now; -> (domains, R). Do not change the array."""
        return self._room.refresh()


class DomainRoom:
    """Sums of what will be idle, brought up to date for the nodes that changed since.

    A node that has promised away more than it will get counts as having nothing.
    """

    def __init__(self, tree: DomainTree, nodes: NodeLedger) -> None:
        self._tree = tree
        self._nodes = nodes
        self._seen = -1

    def refresh(self) -> Amounts:
        journal = self._nodes.journal
        rows = None if self._seen < 0 else journal.since(self._seen).tolist()
        self._seen = journal.now
        if rows is None or len(rows) > len(self._nodes) // MANY:
            self._counted = np.maximum(self._nodes.future, 0)
            self._sums = self._tree.sums(self._counted)
        else:
            for row in rows:
                self._count_again(row)
        return self._sums

    def _count_again(self, row: int) -> None:
        amounts = np.maximum(self._nodes.future[row], 0)
        self._sums[self._tree.around(row)] += amounts - self._counted[row]
        self._counted[row] = amounts
