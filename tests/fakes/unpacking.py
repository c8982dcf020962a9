"""Unpacks the columns of a page, as its script does."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import numpy as np


def unpacked(column: dict[str, Any]) -> list[float]:
    """The same rule as in assets/data.js, one byte at a time."""
    content = b64decode(column["bytes"])
    if column["packed"] == "bytes":
        return list(content)
    if column["packed"] == "floats":
        return np.frombuffer(content, "<f4").tolist()
    values, value, place = [], 0, 0
    for byte in content:
        value |= (byte & 127) << place
        place += 7
        if not byte & 128:
            values.append(-((value + 1) >> 1) if value & 1 else value >> 1)
            value, place = 0, 0
    assert len(values) == column["size"]
    return values if column["packed"] == "varints" else np.cumsum(values).tolist()
