"""Limits: for which resources a queue may hold less than the whole cluster.

A queue that may hold all there is does not keep a job waiting, whatever words its plugin uses.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Amounts, Floats


class Limits:
    """What plugins say that queues may hold; asked again when nodes have another sum."""

    def __init__(self) -> None:
        self._total: Amounts = np.zeros(0, dtype=np.int64)
        self._narrow: dict[tuple[str, str], Floats | None] = {}

    def narrow(self, session: Session, plugin: Plugin, queues: Iterable[str]) -> dict[str, Floats]:
        """By queue (R,), 1 where its limit is below the cluster's sum; not told of queues without one."""
        if self._total is not session.total:
            self._total = session.total
            self._narrow.clear()
        if not all([(plugin.name, queue) in self._narrow for queue in queues]):
            for queue, figures in plugin.queue_figures().items():
                mask = below(session, figures.real_capacity)
                self._narrow[plugin.name, queue] = mask if mask.any() else None
        known = [(queue, self._narrow.get((plugin.name, queue))) for queue in queues]
        return {queue: mask for queue, mask in known if mask is not None}


def below(session: Session, amounts: Mapping[str, float]) -> Floats:
    """(R,) 1 where these amounts are less than what all nodes have, else 0; nothing is said: no limit."""
    return np.array(
        [
            amounts.get(name, math.inf) < total
            for name, total in zip(session.axis.names, session.total.tolist(), strict=True)
        ],
        dtype=np.float64,
    )
