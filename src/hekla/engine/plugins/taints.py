"""Taints: whom a node turns away. Nodes with equal taints are judged once, together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hekla.engine.ledger.arrays import Counts, Mask
from hekla.engine.model.node import Node
from hekla.lazy import lazy
from hekla.objects.node import Taint
from hekla.objects.pod import Toleration

HARD_EFFECTS = ("NoSchedule", "NoExecute")
SOFT_EFFECT = "PreferNoSchedule"
CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
    return False


def is_tolerated(taint: Taint, tolerations: Sequence[Toleration]) -> bool:
    return any(tolerates(toleration, taint) for toleration in tolerations)


def spelled(taint: Taint) -> str:
    """A taint as people write it: `gpu=reserved`, or the bare key."""
    return f"{taint.key}={taint.value}" if taint.value else taint.key


class NodeTaints:
    """The taints of all nodes, as a few distinct sets and the number of each node's set."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        number_of: dict[tuple[Taint, ...], int] = {}
        numbers = [number_of.setdefault(node.manifest.spec.taints, len(number_of)) for node in nodes]
        self._sets = list(number_of)
        self._set_of_row = np.array(numbers, dtype=np.intp)
        self.cordoned: Mask = np.array([node.manifest.spec.unschedulable for node in nodes], dtype=np.bool_)
        self.any_cordoned = bool(self.cordoned.any())

    @lazy
    def any_hard(self) -> bool:
        return any(taint.effect in HARD_EFFECTS for taints in self._sets for taint in taints)

    @lazy
    def any_soft(self) -> bool:
        return any(taint.effect == SOFT_EFFECT for taints in self._sets for taint in taints)

    def refusing(self, tolerations: Sequence[Toleration]) -> tuple[Mask, list[Taint]]:
        """Nodes with a hard taint that is not tolerated, and which taint of each kind of node is first."""
        found = [_first_untolerated(taints, tolerations) for taints in self._sets]
        refused = np.array([taint is not None for taint in found], dtype=np.bool_)
        return refused[self._set_of_row], list(dict.fromkeys(taint for taint in found if taint is not None))

    def disliked(self, tolerations: Sequence[Toleration]) -> Counts:
        """How many soft taints of each node are not tolerated; -> (N,)"""
        soft = [toleration for toleration in tolerations if toleration.effect in ("", SOFT_EFFECT)]
        counts = [
            sum(taint.effect == SOFT_EFFECT and not is_tolerated(taint, soft) for taint in taints)
            for taints in self._sets
        ]
        return np.array(counts, dtype=np.int64)[self._set_of_row]


def _first_untolerated(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> Taint | None:
    hard = (taint for taint in taints if taint.effect in HARD_EFFECTS)
    return next((taint for taint in hard if not is_tolerated(taint, tolerations)), None)
