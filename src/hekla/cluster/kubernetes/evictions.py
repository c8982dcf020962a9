"""Evictions: the pod is told why, then deleted with its grace period; until it is gone it is leaving."""

from __future__ import annotations

import logging
from functools import partial

from hekla.cluster.conditions import eviction_conditions
from hekla.cluster.kubernetes.desk import Desk, group_of
from hekla.cluster.kubernetes.outbox import Rank
from hekla.cluster.rooms import is_finished
from hekla.errors import ClusterError
from hekla.framework.decisions import Evict
from hekla.objects import Pod

logger = logging.getLogger("hekla.cluster")


class Evictions:
    """Carries out evictions, and counts those that the server refused."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.begun = 0
        self.failed = 0

    def start(self, decision: Evict) -> None:
        pod = self._desk.pod(decision.pod, decision.uid)
        if pod is None or pod.metadata.deletion_timestamp is not None or is_finished(pod):
            return
        self.begun += 1
        self._desk.assume(decision.pod, decision.uid, is_leaving=True)
        self._tell(pod, decision)
        self._desk.outbox.put(Rank.EVICTION, f"evict {decision.uid}", partial(self._carry_out, decision))

    def _tell(self, pod: Pod, decision: Evict) -> None:
        benefit = f' in favour of "{decision.beneficiary}"' if decision.beneficiary else ""
        message = f'evicted because of "{decision.reason}"{benefit}'
        self._desk.recorder.tell(pod, "Warning", "Evict", message)
        group = self._desk.store.pod_group(group_of(pod))
        if group is not None:
            self._desk.recorder.tell(group, "Normal", "Evict", decision.reason)

    async def _carry_out(self, decision: Evict) -> None:
        try:
            await self._desk.writer.evict(decision.pod, decision.uid, eviction_conditions(decision.reason))
        except ClusterError as error:
            self.failed += 1
            logger.warning("pod %s: eviction failed: %s", decision.pod, error)
            self._desk.assume(decision.pod, decision.uid, is_leaving=False)
