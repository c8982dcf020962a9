"""Rounding: numbers as they are written down, the same bytes for equal runs; null for what there
is not, or has no end."""

from __future__ import annotations

import math

import numpy as np

from hekla.simulation.run import Floats

MILLISECONDS = 3
PARTS = 6
"""Digits of shares, indices and the like."""


def number(value: float, digits: int = MILLISECONDS) -> float | None:
    return round(float(value), digits) if math.isfinite(value) else None


def numbers(values: Floats, digits: int = MILLISECONDS) -> list[float | None]:
    rounded = np.round(values, digits).astype(object)
    rounded[~np.isfinite(values)] = None
    plain: list[float | None] = rounded.tolist()
    return plain
