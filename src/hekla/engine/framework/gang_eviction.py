"""What plugins are told when a gang-aware action asks whom it may evict."""

from __future__ import annotations

from dataclasses import dataclass

from hekla.engine.model.job import Job


@dataclass(frozen=True)
class EvictionContext:
    """The action (`gangpreempt` or `gangreclaim`), the job that needs room, and the network domain."""

    kind: str
    job: Job
    domain: str
