"""Orders: kind Command. Each is deleted first and carried out then, so at most once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from hekla.cluster.kubernetes.controllers.office import Office
from hekla.cluster.kubernetes.outbox import Rank
from hekla.errors import ClusterError
from hekla.objects import VolcanoCommand

logger = logging.getLogger("hekla.cluster")
PAUSE = 2.0


class Orders:
    """`obey` is called with every order that could be deleted."""

    def __init__(self, office: Office, obey: Callable[[VolcanoCommand], None]) -> None:
        self._office = office
        self._obey = obey

    def heed(self, order: VolcanoCommand) -> None:
        """An order is there."""
        if order.metadata.deletion_timestamp is None:
            self._office.outbox.put(Rank.OBJECT, f"order {order.metadata.uid}", partial(self._take, order))

    async def _take(self, order: VolcanoCommand) -> None:
        if not self._office.is_current():
            return
        try:
            is_ours = await self._office.writer.delete(VolcanoCommand, order.key, order.metadata.uid)
        except ClusterError as error:
            logger.warning("command %s not taken: %s", order.key, error)
            asyncio.get_running_loop().call_later(PAUSE, self.heed, order)
            return
        if is_ours and self._office.is_current():
            self._obey(order)
