"""Figures: what plugins' accounts say, for people who watch the scheduler; nothing is decided by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import numpy as np

from hekla.engine.ledger.axis import CPU_COLUMN, MEMORY_COLUMN, Axis

BOUNDLESS = np.finfo(np.float64).max / 2
"""Limits above this are none."""


class QueueFigures(msgspec.Struct, frozen=True):
    """One queue's account: amounts by resource in canonical units, nothing where none is kept."""

    allocated: Mapping[str, float] = msgspec.field(default_factory=dict)
    request: Mapping[str, float] = msgspec.field(default_factory=dict)
    deserved: Mapping[str, float] = msgspec.field(default_factory=dict)
    capacity: Mapping[str, float] = msgspec.field(default_factory=dict)
    """What it may hold at most by its own words."""
    real_capacity: Mapping[str, float] = msgspec.field(default_factory=dict)
    """What it may hold at most beside what others are guaranteed."""
    inqueue: Mapping[str, float] = msgspec.field(default_factory=dict)
    share: float | None = None
    is_overused: bool | None = None


def amounts_by_name(axis: Axis, amounts: Iterable[float]) -> dict[str, float]:
    """cpu and memory always, other resources where there is any; without what is boundless."""
    always = (CPU_COLUMN, MEMORY_COLUMN)
    return {
        name: float(amount)
        for column, (name, amount) in enumerate(zip(axis.names, amounts, strict=True))
        if amount < BOUNDLESS and (amount or column in always)
    }
