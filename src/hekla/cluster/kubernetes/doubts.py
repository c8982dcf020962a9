"""Doubts: the API server does not know an object that is known here.

Mostly the event that it is gone is on its way. If it does not come, the server has another history than was
heard of, restored from a backup perhaps: then everything is listed anew.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from hekla.cluster.store import Store
from hekla.objects import Manifest

logger = logging.getLogger("hekla.cluster")


class Doubts:
    """`start_over` is called once a doubt has proved right."""

    def __init__(self, store: Store, start_over: Callable[[], None], grace: float = 3.0) -> None:
        self._store = store
        self._start_over = start_over
        self._grace = grace
        self._timer: asyncio.TimerHandle | None = None

    def missing(self, kind: type[Manifest], key: str) -> None:
        """The server says that there is no such object; one doubt at a time is enough."""
        known = self._store.get(kind, key)
        if known is not None and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._grace, self._look_again, known)

    def _look_again(self, known: Manifest) -> None:
        self._timer = None
        if self._store.get(type(known), known.key) is known:
            word = type(known).__name__.lower()
            logger.warning("%s %s: is gone, and nobody said so; everything is listed anew", word, known.key)
            self._start_over()
