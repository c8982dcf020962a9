"""Evictions: the pod is told why, then deleted with its grace period; until it is gone it is leaving.

A victim that the server does not let go stays, and is no victim again before it has rested, longer each time.
"""

from __future__ import annotations

import logging
from collections import Counter
from functools import partial
from typing import NamedTuple

from hekla.cluster.kubernetes.backoff import BackOff
from hekla.cluster.kubernetes.desk import Desk, group_of
from hekla.cluster.kubernetes.evictor import Evictor
from hekla.cluster.kubernetes.intents import TO_REST, End, Outcome
from hekla.cluster.kubernetes.outbox import Rank
from hekla.cluster.kubernetes.statuses import Statuses
from hekla.cluster.rooms import is_finished
from hekla.engine.framework.decisions import Evict
from hekla.engine.model.benefit import BENEFICIARY
from hekla.objects import Pod

logger = logging.getLogger("hekla.cluster")
DONE = (Outcome.CONFIRMED, Outcome.GONE)


class Victim(NamedTuple):
    """A pod, by name and UID."""

    pod: str
    uid: str


class Evictions:
    """Carries out evictions; `open` holds those that have no end yet, by pod UID."""

    def __init__(self, desk: Desk, evictor: Evictor, statuses: Statuses, back_off: BackOff[Victim]) -> None:
        self._desk = desk
        self._evictor = evictor
        self._statuses = statuses
        self._back_off = back_off
        self.open: dict[str, Evict] = {}
        self.begun = 0
        self.ends: Counter[Outcome] = Counter()

    def start(self, decision: Evict) -> None:
        pod = self._desk.pod(decision.pod, decision.uid)
        if pod is None or decision.uid in self.open or why_not_evict(self._desk, decision):
            return
        self.begun += 1
        self.open[decision.uid] = decision
        self._desk.assume(decision.pod, decision.uid, is_leaving=True)
        self._desk.outbox.put(Rank.EVICTION, f"evict {decision.uid}", partial(self._carry_out, decision, pod))

    @property
    def failed(self) -> int:
        return sum(self.ends[outcome] for outcome in TO_REST)

    async def _carry_out(self, decision: Evict, pod: Pod) -> None:
        victim = Victim(decision.pod, decision.uid)
        try:
            end = await self._evictor.evict(decision, pod, is_doubtful=self._back_off.has_failed(victim))
        except Exception as error:
            logger.exception("pod %s: eviction failed in an unforeseen way", decision.pod)
            end = End(Outcome.REFUSED, f"{type(error).__name__}: {error}")
        self.ends[end.outcome] += 1
        del self.open[decision.uid]
        if end.outcome in DONE:
            # It counts as leaving until the facts say so themselves.
            self._tell(pod, decision)
        else:
            self._take_back(victim, pod, decision, end)

    def _tell(self, pod: Pod, decision: Evict) -> None:
        benefit = f' in favour of "{decision.beneficiary}"' if decision.beneficiary else ""
        message = f'evicted because of "{decision.reason}"{benefit}'
        self._desk.recorder.tell(pod, "Warning", "Evict", message)
        group = self._desk.store.pod_group(group_of(pod))
        if group is not None:
            self._desk.recorder.tell(group, "Normal", "Evict", decision.reason)

    def _take_back(self, victim: Victim, pod: Pod, decision: Evict, end: End) -> None:
        self._desk.assume(victim.pod, victim.uid, is_leaving=False)
        if end.outcome not in TO_REST:
            logger.info("pod %s: eviction %s: %s", victim.pod, end.outcome.value, end.message)
            return
        logger.warning("pod %s: eviction %s: %s", victim.pod, end.outcome.value, end.message)
        message = f'eviction because of "{decision.reason}" failed: {end.message}'
        self._desk.recorder.tell(pod, "Warning", "FailedEviction", message)
        if self._desk.pod(*victim) is not None:
            self._back_off.failed(victim, at_least=end.retry_after)
        beneficiary = self._desk.store.pod_group(decision.beneficiary)
        if beneficiary is not None:
            # No room was freed for it here: it may look for other victims at once.
            self._statuses.withdraw(beneficiary, BENEFICIARY)


def why_not_evict(desk: Desk, decision: Evict) -> str:
    """What the newest facts have against the eviction, or nothing."""
    pod = desk.pod(decision.pod, decision.uid)
    if pod is None:
        return "the pod is gone"
    if pod.metadata.deletion_timestamp is not None:
        return "the pod is on its way out"
    return "the pod has ended" if is_finished(pod) else ""
