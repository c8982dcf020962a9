"""Columns: long rows of numbers, packed into a page as base64.

A packed column is `{"packed": how, "size": n, "bytes": base64}`; `assets/data.js` unpacks it. Numbers that
follow closely on each other are kept as differences, and every number takes as many bytes as it needs.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import numpy as np
import numpy.typing as npt

Packed = dict[str, object]
Whole = npt.NDArray[np.integer[Any]]

LONGEST = 10
"""Bytes that 64 bits take, seven in each."""


def varints(values: Whole) -> Packed:
    """Whole numbers, small ones in few bytes."""
    return _packed("varints", len(values), varint_bytes(zigzag(values.astype(np.int64))))


def deltas(values: Whole) -> Packed:
    """Whole numbers as differences, each to the one before."""
    changes = values.astype(np.int64)
    changes[1:] -= changes[:-1].copy()
    return _packed("deltas", len(values), varint_bytes(zigzag(changes)))


def octets(values: npt.NDArray[np.uint8]) -> Packed:
    return _packed("bytes", values.size, values.tobytes())


def floats(values: npt.NDArray[np.float64]) -> Packed:
    """Rounded to what a picture shows; NaN stays."""
    return _packed("floats", values.size, values.astype("<f4").tobytes())


def zigzag(values: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """0, -1, 1, -2, 2 become 0, 1, 2, 3, 4: the sign moves into the lowest bit."""
    return ((values << 1) ^ (values >> 63)).astype(np.uint64)


def varint_bytes(values: npt.NDArray[np.uint64]) -> bytes:
    """Seven bits per byte, lowest first; the eighth says that more follow."""
    places = np.arange(LONGEST, dtype=np.uint64) * np.uint64(7)
    rest = values[:, None] >> places
    digits = (rest & np.uint64(127)).astype(np.uint8)
    has_more = (rest >> np.uint64(7)) > 0
    is_part = (rest > 0) | (np.arange(LONGEST) == 0)
    with_flags = np.where(has_more, digits | np.uint8(128), digits)
    return bytes(with_flags[is_part].tobytes())


def milliseconds(seconds: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Rounded; -1 for a time that never came."""
    return np.where(np.isnan(seconds), -1, np.round(np.nan_to_num(seconds) * 1000)).astype(np.int64)


def _packed(how: str, size: int, content: bytes) -> Packed:
    return {"packed": how, "size": size, "bytes": b64encode(content).decode("ascii")}
