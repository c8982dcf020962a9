"""Words: spans of time and amounts as people say them."""

from __future__ import annotations


def spoken_seconds(seconds: float) -> str:
    """`45 s`, `3.2 min`, `3.2 h`, `2.5 d`; `-` for a time that never came."""
    raise NotImplementedError


def plain_amount(resource: str, amount: float) -> float:
    """A canonical amount in cores, bytes, devices."""
    raise NotImplementedError


def spoken_amount(resource: str, amount: float) -> str:
    """A canonical amount as people write it: `12.5`, `4Gi`."""
    raise NotImplementedError


def spoken_work(resource: str, amount_seconds: float) -> str:
    """Plain amount times seconds: `12.5 GPU-hours`, `3 core-hours`."""
    raise NotImplementedError
