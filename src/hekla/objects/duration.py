"""Durations as Go writes them: "1h30m", "10s", "250ms"; for people with days as well, "2d", "1d12h"."""

from __future__ import annotations

import re
from datetime import timedelta

from hekla.errors import InputError

_PART = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(h|ms|us|µs|μs|ns|m|s)")
_DAYS = re.compile(r"\A([0-9]+(?:\.[0-9]+)?)d(.*)\Z")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}

DAY = 86_400.0
LONGEST = 36_525 * DAY
"""A hundred years: whoever says more has mistaken the unit, and no date would hold it."""


def read_seconds(text: str) -> float:
    """The seconds that the text says; raises InputError where it says none."""
    unsigned = text[1:] if text.startswith(("-", "+")) else text
    parts = _PART.findall(unsigned)
    if unsigned != "0" and (not parts or "".join(map("".join, parts)) != unsigned):
        raise InputError(f'"{text}" is not a duration; write it like "90s", "10m" or "1h30m"')
    total = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    return -total if text.startswith("-") else total


def positive_seconds(text: str) -> float | None:
    """The seconds that the text says; None where it says none, or no time at all."""
    try:
        seconds = read_seconds(text)
    except InputError:
        return None
    return seconds if seconds > 0 else None


def read_long_span(text: str) -> float:
    """The seconds that the text says, which may begin with days."""
    days = _DAYS.match(text)
    if days is None:
        return read_seconds(text)
    return float(days[1]) * DAY + (read_seconds(days[2]) if days[2] else 0.0)


def read_duration(text: str) -> timedelta:
    """The span of time that the text says."""
    return timedelta(seconds=read_seconds(text))


def write_duration(span: timedelta) -> str:
    """The text of a span, whole seconds only."""
    total = int(span.total_seconds())
    minutes, rest = divmod(abs(total), 60)
    hours, minutes = divmod(minutes, 60)
    sign = "-" if total < 0 else ""
    if hours:
        return f"{sign}{hours}h{minutes}m{rest}s"
    return f"{sign}{minutes}m{rest}s" if minutes else f"{sign}{rest}s"
