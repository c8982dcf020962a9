"""Evictor: one eviction, to an end that is known.

As in Volcano the pod is marked with conditions first and deleted then. When the server refuses, the marks
are taken back: the pod runs on, and must not look as if it did not.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial

from hekla.cluster.conditions import eviction_conditions
from hekla.cluster.kubernetes.api.client import Refused
from hekla.cluster.kubernetes.intents import PODS, TO_REST, Attempt, Attempts, End, Outcome, end_by
from hekla.cluster.kubernetes.writer import NotLeading, Writer, suppress_refusals
from hekla.cluster.rooms import is_finished
from hekla.engine.framework.decisions import Evict
from hekla.errors import ClusterError
from hekla.objects import Condition, Pod

logger = logging.getLogger("hekla.cluster")


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
            if end.outcome is not Outcome.CONFIRMED:
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
            return End(Outcome.SUPERSEDED, str(error))
        except ClusterError as error:
            return End(Outcome.EXPIRED, f"its conditions cannot be written: {error}")
        return None

    async def _send(self, decision: Evict, send: Callable[[Evict], Awaitable[None]]) -> End:
        attempt = Attempt(
            decision.pod,
            send=partial(send, decision),
            verdict=partial(verdict, decision),
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


def verdict(decision: Evict, pod: Pod) -> End | None:
    """How the eviction has ended, by what the pod looks like; None where it has not."""
    if pod.metadata.uid != decision.uid:
        return End(Outcome.GONE, "another pod has taken its name")
    if pod.metadata.deletion_timestamp is not None:
        return End(Outcome.CONFIRMED)
    return End(Outcome.GONE, "it has ended by itself") if is_finished(pod) else None


def _is_same(mark: Condition, found: Condition) -> bool:
    return (mark.type, mark.status, mark.reason) == (found.type, found.status, found.reason)


def _reasons(marks: tuple[Condition, ...]) -> set[str]:
    return {mark.reason for mark in marks}
