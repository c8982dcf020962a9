"""Executor: each decision goes to the part that carries it out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hekla.cluster.conditions import not_scheduled_condition
from hekla.cluster.kubernetes.binding import Binds
from hekla.cluster.kubernetes.context import WriteContext
from hekla.cluster.kubernetes.evictions import Evictions
from hekla.cluster.kubernetes.statuses import Statuses
from hekla.engine.framework.decisions import (
    Bind,
    Decision,
    Evict,
    Nominate,
    OpenGate,
    Tell,
    UpdatePodGroup,
    UpdateQueue,
    UpdateShard,
)
from hekla.objects import Pod

AT_ONCE = 100
"""How many decisions are carried out before other tasks on the event loop have their turn."""


class DecisionExecutor:
    """Carries out decisions: binds first, so that they are on their way while the rest is said."""

    def __init__(
        self, context: WriteContext, binding: Binds, evictions: Evictions, statuses: Statuses
    ) -> None:
        self._context = context
        self._binding = binding
        self._evictions = evictions
        self._statuses = statuses

    def carry_out_all(self, decisions: Sequence[Decision]) -> None:
        for intents in self._binding.by_job(_binds_in(decisions)):
            self._binding.start(intents)
        for decision in _evictions_last(decisions):
            self._carry_out(decision)

    async def carry_out_in_turns(self, decisions: Sequence[Decision]) -> None:
        """The same, and other tasks on the event loop have their turn in between."""
        for intents in self._binding.by_job(_binds_in(decisions)):
            self._binding.start(intents)
            await asyncio.sleep(0)
        for number, decision in enumerate(_evictions_last(decisions)):
            self._carry_out(decision)
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)

    def _carry_out(self, decision: Decision) -> None:
        match decision:
            case Evict():
                self._evictions.start(decision)
            case Tell():
                self._tell(decision)
            case Nominate():
                if (pod := self._waiting(decision)) is not None:
                    self._statuses.say(pod, nominated=decision.node)
            case OpenGate():
                self._statuses.open_gate(decision)
            case UpdatePodGroup():
                self._statuses.update_pod_group(decision)
            case UpdateQueue():
                self._statuses.update_queue(decision)
            case UpdateShard():
                self._statuses.update_shard(decision)
            case Bind():
                pass  # carried out before everything else

    def _tell(self, decision: Tell) -> None:
        pod = self._waiting(decision)
        if pod is not None:
            condition = not_scheduled_condition(decision.reason, decision.message)
            self._statuses.say(pod, condition=condition)
            self._context.recorder.tell(pod, "Warning", "FailedScheduling", decision.message)

    def _waiting(self, decision: Tell | Nominate) -> Pod | None:
        """The pod that is meant, if it is not bound or about to be."""
        pod = self._context.pod(decision.pod, decision.uid)
        if pod is None or pod.spec.node_name or decision.uid in self._binding.open:
            return None
        return pod


def _binds_in(decisions: Sequence[Decision]) -> list[Bind]:
    return [decision for decision in decisions if isinstance(decision, Bind)]


def _evictions_last(decisions: Sequence[Decision]) -> list[Decision]:
    """What was decided along with an eviction is known before the eviction can be refused."""
    return sorted(decisions, key=lambda decision: isinstance(decision, Evict))
