"""Queue states: state and parent of queues, and the mark of those that were closed with their parent."""

from __future__ import annotations

import asyncio
import logging
from functools import partial

from hekla.cluster.kubernetes.controllers.bodies import Body
from hekla.cluster.kubernetes.controllers.office import Office
from hekla.cluster.kubernetes.controllers.world import World
from hekla.cluster.kubernetes.outbox import Rank
from hekla.controllers.keys import CLOSED_BY_PARENT
from hekla.errors import ClusterError
from hekla.objects import Queue

logger = logging.getLogger("hekla.cluster")
TRIES = 15
PAUSE = 2.0


class QueueStates:
    """Writes what the queue controller wants."""

    def __init__(self, office: Office, world: World) -> None:
        self._office = office
        self._world = world

    def put(self, queue: Queue) -> None:
        name = queue.metadata.name
        self._world.expect_queue(name, queue)
        self._office.outbox.put(Rank.QUEUE, f"state of queue {name}", partial(self._write, name))

    async def _write(self, name: str) -> None:
        """Nobody would ask again, so this is tried for a while."""
        for again in reversed(range(TRIES)):
            fact, wanted = self._world.facts.queue(name), self._world.queue_of(name)
            if fact is None or wanted is None or not self._office.is_current():
                return
            try:
                await self._write_once(fact, wanted)
            except ClusterError as error:
                logger.warning("queue %s: state not written: %s", name, error)
                if not again:
                    self._office.tell(fact, "Warning", "SyncQueue", str(error))
                    self._world.expect_queue(name, None)
                await asyncio.sleep(PAUSE)
            else:
                if self._world.queue_of(name) == wanted:
                    self._world.expect_queue(name, None)
                    return

    async def _write_once(self, fact: Queue, wanted: Queue) -> None:
        patch: Body = {}
        if fact.spec.parent != wanted.spec.parent:
            patch["spec"] = {"parent": wanted.spec.parent}
        mark = wanted.metadata.annotations.get(CLOSED_BY_PARENT)
        if mark is not None and mark != fact.metadata.annotations.get(CLOSED_BY_PARENT):
            patch["metadata"] = {"annotations": {CLOSED_BY_PARENT: mark}}
        writer = self._office.writer
        if patch:
            await writer.change(Queue, fact.key, patch)
        if fact.status.state != wanted.status.state:
            await writer.change(Queue, fact.key, {"status": {"state": wanted.status.state}}, "status")
