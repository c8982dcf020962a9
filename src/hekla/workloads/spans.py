"""Spans of time in workloads: seconds, or "90s", "1h30m", "2d", and "forever" where that makes sense."""

from __future__ import annotations

import math
import re

from hekla.errors import InputError
from hekla.objects.complaint import spoken
from hekla.objects.duration import read_seconds

DAY = 86_400.0
FOREVER = "forever"

_DAYS = re.compile(r"\A([0-9]+(?:\.[0-9]+)?)d(.*)\Z")
_NUMBER = re.compile(r"\A[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z")


def seconds_of(value: object) -> float:
    """The seconds that a value says; raises InputError where it says none, or fewer than none."""
    seconds = _seconds(value)
    if math.isnan(seconds) or seconds < 0:
        raise InputError(f"{spoken(value)} is negative; spans of time start at 0")
    return seconds


def _seconds(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        raise InputError(f'expected a span of time such as 90 or "1h30m", got {spoken(value)}')
    text = value.strip()
    if text.lower() == FOREVER:
        return math.inf
    if _NUMBER.match(text):
        return float(text)
    days = _DAYS.match(text)
    if days is None:
        return read_seconds(text)
    return float(days[1]) * DAY + (read_seconds(days[2]) if days[2] else 0.0)
