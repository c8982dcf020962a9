"""What users may write on objects to say how the embedded cluster treats them."""

from __future__ import annotations

import math

from hekla.errors import InputError
from hekla.objects.complaint import quoted

FOREVER = "forever"


def read_seconds(text: str) -> float:
    """A span of time; "forever" is infinite."""
    if text.strip().lower() == FOREVER:
        return math.inf
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if math.isnan(seconds) or seconds < 0:
        raise InputError(
            f'{quoted(text)} is not a number of seconds; write it like "90", "0.5" or "{FOREVER}"'
        )
    return seconds


def read_exit_code(text: str) -> int:
    if text.strip().isascii() and text.strip().isdecimal() and len(text.strip()) <= 3:
        return int(text)
    raise InputError(f'{quoted(text)} is not an exit code; write a number from "0" to "255"')
