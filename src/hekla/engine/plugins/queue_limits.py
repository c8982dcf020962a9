"""How much a queue may hold: its own capability, and what others are not guaranteed."""

from __future__ import annotations

import numpy as np

from hekla.engine.ledger.arrays import Amounts, Floats, Mask
from hekla.engine.ledger.axis import CPU_COLUMN, MEMORY_COLUMN

UNLIMITED = np.finfo(np.float64).max


def capability_of(amounts: Amounts, named: Mask) -> Floats:
    """The configured upper limit; what it does not name is unlimited."""
    return np.where(says(amounts, named), amounts, UNLIMITED).astype(np.float64)


def says(amounts: Amounts, named: Mask) -> Mask:
    """What a capability speaks of: the resources it names, but cpu and memory only with an amount.

    amounts, named: (..., R)
    """
    said = named.copy()
    for column in (CPU_COLUMN, MEMORY_COLUMN):
        said[..., column] = amounts[..., column] > 0
    return said


def beside_guarantees(room: Amounts | Floats, guaranteed: Amounts, own: Amounts) -> Floats:
    """What is left of the room when everybody has what is guaranteed to them, and one's own guarantee."""
    return np.asarray(np.maximum(room - guaranteed, 0) + own, dtype=np.float64)
