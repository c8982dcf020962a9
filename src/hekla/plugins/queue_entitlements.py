"""Entitlements: what queues are guaranteed, what they deserve and what they may hold at most.

Fixed when the session opens. One row per queue, one column per resource.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hekla.ledger.arrays import Amounts, Floats, Mask
from hekla.ledger.axis import CPU_COLUMN, MEMORY_COLUMN
from hekla.model.queue import ROOT
from hekla.plugins.queue_limits import UNLIMITED, beside_guarantees, capability_of, says
from hekla.plugins.queue_tree import QueueTree

if TYPE_CHECKING:
    from hekla.framework.session import Session

ALWAYS_THERE = [CPU_COLUMN, MEMORY_COLUMN]
"""Resources that need not be mentioned to be there."""


@dataclass(frozen=True, eq=False)
class Entitlements:
    """Each (Q, R)."""

    guarantee: Amounts
    """Never lent to others."""
    deserved: Amounts
    """Lent while others do not need it, and taken back."""
    limit: Floats
    """The most a queue may hold, whoever lends it."""
    counts: Mask
    """Where a queue can hold more than it deserves: of other resources it deserves neither much nor little."""


@dataclass(frozen=True, eq=False)
class Spec:
    """What the queues' manifests say, each (Q, R); `caps` marks what a capability speaks of."""

    guarantee: Amounts
    is_guaranteed: Mask
    deserved: Amounts
    is_deserved: Mask
    capability: Amounts
    caps: Mask


def flat_entitlements(session: Session, tree: QueueTree) -> Entitlements:
    """All queues side by side: what one deserves is cut at its limit."""
    spec = _spec_of(session, tree)
    guaranteed = spec.guarantee.sum(axis=0)
    limit = beside_guarantees(session.total, guaranteed, spec.guarantee)
    limit = np.minimum(limit, np.where(spec.caps, spec.capability, UNLIMITED))
    # As in Volcano, a resource that nobody has room for is not a limit of 0 here but none at all.
    bounds = (session.total > guaranteed) | spec.is_guaranteed
    bounds[:, ALWAYS_THERE] = True
    cut = np.where(bounds, np.minimum(spec.deserved, limit), spec.deserved).astype(np.int64)
    return _entitlements(spec, np.maximum(cut, spec.guarantee), limit)


def tree_entitlements(session: Session, tree: QueueTree) -> Entitlements:
    """From the root down: a child may hold what its parent may, less what its siblings are guaranteed."""
    spec = _spec_of(session, tree)
    deserved = np.maximum(spec.deserved, spec.guarantee)
    capability, limit = _root_first(session, tree, spec)
    for parent, children in tree.parents:
        guaranteed = spec.guarantee[children].sum(axis=0)
        capability[children] = np.where(
            spec.caps[children], spec.capability[children], capability[parent]
        )
        room = beside_guarantees(limit[parent], guaranteed, spec.guarantee[children])
        limit[children] = np.minimum(room, capability[children])
    return _entitlements(spec, deserved, limit)


def _root_first(session: Session, tree: QueueTree, spec: Spec) -> tuple[Floats, Floats]:
    """Capabilities and limits with the root's rows filled in: by its own capability, else without bounds."""
    capability = np.full(spec.capability.shape, UNLIMITED)
    limit = np.zeros(spec.capability.shape)
    root = tree.row_of[ROOT]
    own = spec.capability[root]
    if np.delete(own, session.axis.pods).any():
        named = spec.caps[root].copy()
        # As in Volcano, a root that caps something else leaves no cpu or memory it does not mention.
        named[ALWAYS_THERE] = True
        capability[root] = np.where(named, own, UNLIMITED)
        limit[root] = own
    else:
        offered = {name for node in session.snapshot.nodes for name in node.allocatable}
        there = session.axis.named(dict.fromkeys(offered, 0))
        there[ALWAYS_THERE] = True
        limit[root] = np.where(there, UNLIMITED, 0.0)
    return capability, limit


def _entitlements(spec: Spec, deserved: Amounts, limit: Floats) -> Entitlements:
    counts = spec.is_deserved | spec.is_guaranteed
    counts[:, ALWAYS_THERE] = deserved[:, ALWAYS_THERE] > 0
    return Entitlements(spec.guarantee, deserved, limit, counts)


def _spec_of(session: Session, tree: QueueTree) -> Spec:
    axis, queues = session.axis, [session.queues[name] for name in tree.names]
    shape = (len(queues), len(axis))

    def amounts(lists: list[dict[str, int]]) -> Amounts:
        return np.array([axis.vector(one) for one in lists], dtype=np.int64).reshape(shape)

    def named(lists: list[dict[str, int]]) -> Mask:
        return np.array([axis.named(one) for one in lists], dtype=np.bool_).reshape(shape)

    guarantees = [queue.guarantee for queue in queues]
    deserved = [queue.deserved for queue in queues]
    capabilities = [queue.capability for queue in queues]
    capability = amounts(capabilities)
    return Spec(
        amounts(guarantees),
        named(guarantees),
        amounts(deserved),
        named(deserved),
        capability,
        says(capability, named(capabilities)),
    )
