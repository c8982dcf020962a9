"""Quantities: Kubernetes' "500m", "4Gi", "1e3" as whole numbers.

Two readings, both rounded up as Kubernetes does: `whole` (bytes, pods) and `milli`
(thousandths: millicores, milli-GPUs).
"""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from functools import lru_cache

from hekla.errors import InputError
from hekla.objects.meta import Amount

LARGEST = 2**63 - 1

_SHAPE = re.compile(
    r"^\s*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))((?:[KMGTPE]i)|[numkMGTPE]|(?:[eE][+-]?[0-9]{1,3}))?\s*$"
)
_FACTOR: dict[str, Decimal] = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", start=1)},
}


@lru_cache(maxsize=65536)
def exact(amount: Amount) -> Decimal:
    """The quantity as an exact number."""
    shape = _SHAPE.match(str(amount))
    if shape is None or isinstance(amount, bool):
        raise InputError(f'"{amount}" is not a quantity; write it like "500m", "2" or "4Gi"')
    digits, suffix = shape.group(1), shape.group(2) or ""
    try:
        # "E" and "Ei" are factors of their own: what else begins with an e is an exponent.
        if suffix in _FACTOR:
            return Decimal(digits) * _FACTOR[suffix]
        return Decimal(digits).scaleb(int(suffix[1:]))
    except (InvalidOperation, OverflowError) as error:
        raise InputError(f'"{amount}" is not a quantity that can be counted') from error


@lru_cache(maxsize=65536)
def whole(amount: Amount) -> int:
    """The quantity in whole units, rounded up."""
    return _bounded(exact(amount), amount)


@lru_cache(maxsize=65536)
def milli(amount: Amount) -> int:
    """The quantity in thousandths, rounded up."""
    return _bounded(exact(amount) * 1000, amount)


def _bounded(value: Decimal, amount: Amount) -> int:
    number = int(value.to_integral_value(rounding=ROUND_CEILING))
    if abs(number) > LARGEST // 1024:
        raise InputError(f'"{amount}" is too large to be counted; the limit is {LARGEST // 1024} units')
    return number
