"""Entitlements: what queues are guaranteed, deserve and may hold at most, and what each can lose until then.

The entitlements are fixed when the session opens. One row per queue, one column per resource.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hekla.engine.ledger.arrays import Amounts, Floats, Mask
from hekla.engine.ledger.axis import CPU_COLUMN, MEMORY_COLUMN, Axis
from hekla.engine.model.queue import ROOT
from hekla.engine.plugins.queues import UNLIMITED, QueueTree, beside_guarantees, capability_of, says

if TYPE_CHECKING:
    from hekla.engine.framework.session import Session


ALWAYS_THERE = [CPU_COLUMN, MEMORY_COLUMN]
"""Resources that need not be mentioned to be there."""


@dataclass(frozen=True, eq=False)
class Entitlements:
    """Each (Q, R)."""

    guarantee: Amounts
    """Never lent to others."""
    deserved: Amounts
    """Lent while its queue does not claim it, and taken back."""
    limit: Floats
    """The most a queue may hold, whichever queue lends it."""
    is_measured: Mask
    """Resources of which a queue can hold more than it deserves; of others it deserves no amount at all."""


@dataclass(frozen=True, eq=False)
class Listed:
    """Resource lists of all queues, each (Q, R): the amounts, and what is mentioned, be it with 0."""

    amounts: Amounts
    named: Mask


def flat_entitlements(session: Session, tree: QueueTree) -> Entitlements:
    """All queues side by side: what one deserves is cut at its limit."""
    guarantee, deserved, capability = _spec_of(session, tree)
    guaranteed = guarantee.amounts.sum(axis=0)
    room = beside_guarantees(session.total, guaranteed, guarantee.amounts)
    limit = np.minimum(room, capability_of(capability.amounts, capability.named))
    # As in Volcano, where no queue has room for a device that is no limit of 0 but none at all.
    is_cut = (session.total > guaranteed) | guarantee.named
    is_cut[:, ALWAYS_THERE] = True
    cut = np.where(is_cut, np.minimum(deserved.amounts, limit), deserved.amounts).astype(np.int64)
    return _entitlements(guarantee, cut, limit)


def tree_entitlements(session: Session, tree: QueueTree) -> Entitlements:
    """From the root down: a child may hold what its parent may, less what its siblings are guaranteed."""
    guarantee, deserved, spec = _spec_of(session, tree)
    capability, limit = np.empty(spec.amounts.shape), np.empty(spec.amounts.shape)
    root, is_said = tree.row_of[ROOT], says(spec.amounts, spec.named)
    capability[root], limit[root] = _bounds_of_root(session, spec.amounts[root], spec.named[root])
    for parent, children in tree.parents:
        own = guarantee.amounts[children]
        capability[children] = np.where(is_said[children], spec.amounts[children], capability[parent])
        room = beside_guarantees(limit[parent], own.sum(axis=0), own)
        limit[children] = np.minimum(room, capability[children])
    return _entitlements(guarantee, deserved.amounts, limit)


def _bounds_of_root(session: Session, amounts: Amounts, named: Mask) -> tuple[Floats, Floats]:
    """The root's capability and limit, (R,) each: to the letter what it says; if it says nothing, unlimited.

    As in Volcano, a root that caps something but mentions no cpu or memory leaves none of them.
    """
    is_capped = bool(np.delete(amounts, session.axis.pods).any())
    there = named if is_capped else _offered(session)
    there = there | np.isin(np.arange(len(there)), ALWAYS_THERE)
    most = amounts if is_capped else np.full(len(amounts), UNLIMITED)
    return np.where(there, most, UNLIMITED), np.where(there, most, 0.0)


def _offered(session: Session) -> Mask:
    """Resources that some node knows, be it that it has none."""
    return session.axis.named({name: 0 for node in session.snapshot.nodes for name in node.allocatable})


def _entitlements(guarantee: Listed, amounts: Amounts, limit: Floats) -> Entitlements:
    """A guarantee is deserved, too."""
    due = np.maximum(amounts, guarantee.amounts)
    return Entitlements(guarantee.amounts, due, limit, is_measured=due > 0)


def _spec_of(session: Session, tree: QueueTree) -> tuple[Listed, Listed, Listed]:
    """What the queues say of guarantee, deserved and capability."""
    queues = [session.queues[name] for name in tree.names]
    return (
        _listed(session.axis, (queue.guarantee for queue in queues)),
        _listed(session.axis, (queue.deserved for queue in queues)),
        _listed(session.axis, (queue.capability for queue in queues)),
    )


def _listed(axis: Axis, lists: Iterable[Mapping[str, int]]) -> Listed:
    rows = list(lists)
    amounts = np.zeros((len(rows), len(axis)), dtype=np.int64)
    named = np.zeros((len(rows), len(axis)), dtype=np.bool_)
    for row, resources in enumerate(rows):
        amounts[row], named[row] = axis.vector(resources), axis.named(resources)
    return Listed(amounts, named)


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
