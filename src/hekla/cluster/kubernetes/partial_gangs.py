"""Partial gangs: some pods of a gang are bound, and binds of other pods were refused.

Below its minimum a gang holds room and cannot work. It has some time to become whole; then its bound pods
are released, so that other jobs have the room, or kept, as is configured. Either is told on its PodGroup.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime

from hekla.clock import Clock
from hekla.cluster.kubernetes.backoff import BackOff
from hekla.cluster.kubernetes.context import WriteContext
from hekla.cluster.kubernetes.evictions import Evictions
from hekla.cluster.kubernetes.statuses import Statuses
from hekla.engine.framework.decisions import Evict
from hekla.objects import Condition, PodGroup

logger = logging.getLogger("hekla.cluster")
INCOMPLETE = "Incomplete"
REASON = "incomplete-gang"


class PartialGangs:
    """Hears of binds that were refused and confirmed, job by job."""

    def __init__(
        self,
        context: WriteContext,
        evictions: Evictions,
        statuses: Statuses,
        back_off: BackOff[str],
        *,
        clock: Clock,
        patience: float,
        releases: bool,
    ) -> None:
        self._context = context
        self._clock = clock
        self._evictions = evictions
        self._statuses = statuses
        self._back_off = back_off
        self._patience = patience
        self._releases = releases
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def refused(self, job: str, why: str) -> None:
        """No bind of it is under way, and one was refused: it has some time to become whole."""
        group = self._context.store.pod_group(job)
        if group is None or job in self._timers or not self._is_partial(job):
            return
        loop = asyncio.get_running_loop()
        self._timers[job] = loop.call_later(self._patience, self._give_up, job, why)
        fate = f"they are released in {self._patience:.0f} s" if self._releases else "they are kept"
        self._tell(group, f"{self._count(job)} pods are bound, and {why}; {fate} unless it becomes whole")

    def confirmed(self, job: str) -> None:
        """A bind was confirmed: it may have been the one that was missing."""
        group = self._context.store.pod_group(job)
        if group is None or not self._is_told(group) or self._is_partial(job):
            return
        self.forget(job)
        self._note(group, status="False", reason="Complete")

    def forget(self, job: str) -> None:
        """The gang is whole, or gone."""
        timer = self._timers.pop(job, None)
        if timer is not None:
            timer.cancel()

    def _is_told(self, group: PodGroup) -> bool:
        """Whether its PodGroup says that it is incomplete."""
        status = self._context.assumptions.of_group(group.key) or group.status
        return any(one.type == INCOMPLETE and one.status == "True" for one in status.conditions)

    def _is_partial(self, job: str) -> bool:
        return 0 < len(self._context.placed(job)) < self._context.minimum(job)

    def _count(self, job: str) -> str:
        return f"{len(self._context.placed(job))} of at least {self._context.minimum(job)}"

    def _give_up(self, job: str, why: str) -> None:
        del self._timers[job]
        group = self._context.store.pod_group(job)
        if group is None or not self._is_partial(job):
            return
        count = self._count(job)
        if not self._releases:
            self._tell(group, f"{count} pods are bound and kept, and {why}")
            return
        self._tell(group, f"{count} pods were bound for {self._patience:.0f} s and are released: {why}")
        # What is made in their place must not be bound into the same trouble at once.
        self._back_off.rest(job, self._patience)
        for pod in self._context.placed(job):
            if pod.spec.node_name:
                self._evictions.start(Evict(pod.key, pod.metadata.uid, pod.spec.node_name, REASON))

    def _tell(self, group: PodGroup, message: str) -> None:
        logger.warning("podgroup %s: %s", group.key, message)
        self._context.recorder.tell(group, "Warning", INCOMPLETE, message)
        self._note(group, status="True", reason="BindRefused", message=message)

    def _note(self, group: PodGroup, *, status: str, reason: str, message: str = "") -> None:
        now = datetime.fromtimestamp(int(self._clock.now()), UTC)
        condition = Condition(
            type=INCOMPLETE, status=status, reason=reason, message=message, last_transition_time=now
        )
        self._statuses.note(group, condition)
