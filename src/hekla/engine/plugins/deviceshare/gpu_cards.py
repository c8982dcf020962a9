"""GPU cards: whole cards counted by number, or one card shared by its memory.

node   capacity volcano.sh/gpu-number and volcano.sh/gpu-memory, the latter shared out evenly
node   annotation volcano.sh/gpu-unhealthy-ids: "1,3"   cards that are not there
pod    limits volcano.sh/gpu-memory or volcano.sh/gpu-number
pod    annotation volcano.sh/gpu-index: "0,2"           cards that it holds
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Counts, Mask, Rows
from hekla.engine.model.diagnosis import Refusal
from hekla.engine.model.node import NodeInfo
from hekla.engine.model.task import Task
from hekla.errors import InputError
from hekla.objects.keys import GPU_INDEX, GPU_MEMORY, GPU_NUMBER, GPU_UNHEALTHY
from hekla.objects.pod import Container
from hekla.objects.quantity import read_count, whole

MOST_CARDS = 1024
"""More on one node is taken for a mistake of its author."""


class Cards(NamedTuple):
    """Cards of one node by id, and what is taken of each."""

    row: int
    ids: tuple[int, ...]
    memory: int

    def __str__(self) -> str:
        return ("card " if len(self.ids) == 1 else "cards ") + ", ".join(map(str, self.ids))


class GpuCards:
    """One row per node, one column per card id: who is there, how much memory is taken, by how many pods."""

    def __init__(self, session: Session) -> None:
        nodes = session.nodes.nodes
        ids = [card_ids(node) for node in nodes]
        width = max((max(cards, default=-1) + 1 for cards in ids), default=0)
        self.exists: npt.NDArray[np.bool_] = np.zeros((len(nodes), width), dtype=np.bool_)
        for row, cards in enumerate(ids):
            self.exists[row, cards] = True
        self.size: Counts = np.array([memory_per_card(node) for node in nodes], dtype=np.int64)
        self.taken: npt.NDArray[np.int64] = np.zeros((len(nodes), width), dtype=np.int64)
        self.pods: npt.NDArray[np.int64] = np.zeros((len(nodes), width), dtype=np.int64)

    def looks_at(self, task: Task) -> None:
        """Nothing but the limits, which set tasks apart anyway."""

    def scores(self, task: Task, rows: Rows) -> None:
        """No card is better than another."""

    def held_by(self, task: Task) -> Cards | None:
        """What a pod that sits on a node says it holds there."""
        indices = task.pod.metadata.annotations.get(GPU_INDEX, "")
        ids = tuple(sorted(read_ids(indices)))
        known = tuple(at for at in ids if at < self.exists.shape[1] and self.exists[task.node, at])
        return Cards(task.node, known, asked(task, GPU_MEMORY)) if known else None

    def add(self, cards: Cards) -> None:
        self._move(cards, 1)

    def remove(self, cards: Cards) -> None:
        self._move(cards, -1)

    def _move(self, cards: Cards, sign: int) -> None:
        ids = list(cards.ids)
        self.taken[cards.row, ids] += sign * cards.memory
        self.pods[cards.row, ids] += sign

    def with_memory(self, amount: int, rows: Rows) -> npt.NDArray[np.bool_]:
        """Cards with so much free memory; -> (rows, cards)"""
        free = np.maximum(self.size[rows, None] - self.taken[rows], 0)
        return np.asarray(self.exists[rows] & (free >= amount), dtype=np.bool_)

    def idle(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """Cards without any pod; -> (rows, cards)"""
        return np.asarray(self.exists[rows] & (self.pods[rows] == 0), dtype=np.bool_)


class SharedByMemory(GpuCards):
    """A pod gets part of one card, the first with enough free memory."""

    def wants(self, task: Task) -> bool:
        return asked(task, GPU_MEMORY) > 0

    def refusal(self, task: Task, rows: Rows) -> Refusal:
        memory = asked(task, GPU_MEMORY)
        short: Mask = np.logical_not(self.with_memory(memory, rows).any(axis=1))
        plain = f"no card with {memory} of {GPU_MEMORY} free"
        return Refusal("node(s) didn't have enough GPU memory on a single card", short, plain=plain)

    def choose(self, task: Task, row: int) -> Cards | None:
        memory = asked(task, GPU_MEMORY)
        fitting = np.flatnonzero(self.with_memory(memory, slice(row, row + 1))[0])
        return Cards(row, (int(fitting[0]),), memory) if len(fitting) else None


class WholeCards(GpuCards):
    """A pod gets cards for itself, the first idle ones."""

    def wants(self, task: Task) -> bool:
        return asked(task, GPU_NUMBER) > 0

    def refusal(self, task: Task, rows: Rows) -> Refusal:
        number = asked(task, GPU_NUMBER)
        short: Mask = self.idle(rows).sum(axis=1) < number
        return Refusal(
            "node(s) didn't have enough idle GPU cards", short, plain=f"fewer than {number} idle cards"
        )

    def choose(self, task: Task, row: int) -> Cards | None:
        number = asked(task, GPU_NUMBER)
        idle = np.flatnonzero(self.idle(slice(row, row + 1))[0])[:number]
        return Cards(row, tuple(map(int, idle)), 0) if len(idle) == number else None


def asked(task: Task, resource: str) -> int:
    """What a pod is limited to: all its containers together, or one init container if that is more."""
    spec = task.pod.spec
    running = sum(limit(container, resource) for container in spec.containers)
    return max(running, *(limit(container, resource) for container in spec.init_containers), 0)


def limit(container: Container, resource: str) -> int:
    """In whole units; what is no quantity counts as nothing."""
    try:
        return max(0, whole(container.resources.limits.get(resource, 0)))
    except InputError:
        return 0


def card_ids(node: NodeInfo) -> list[int]:
    """The ids of the healthy cards."""
    unhealthy = read_ids(node.manifest.metadata.annotations.get(GPU_UNHEALTHY, ""))
    number = node.capacity.get(GPU_NUMBER, 0) // 1000
    return [at for at in range(min(number, MOST_CARDS)) if at not in unhealthy]


def memory_per_card(node: NodeInfo) -> int:
    number = node.capacity.get(GPU_NUMBER, 0) // 1000
    return node.capacity.get(GPU_MEMORY, 0) // 1000 // number if number else 0


def read_ids(text: str) -> set[int]:
    """The ids in a list such as `0,2`; what is no number is passed over."""
    parts = (part.strip() for part in text.split(","))
    return {number for part in parts if (number := read_count(part)) is not None}
