"""Load: how busy a node really is, as somebody measured it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NodeLoad:
    """Average use over the last minutes, in percent of what the node has; `at` is when it was measured."""

    cpu: float
    memory: float
    at: float
