"""Sharing virtual GPUs: which cards of a node a pod would get, and how good that is."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Floats, Mask, Rows
from hekla.engine.model.diagnosis import Refusal
from hekla.engine.model.task import Task
from hekla.engine.plugins.deviceshare.vgpu_cards import (
    SOFTWARE_MODE,
    CardDemand,
    CardRequest,
    Slice,
    Tenant,
    VirtualCard,
    cards_of,
    request_of,
    slices_of,
    tenant_of,
)
from hekla.errors import InputError
from hekla.objects.complaint import Complaint
from hekla.objects.keys import VGPU_MODE

BINPACK, SPREAD = "binpack", "spread"


class Slices(NamedTuple):
    """Slices of the cards of one node, and whose they are."""

    row: int
    tenant: Tenant
    parts: tuple[Slice, ...]
    uuids: tuple[str, ...]

    def __str__(self) -> str:
        held = zip(self.uuids, self.parts, strict=True)
        return ", ".join(f"{part.memory} MiB and {part.cores}% cores of {uuid}" for uuid, part in held)


class CardPlan(NamedTuple):
    """The slices a pod would get on a node, and the score of the node."""

    parts: tuple[Slice, ...]
    score: float


class VirtualCards:
    """The cards of every node that registers some."""

    def __init__(self, session: Session, policy: str, rules: Sequence[Mapping[str, str]]) -> None:
        self._policy = policy
        self._rules = rules
        self._count = len(session.nodes)
        self._requests: dict[str, CardRequest | None] = {}
        self.cards_of_row: dict[int, list[VirtualCard]] = {}
        for row, node in enumerate(session.nodes.nodes):
            try:
                self.cards_of_row[row] = cards_of(node)
            except InputError as error:
                session.snapshot.complaints.append(Complaint(f"node {node.name}", str(error)))

    def wants(self, task: Task) -> bool:
        return self._request_of(task) is not None

    def looks_at(self, task: Task) -> Hashable:
        """Annotations, and whom the task may not share a card with."""
        request = self._request_of(task)
        return None if request is None else request.key

    def refusal(self, task: Task, rows: Rows) -> Refusal:
        short: Mask = np.array([plan is None for plan in self._plans(task, rows)], dtype=np.bool_)
        return Refusal(
            "node(s) didn't have enough vGPU cards that fit", short, plain="not enough vGPU cards fit"
        )

    def scores(self, task: Task, rows: Rows) -> Floats | None:
        if self._policy != BINPACK:
            # Volcano looks for unused cards when the pod counts already, and so never finds one.
            return None
        return np.array([0.0 if plan is None else plan.score for plan in self._plans(task, rows)])

    def held_by(self, task: Task) -> Slices | None:
        parts = slices_of(task, self.cards_of_row.get(task.node, []))
        return self._slices(task.node, tenant_of(task, self._rules), parts) if parts else None

    def choose(self, task: Task, row: int) -> Slices | None:
        plan, request = self._plan(task, row), self._request_of(task)
        return None if plan is None or request is None else self._slices(row, request.tenant, plan.parts)

    def add(self, held: Slices) -> None:
        for part in held.parts:
            self.cards_of_row[held.row][part.card].add(held.tenant, part)

    def remove(self, held: Slices) -> None:
        for part in held.parts:
            self.cards_of_row[held.row][part.card].remove(held.tenant, part)

    def _slices(self, row: int, tenant: Tenant, parts: tuple[Slice, ...]) -> Slices:
        return Slices(row, tenant, parts, tuple(self.cards_of_row[row][part.card].uuid for part in parts))

    def _request_of(self, task: Task) -> CardRequest | None:
        if task.uid not in self._requests:
            self._requests[task.uid] = request_of(task, self._rules)
        return self._requests[task.uid]

    def _plans(self, task: Task, rows: Rows) -> list[CardPlan | None]:
        return [self._plan(task, row) for row in np.arange(self._count)[rows].tolist()]

    def _plan(self, task: Task, row: int) -> CardPlan | None:
        request, cards = self._request_of(task), self.cards_of_row.get(row)
        if request is None or not cards or request.wishes.get(VGPU_MODE, SOFTWARE_MODE) != SOFTWARE_MODE:
            return None
        return walk(cards, request, self._policy)


def walk(cards: Sequence[VirtualCard], request: CardRequest, policy: str) -> CardPlan | None:
    """The slices that each container would get in turn; None where one of them finds too few cards."""
    parts: list[Slice] = []
    score = 0.0
    with _trial(cards, request.tenant, parts):
        for demand in request.demands:
            found = 0
            for at in in_order(cards, policy):
                if found == demand.cards:
                    break
                if request.suits(cards[at], demand):
                    _take(cards, request, demand, at, parts)
                    score += cards[at].fullness
                    found += 1
            if found < demand.cards:
                return None
        return CardPlan(tuple(parts), score)


def in_order(cards: Sequence[VirtualCard], policy: str) -> list[int]:
    """The cards as they are tried: binpack the fullest first, spread the least shared, else the last."""
    places = range(len(cards))
    if policy == BINPACK:
        return sorted(places, key=lambda at: -cards[at].used_memory)
    if policy == SPREAD:
        return sorted(places, key=lambda at: cards[at].users)
    return list(reversed(places))


def _take(
    cards: Sequence[VirtualCard], request: CardRequest, demand: CardDemand, at: int, parts: list[Slice]
) -> None:
    part = Slice(at, demand.memory_on(cards[at]), demand.cores)
    cards[at].add(request.tenant, part)
    parts.append(part)


@contextmanager
def _trial(cards: Sequence[VirtualCard], tenant: Tenant, parts: Sequence[Slice]) -> Iterator[None]:
    """A later container must see what an earlier one took; in the end nothing has happened."""
    try:
        yield
    finally:
        for part in parts:
            cards[part.card].remove(tenant, part)
