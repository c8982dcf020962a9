"""Sampling: what plugins' accounts say now and then, evenly over a run of unknown length.

Whenever there are twice as many samples as wanted, every second one is dropped and the pace is halved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hekla.engine.framework.session import Session
from hekla.simulation.run import Samples

WANTED = 400


class Sampler:
    """Asks sessions what queues deserve, at most once per interval."""

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._times: list[float] = []
        self._deserved: list[dict[str, dict[str, float]]] = []
        self._next = -math.inf

    def look(self, session: Session, now: float) -> None:
        if now < self._next:
            return
        self._times.append(now)
        self._deserved.append(
            {
                queue: dict(deserved)
                for plugin in session.plugins
                for queue, deserved in plugin.deserved_by_queue().items()
                if deserved
            }
        )
        if len(self._times) >= 2 * WANTED:
            self._times, self._deserved = self._times[::2], self._deserved[::2]
            self._interval *= 2
        self._next = now + self._interval

    def samples(self, queues: Sequence[str], resources: Sequence[str]) -> Samples:
        """As arrays; what no plugin said anything about is NaN."""
        deserved = np.full((len(self._times), len(queues), len(resources)), np.nan)
        for at, accounts in enumerate(self._deserved):
            for place, queue in enumerate(queues):
                if account := accounts.get(queue):
                    deserved[at, place] = [account.get(name, 0.0) for name in resources]
        return Samples(np.array(self._times, dtype=np.float64), deserved)
