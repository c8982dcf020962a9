"""Queues that are always there: root and the default queue, made where nobody has."""

from __future__ import annotations

import logging

from msgspec import to_builtins

from hekla.cluster.kubernetes import KubernetesCluster
from hekla.cluster.kubernetes.api.client import Refused
from hekla.controllers import standing_queues
from hekla.errors import ClusterError
from hekla.objects import Queue

logger = logging.getLogger("hekla.serve")


async def ensure_queues(cluster: KubernetesCluster) -> bool:
    """Make the standing queues that are missing; whether they are there now."""
    for queue in standing_queues(set(cluster.store.queues())):
        body = {"metadata": {"name": queue.metadata.name}, "spec": to_builtins(queue.spec)}
        try:
            await cluster.writer.create(Queue, "", body)
            logger.info("queue %s made", queue.metadata.name)
        except Refused as refusal:
            if refusal.reason != "AlreadyExists":
                logger.warning("queue %s cannot be made: %s", queue.metadata.name, refusal)
                return False
        except ClusterError as error:
            logger.warning("queue %s cannot be made: %s", queue.metadata.name, error)
            return False
    return True
