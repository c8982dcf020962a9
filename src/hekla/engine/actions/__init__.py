"""The craft: what to do, step by step of the cycle."""

from __future__ import annotations

from hekla.engine.actions.allocate import Allocate
from hekla.engine.actions.backfill import Backfill
from hekla.engine.actions.enqueue import Enqueue
from hekla.engine.actions.gang_eviction import GangPreempt, GangReclaim
from hekla.engine.actions.preempt import Preempt
from hekla.engine.actions.reclaim import Reclaim
from hekla.engine.actions.shuffle import Shuffle
from hekla.engine.framework.action import Action

BUILTIN_ACTIONS: dict[str, type[Action]] = {
    action.name: action
    for action in (Allocate, Backfill, Enqueue, GangPreempt, GangReclaim, Preempt, Reclaim, Shuffle)
}
