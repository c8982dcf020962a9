"""Words: spans of time and amounts as people say them, and numbers as they are written down."""

from __future__ import annotations

import math

import numpy as np

from hekla.engine.model.resources import CPU, MEMORY, PODS, is_whole
from hekla.simulation.run import Floats

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
GIBIBYTE = 2.0**30


def spoken_seconds(seconds: float) -> str:
    """`0.2 s`, `45 s`, `3.2 min`, `3.2 h`, `2.5 d`; `-` for a time that never came."""
    if math.isnan(seconds):
        return "-"
    for unit, length, upto in (("s", 1.0, 2 * MINUTE), ("min", MINUTE, 2 * HOUR), ("h", HOUR, 2 * DAY)):
        if abs(seconds) < upto:
            return f"{_two_digits(seconds / length)} {unit}"
    return f"{_two_digits(seconds / DAY)} d"


def _two_digits(value: float) -> str:
    """`0.25`, `3.2`, `45`, `1,234`: more would not be read."""
    size = abs(value)
    digits = 0 if size >= 9.95 or not value else 1 if size >= 0.995 else 2
    return f"{value:,.{digits}f}"


def spoken_number(value: float) -> str:
    """`0.25`, `12.5`, `45`, `1,234`; `-` for none."""
    if math.isnan(value):
        return "-"
    size = abs(value)
    digits = 0 if size >= 99.5 else 1 if size >= 0.95 else 2
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def spoken_part(part: float) -> str:
    """`45.0%`; `-` for none."""
    return "-" if math.isnan(part) else f"{part:.1%}"


def plain_amount(resource: str, amount: float) -> float:
    """A canonical amount in cores, bytes, devices."""
    return amount if is_whole(resource) else amount / 1000


def spoken_work(resource: str, amount_seconds: float) -> str:
    """A plain amount times seconds: `12.5 GPU-hours`, `3 core-hours`, `8 GiB-seconds`."""
    work = amount_seconds / GIBIBYTE if is_whole(resource) and resource != PODS else amount_seconds
    number, span = (work / HOUR, "hours") if abs(work) >= HOUR / 10 else (work, "seconds")
    return f"{spoken_number(number)} {unit_of(resource)}-{span}"


def unit_of(resource: str) -> str:
    """What one counts the resource in: `core`, `GiB`, `GPU`."""
    if resource in (CPU, PODS):
        return {CPU: "core", PODS: "pod"}[resource]
    if is_whole(resource):
        return "GiB" if resource == MEMORY else f"GiB {resource}"
    name = resource.rpartition("/")[2]
    return "GPU" if name == "gpu" else name


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
