"""Evictions: the pod is told why, then deleted with its grace period; until it is gone it is leaving.

As in Volcano the pod is marked with conditions first and deleted then. When the server refuses, the marks are
taken back: the pod runs on, and must not look as if it did not. It is no victim again before it has rested,
longer each time.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple

from hekla.cluster.conditions import eviction_conditions
from hekla.cluster.kubernetes.api.client import Refused
from hekla.cluster.kubernetes.backoff import BackOff
from hekla.cluster.kubernetes.context import WriteContext, group_of
from hekla.cluster.kubernetes.intents import PODS, TO_REST, Attempts, End, WriteAttempt, WriteOutcome, end_by
from hekla.cluster.kubernetes.outbox import WriteRank
from hekla.cluster.kubernetes.statuses import Statuses
from hekla.cluster.kubernetes.writer import NotLeading, Writer, suppress_refusals
from hekla.cluster.node_usage import is_finished
from hekla.engine.framework.decisions import Evict
from hekla.engine.model.benefit import BENEFICIARY
from hekla.errors import ClusterError
from hekla.objects import Condition, Pod

logger = logging.getLogger("hekla.cluster")
DONE = (WriteOutcome.CONFIRMED, WriteOutcome.GONE)


class PodIdentity(NamedTuple):
    """A pod, by name and UID."""

    pod: str
    uid: str


class Evictions:
    """Carries out evictions; `open` holds those that have no end yet, by pod UID."""

    def __init__(
        self, context: WriteContext, evictor: Evictor, statuses: Statuses, back_off: BackOff[PodIdentity]
    ) -> None:
        self._context = context
        self._evictor = evictor
        self._statuses = statuses
        self._back_off = back_off
        self.open: dict[str, Evict] = {}
        self.begun = 0
        self.ends: Counter[WriteOutcome] = Counter()

    def start(self, decision: Evict) -> None:
        pod = self._context.pod(decision.pod, decision.uid)
        if pod is None or decision.uid in self.open or why_not_evict(self._context, decision):
            return
        self.begun += 1
        self.open[decision.uid] = decision
        self._context.assume(decision.pod, decision.uid, is_leaving=True)
        self._context.outbox.put(
            WriteRank.EVICTION, f"evict {decision.uid}", partial(self._carry_out, decision, pod)
        )

    @property
    def failed(self) -> int:
        return sum(self.ends[outcome] for outcome in TO_REST)

    async def _carry_out(self, decision: Evict, pod: Pod) -> None:
        victim = PodIdentity(decision.pod, decision.uid)
        try:
            end = await self._evictor.evict(decision, pod, is_doubtful=self._back_off.has_failed(victim))
        except Exception as error:
            logger.exception("pod %s: eviction failed in an unforeseen way", decision.pod)
            end = End(WriteOutcome.REFUSED, f"{type(error).__name__}: {error}")
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
        self._context.recorder.tell(pod, "Warning", "Evict", message)
        group = self._context.store.pod_group(group_of(pod))
        if group is not None:
            self._context.recorder.tell(group, "Normal", "Evict", decision.reason)

    def _take_back(self, victim: PodIdentity, pod: Pod, decision: Evict, end: End) -> None:
        self._context.assume(victim.pod, victim.uid, is_leaving=False)
        if end.outcome not in TO_REST:
            logger.info("pod %s: eviction %s: %s", victim.pod, end.outcome.value, end.message)
            return
        logger.warning("pod %s: eviction %s: %s", victim.pod, end.outcome.value, end.message)
        message = f'eviction because of "{decision.reason}" failed: {end.message}'
        self._context.recorder.tell(pod, "Warning", "FailedEviction", message)
        if self._context.pod(*victim) is not None:
            self._back_off.failed(victim, at_least=end.retry_after)
        beneficiary = self._context.store.pod_group(decision.beneficiary)
        if beneficiary is not None:
            # No room was freed for it here: it may look for other victims at once.
            self._statuses.withdraw(beneficiary, BENEFICIARY)


def why_not_evict(context: WriteContext, decision: Evict) -> str:
    """What the newest facts have against the eviction, or nothing."""
    pod = context.pod(decision.pod, decision.uid)
    if pod is None:
        return "the pod is gone"
    if pod.metadata.deletion_timestamp is not None:
        return "the pod is on its way out"
    return "the pod has ended" if is_finished(pod) else ""


class Evictor:
    """Carries evictions to their ends; `keeps_budgets`: through the API that heeds PodDisruptionBudgets."""

    def __init__(
        self, attempts: Attempts, writer: Writer, why_not: Callable[[Evict], str], *, keeps_budgets: bool
    ) -> None:
        self._attempts = attempts
        self._writer = writer
        self._why_not = why_not
        self._keeps_budgets = keeps_budgets

    async def evict(self, decision: Evict, pod: Pod, *, is_doubtful: bool) -> End:
        """Try until it is known how it ends; a doubtful one is marked only once a dry run was let through."""
        if self._keeps_budgets:
            # With the eviction the server writes the condition itself.
            return await self._send(decision, self._ask_to_evict)
        if is_doubtful:
            end = await self._send(decision, partial(self._delete, dry_run=True))
            if end.outcome is not WriteOutcome.CONFIRMED:
                return end
        marks = eviction_conditions(decision.reason)
        end = await self._mark(decision, marks) or await self._send(decision, self._delete)
        if end.outcome in TO_REST:
            await self._take_back(decision, pod, marks)
        return end

    async def _mark(self, decision: Evict, marks: tuple[Condition, ...]) -> End | None:
        """The end, where the marks cannot be written; what the pod is now, its deletion will tell."""
        try:
            with suppress_refusals(404, 409):
                await self._writer.pod_conditions(decision.pod, decision.uid, marks)
        except Refused as refusal:
            return end_by(refusal)
        except NotLeading as error:
            return End(WriteOutcome.SUPERSEDED, str(error))
        except ClusterError as error:
            return End(WriteOutcome.EXPIRED, f"its conditions cannot be written: {error}")
        return None

    async def _send(self, decision: Evict, send: Callable[[Evict], Awaitable[None]]) -> End:
        attempt = WriteAttempt(
            decision.pod,
            send=partial(send, decision),
            end_shown_by=partial(end_of_eviction, decision),
            why_not=partial(self._why_not, decision),
        )
        return await self._attempts.end_of(attempt)

    async def _ask_to_evict(self, decision: Evict) -> None:
        namespace, _, name = decision.pod.rpartition("/")
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": {"preconditions": {"uid": decision.uid}},
        }
        await self._attempts.client.post(PODS.path_of(decision.pod, "eviction"), body)

    async def _delete(self, decision: Evict, *, dry_run: bool = False) -> None:
        body: dict[str, object] = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": decision.uid},
        }
        if dry_run:
            body["dryRun"] = ["All"]
        await self._attempts.client.call("DELETE", PODS.path_of(decision.pod), body=body)

    async def _take_back(self, decision: Evict, before: Pod, marks: tuple[Condition, ...]) -> None:
        """The conditions are again what they were; those that changed since are left alone."""
        now = await self._attempts.read(decision.pod)
        if isinstance(now, End) or now.metadata.uid != decision.uid:
            return
        ours = [mark.type for mark in marks if any(_is_same(mark, one) for one in now.status.conditions)]
        earlier = {one.type: one for one in before.status.conditions if one.reason not in _reasons(marks)}
        restored = {kind: earlier.get(kind) for kind in ours}
        try:
            if restored:
                await self._writer.restore_conditions(decision.pod, decision.uid, restored)
        except ClusterError as error:
            logger.warning("pod %s: not evicted, and still marked as if it were: %s", decision.pod, error)


def end_of_eviction(decision: Evict, pod: Pod) -> End | None:
    """How the eviction has ended, by what the pod looks like; None where it has not."""
    if pod.metadata.uid != decision.uid:
        return End(WriteOutcome.GONE, "another pod has taken its name")
    if pod.metadata.deletion_timestamp is not None:
        return End(WriteOutcome.CONFIRMED)
    return End(WriteOutcome.GONE, "it has ended by itself") if is_finished(pod) else None


def _is_same(mark: Condition, found: Condition) -> bool:
    return (mark.type, mark.status, mark.reason) == (found.type, found.status, found.reason)


def _reasons(marks: tuple[Condition, ...]) -> set[str]:
    return {mark.reason for mark in marks}
