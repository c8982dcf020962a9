"""Excess: which tasks queues can lose before they are back at what they deserve."""

from __future__ import annotations

from dataclasses import dataclass

from hekla.engine.ledger.arrays import Amounts
from hekla.engine.plugins.queue_entitlements import Entitlements
from hekla.engine.plugins.queue_tree import QueueTree


@dataclass(eq=False)
class Excess:
    """Takes tasks from queues one by one and knows what every queue has left; nothing is evicted yet."""

    entitled: Entitlements
    left: Amounts
    """What the queues hold, (Q, R); a copy of its own."""
    pods: int

    def take(self, row: int, amounts: Amounts) -> bool:
        """Whether the queue can give that back; if so, it has."""
        gives = self.can_give(row, amounts)
        if gives:
            self.left[row] -= amounts
        return gives

    def can_give(self, row: int, amounts: Amounts) -> bool:
        keeps = self.left[row] - amounts >= self.entitled.guarantee[row]
        return bool(keeps.all()) and self.is_beyond_due(row, amounts)

    def is_beyond_due(self, row: int, amounts: Amounts) -> bool:
        """The queue deserves nothing of the kind, or holds more than it deserves of something in it."""
        return self.is_undeserved(row, amounts) or self._is_in_excess(row, amounts)

    def is_undeserved(self, row: int, amounts: Amounts) -> bool:
        """Nothing in it, not even the place of a pod, is of a kind that the queue deserves."""
        return not ((amounts > 0) & (self.entitled.deserved[row] > 0)).any()

    def _is_in_excess(self, row: int, amounts: Amounts) -> bool:
        beyond = (amounts > 0) & (self.left[row] > self.entitled.deserved[row])
        beyond &= self.entitled.is_measured[row]
        beyond[self.pods] = False
        return bool(beyond.any())


@dataclass(eq=False)
class Claim:
    """What one queue wants back from others, where `level` generations of ancestors have a say."""

    tree: QueueTree
    home: int
    asked: Amounts
    level: int
    excess: Excess

    def take(self, row: int, amounts: Amounts) -> bool:
        """Whether the queue gives that back to this claim; if so, its branch has it no more."""
        above = self._strangers_above(row)
        gives = (
            self._is_of_use(amounts)
            and self.excess.can_give(row, amounts)
            and not self._are_equally_poor(row, amounts)
            and all(self.excess.is_beyond_due(ancestor, amounts) for ancestor in above)
        )
        if gives:
            self.excess.left[[row, *above]] -= amounts
        return gives

    def _is_of_use(self, amounts: Amounts) -> bool:
        common = (amounts > 0) & (self.asked > 0)
        common[self.excess.pods] = False
        return bool(common.any())

    def _strangers_above(self, row: int) -> list[int]:
        """Its near ancestors that do not stand at the same place above the claiming queue."""
        mine = self.tree.near_ancestors(self.home, self.level)
        theirs = self.tree.near_ancestors(row, self.level)
        return [ancestor for at, ancestor in enumerate(theirs) if ancestor not in mine[at : at + 1]]

    def _are_equally_poor(self, row: int, amounts: Amounts) -> bool:
        """Relatives neither of which deserves what it is about take nothing from each other."""
        mine = self.tree.near_ancestors(self.home, self.level)
        return (
            not set(mine).isdisjoint(self.tree.near_ancestors(row, self.level))
            and self.excess.is_undeserved(row, amounts)
            and self.excess.is_undeserved(self.home, self.asked)
        )
