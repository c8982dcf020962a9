"""Spans of time in workloads: seconds, or "90s", "1h30m", "2d", and "forever" where that makes sense."""

from __future__ import annotations

import math
import re

from hekla.errors import InputError
from hekla.objects.complaint import spoken
from hekla.objects.duration import LONGEST, read_long_span

FOREVER = "forever"

_NUMBER = re.compile(r"\A[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z")


def seconds_of(value: object) -> float:
    """The seconds that a value says; raises InputError where it says none, or fewer than none."""
    seconds = _seconds(value)
    if math.isnan(seconds) or seconds < 0:
        raise InputError(f"{spoken(value)} is negative; spans of time start at 0")
    return bounded(seconds, value)


def bounded(seconds: float, value: object) -> float:
    """The seconds that a value says, unless they are more than anybody means; without end is well."""
    if LONGEST < seconds < math.inf:
        raise _too_long(value)
    return seconds


def _too_long(value: object) -> InputError:
    return InputError(f'{spoken(value)} is more than a hundred years; "{FOREVER}" says that it never ends')


def _seconds(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError as error:
            raise _too_long(value) from error
    if not isinstance(value, str):
        raise InputError(f'expected a span of time such as 90 or "1h30m", got {spoken(value)}')
    text = value.strip()
    if text.lower() == FOREVER:
        return math.inf
    return float(text) if _NUMBER.match(text) else read_long_span(text)
