"""The craft: what to do. One file, one step of the cycle."""

from __future__ import annotations

from hekla.actions.allocate import Allocate
from hekla.actions.backfill import Backfill
from hekla.actions.enqueue import Enqueue
from hekla.actions.gangpreempt import GangPreempt
from hekla.actions.gangreclaim import GangReclaim
from hekla.actions.preempt import Preempt
from hekla.actions.reclaim import Reclaim
from hekla.actions.shuffle import Shuffle
from hekla.framework.action import Action

BUILTIN_ACTIONS: dict[str, type[Action]] = {
    action.name: action
    for action in (Allocate, Backfill, Enqueue, GangPreempt, GangReclaim, Preempt, Reclaim, Shuffle)
}
