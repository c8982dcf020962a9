"""Accounts: what every queue holds and asks for, and the division of the cluster between them by weight."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import add, sub

import msgspec
import numpy as np

from hekla.engine.ledger.arrays import Amounts, Floats
from hekla.engine.ledger.axis import CPU_COLUMN, MEMORY_COLUMN, Axis
from hekla.engine.ledger.demand import QueueSums
from hekla.engine.model.queue import QueueInfo
from hekla.engine.plugins.queues import (
    UNLIMITED,
    beside_guarantees,
    capability_of,
    largest_part,
)
from hekla.engine.state.live import LiveState

SMALLEST = 0.1
"""Less than this of anything is nothing: Volcano's tolerance where amounts were scaled."""


class Bounds(msgspec.Struct, frozen=True, eq=False):
    """What a queue's own words and those of the others leave it, each (R,)."""

    guarantee: Amounts
    capability: Floats
    limit: Floats
    """The most it may hold: what others are not guaranteed, capped by its capability."""
    ceiling: list[float]
    """The most that dividing gives it, in plain numbers."""
    floor: list[float]
    """The least."""


@dataclass(eq=False)
class QueueAccount:
    """One queue's numbers, each (R,); plain ones where they are asked for at every turn."""

    queue: QueueInfo
    bounds: Bounds
    held: list[int]
    request: list[int]
    inqueue: Amounts
    elastic: Amounts
    deserved: list[float] = field(default_factory=list)
    _most: list[float] = field(default_factory=list)
    _share: float | None = None
    _left: Floats | None = None

    def grant(self, deserved: list[float]) -> None:
        """The queue deserves so much."""
        self.deserved = deserved
        self._most = [most if most >= SMALLEST else math.inf for most in deserved]
        self._share = None

    def hold(self, amounts: Sequence[int]) -> None:
        """The queue holds so much more."""
        self.held = list(map(add, self.held, amounts))
        self._share = self._left = None

    def reserve(self, amounts: Amounts) -> None:
        """A job that waits for so much was admitted."""
        self.inqueue += amounts
        self._left = None

    @property
    def left(self) -> Floats:
        """How much more may be admitted; worked out when asked for. Do not change the array."""
        if self._left is None:
            self._left = self.bounds.limit - (self.allocated + self.inqueue - self.elastic)
        return self._left

    @property
    def share(self) -> float:
        """The largest part of anything it deserves that the queue holds; worked out when asked for."""
        if self._share is None:
            self._share = largest_part(self.held, self._most)
        return self._share

    @property
    def allocated(self) -> Amounts:
        """What it holds, as an array."""
        return np.array(self.held, dtype=np.int64)

    @property
    def is_overused(self) -> bool:
        """Whether it has all it deserves."""
        return not_above(self.deserved, self.held)


def bounds_of_queues(state: LiveState) -> dict[str, Bounds]:
    axis = state.axis
    guarantees = {name: axis.vector(queue.guarantee) for name, queue in state.queues.items()}
    guaranteed = sum(guarantees.values(), np.zeros(len(axis), dtype=np.int64))
    return {
        name: bounds_of(queue, guarantees[name], guaranteed, state.nodes.total, axis)
        for name, queue in state.queues.items()
    }


def bounds_of(
    queue: QueueInfo, guarantee: Amounts, guaranteed: Amounts, total: Amounts, axis: Axis
) -> Bounds:
    limit = beside_guarantees(total, guaranteed, guarantee)
    capability = capability_of(axis.vector(queue.capability), axis.named(queue.capability))
    if queue.capability:
        limit = np.minimum(limit, capability)
    # As in Volcano, a device that others are guaranteed to the last is not limited when dividing:
    # the limit has forgotten it. It still is when jobs are admitted.
    is_limited = total > guaranteed
    if queue.guarantee:
        is_limited |= axis.named(queue.guarantee)
    is_limited[[CPU_COLUMN, MEMORY_COLUMN]] = True
    ceiling: list[float] = np.where(is_limited, limit, UNLIMITED).tolist()
    return Bounds(guarantee, capability, limit, ceiling, floor=guarantee.astype(np.float64).tolist())


def open_account(queue: QueueInfo, bounds: Bounds, sums: QueueSums) -> QueueAccount:
    held = sums.held.tolist()
    request = list(map(add, held, sums.pending.tolist()))
    return QueueAccount(queue, bounds, held, request, inqueue=sums.waiting.copy(), elastic=sums.elastic)


def not_above(amounts: Sequence[float], limit: Sequence[float]) -> bool:
    """Within the limit in every resource, by Volcano's tolerance."""
    for amount, most in zip(amounts, limit, strict=True):  # noqa: SIM110 - asked at every turn, and faster
        if amount - most >= SMALLEST:
            return False
    return True


class Portion:
    """What one queue is given while the cluster is divided, in plain numbers: small arrays are slow."""

    def __init__(self, account: QueueAccount) -> None:
        self.account = account
        self.weight = account.queue.weight
        self.given = [0.0] * len(account.request)
        self._request = account.request
        rows = zip(account.bounds.ceiling, self._request, strict=True)
        self._most = [min(ceiling, float(request)) for ceiling, request in rows]
        self._least = account.bounds.floor

    def draw(self, remaining: Sequence[float], part: float) -> tuple[list[float], bool]:
        """Take so large a part of what remains; what it has gained by that, and whether it wants yet more."""
        rows = zip(self.given, remaining, self._most, self._least, strict=True)
        new = [max(min(old + left * part, most), least) for old, left, most, least in rows]
        old, self.given = self.given, new
        gains = list(map(sub, new, old))
        wants = zip(self._request, new, strict=True)
        is_satisfied = new in (old, self._request) or all([want - has < SMALLEST for want, has in wants])
        return gains, not is_satisfied


def divide(accounts: list[QueueAccount], total: Amounts, pods: int) -> None:
    """Give every queue what it deserves: fill by weight, round by round, till nothing more is wanted.

    A queue keeps drawing by its weight until it is satisfied in every resource, and hands back
    what it cannot use; so leftovers reach the others over many rounds, and the rounds are the rule.
    """
    portions = [Portion(account) for account in accounts]
    hungry, remaining = portions, [float(amount) for amount in total.tolist()]
    while weights := sum(portion.weight for portion in hungry):
        drawn = [portion.draw(remaining, portion.weight / weights) for portion in hungry]
        hungry = [portion for portion, (_, is_hungry) in zip(hungry, drawn, strict=True) if is_hungry]
        if not hungry:
            break
        before, remaining = remaining, left_after(remaining, [gains for gains, _ in drawn])
        if remaining == before or is_empty(remaining, pods):
            break
    for portion in portions:
        portion.account.grant(portion.given)


def left_after(remaining: Sequence[float], gains: Sequence[Sequence[float]]) -> list[float]:
    """What remains once all have gained so much; that is added up by itself, and never below nothing."""
    given, *others = gains
    for gain in others:
        given = list(map(add, given, gain))
    return [left - gone if gone < left else 0.0 for left, gone in zip(remaining, given, strict=True)]


def is_empty(amounts: Sequence[float], pods: int) -> bool:
    """Nothing left but places for pods."""
    return all([amount < SMALLEST for at, amount in enumerate(amounts) if at != pods])
