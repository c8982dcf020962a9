"""Why a job waits, in one word: what binds it just now."""

from __future__ import annotations

from enum import StrEnum


class WaitReason(StrEnum):
    """The first that holds binds: a gated job is not said to lack room."""

    GATE = "gate"
    """Its own doing: scheduling gates, jobs it depends on, pods that do not exist yet."""
    ADMISSION_LIMIT = "admission limit"
    """A plugin lets no more waiting work in, such as overcommit."""
    QUEUE_SHARE = "queue share"
    """Its queue has had its share or is at its limit."""
    FILTERS = "filters"
    """Nodes with room are ruled out for it: selectors, taints, affinity, volumes."""
    TOPOLOGY = "topology"
    """The cluster has room for it, no single network domain has."""
    FRAGMENTATION = "fragmentation"
    """There is enough in sum, but in pieces too small for its tasks."""
    NO_ROOM = "no room"
    """Less is free than it asks for."""
    ORDER = "order"
    """It would fit, and others go first: it was not its turn, or room is kept for another job."""
