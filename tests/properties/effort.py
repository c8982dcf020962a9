"""How hard laws look: for those of which an example is dear or cheap, a part or a multiple of the profile's.

A number of its own would keep a law from looking harder with the profile `search`.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings


def examples(part: float, **more: Any) -> settings:
    """Settings with so many times the examples of the profile."""
    return settings(max_examples=max(1, round(part * settings.default.max_examples)), **more)
