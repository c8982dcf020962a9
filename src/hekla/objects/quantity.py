"""Quantities: Kubernetes' "500m", "4Gi", "1e3" as numbers.

    quantity: number, then a suffix or none; spaces around it do not count
    number:   sign or none, then digits with at most one point among, before or after them
    suffix:   n u m k M G T P E (powers of 1000), Ki Mi Gi Ti Pi Ei (of 1024), or e or E and a whole number

`1E` is an exa, `1E3` a thousand. As Kubernetes does, all readings round away from zero: `exact` to
billionths, `whole` to units (bytes, pods), `milli` to thousandths (millicores, milli-GPUs).

Durations are written as in Go, "1h30m", "10s", "250ms"; by people with days as well, "2d", "1d12h".
"""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import ROUND_UP, Context, Decimal
from functools import lru_cache

from hekla.errors import InputError
from hekla.objects.complaint import quoted
from hekla.objects.meta import Amount

LARGEST = 2**63 - 1
MOST_CHARACTERS = 1000
"""How many characters a quantity may have: enough for any number that is meant."""

_SHAPE = re.compile(
    r" *([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)? *", re.ASCII
)
_INTEGER = re.compile(r"[+-]?[0-9]{1,100}")
_FACTOR: dict[str, Decimal] = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", start=1)},
}
_FARTHEST = 2 * MOST_CHARACTERS
"""Exponents beyond this make any number too large to be counted, or less than a billionth."""
_NANO = Decimal("1e-9")
_EXACTLY = Context(prec=2 * MOST_CHARACTERS, rounding=ROUND_UP)


_PART = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(h|ms|us|µs|μs|ns|m|s)")
_DAYS = re.compile(r"\A([0-9]+(?:\.[0-9]+)?)d(.*)\Z")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
DAY = 86_400.0
LONGEST = 36_525 * DAY
"""A hundred years: more is a mistaken unit, and no date would hold it."""


@lru_cache(maxsize=4096, typed=True)
def exact(amount: Amount) -> Decimal:
    """The quantity as a number with at most nine decimals; raises InputError where it is none."""
    if isinstance(amount, int) and abs(amount) > LARGEST:
        raise _too_large(amount)
    text = str(amount)
    shape = _SHAPE.fullmatch(text) if len(text) <= MOST_CHARACTERS else None
    if shape is None or isinstance(amount, bool):
        raise InputError(f'{quoted(text)} is not a quantity; write it like "500m", "2" or "4Gi"')
    value = _scaled(Decimal(shape[1]), shape[2] or "")
    if abs(value) > LARGEST:
        raise _too_large(amount)
    rounded = _EXACTLY.quantize(value, _NANO)
    return value if value == rounded else rounded


def _scaled(number: Decimal, suffix: str) -> Decimal:
    # "E" and "Ei" are factors of their own: what else begins with an e is an exponent.
    if suffix in _FACTOR:
        return _EXACTLY.multiply(number, _FACTOR[suffix])
    exponent = int(suffix[1:])
    return _EXACTLY.scaleb(number, max(-_FARTHEST, min(exponent, _FARTHEST)))


@lru_cache(maxsize=65536, typed=True)
def whole(amount: Amount) -> int:
    """The quantity in whole units."""
    return int(exact(amount).to_integral_value(ROUND_UP))


@lru_cache(maxsize=65536, typed=True)
def milli(amount: Amount) -> int:
    """The quantity in thousandths."""
    return int((exact(amount) * 1000).to_integral_value(ROUND_UP))


def _too_large(amount: Amount) -> InputError:
    return InputError(f"{quoted(amount)} is too large to be counted; at most {LARGEST} can be")


@lru_cache(maxsize=4096)
def read_integer(text: str) -> int | None:
    """A whole number as Go reads it into 64 bits; None where the text is none."""
    if _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if -LARGEST - 1 <= number <= LARGEST else None


def read_count(text: str) -> int | None:
    """The same without a sign."""
    return read_integer(text) if text[:1] not in ("+", "-") else None


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
