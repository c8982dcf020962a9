"""The craft: what to do, step by step of the cycle."""

from __future__ import annotations

from collections.abc import Mapping

from hekla.engine.framework.action import Action
from hekla.lazy import lazily_imported

BUILTIN_ACTIONS: Mapping[str, type[Action]] = lazily_imported(
    __name__,
    {
        "allocate": "allocate:Allocate",
        "backfill": "backfill:Backfill",
        "enqueue": "enqueue:Enqueue",
        "gangpreempt": "gang_eviction:GangPreempt",
        "gangreclaim": "gang_eviction:GangReclaim",
        "preempt": "preempt:Preempt",
        "reclaim": "reclaim:Reclaim",
        "shuffle": "shuffle:Shuffle",
    },
)
