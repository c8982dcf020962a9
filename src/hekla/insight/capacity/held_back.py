"""Held back: why no size is enough, found by easing one limit after the other on the largest one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from hekla.insight.capacity.figures import Certainty, GoalFigure, figure_of
from hekla.insight.capacity.goals import Goal
from hekla.insight.capacity.sizing import amounts_in_words
from hekla.insight.capacity.trials import AS_IT_IS, Easing, SizeOutcome

COPIES = (2, 4, 8, 16)
"""So many times the nodes are tried, until nothing changes any more."""
STILL_WAITING = "still waiting at the end"


class BindingLimit(Enum):
    """What the goals fail for."""

    NODES = "nodes"
    """There are too few of them."""
    CAPABILITY = "capability"
    """A queue may not have more."""
    BOTH = "nodes and capability"
    NEITHER = "neither"
    """The goals are not met however much there is."""


@dataclass(frozen=True)
class HeldBack:
    """What keeps the goals from being met."""

    binding: BindingLimit
    copies: int
    """So many times as many nodes were tried, or were enough."""
    queues: tuple[str, ...] = ()
    """Whose capability it is."""
    capabilities: str = ""
    figures: tuple[GoalFigure, ...] = ()
    """With the limits eased as far as was tried."""
    notes: tuple[str, ...] = ()
    """Why jobs still wait then."""

    def as_data(self) -> dict[str, object]:
        return {
            "by": self.binding.value,
            "timesAsManyNodes": self.copies,
            "queues": list(self.queues),
            "notes": list(self.notes),
        }


Attempt = Callable[[Easing], SizeOutcome]


def held_back(goals: Sequence[Goal], attempt: Attempt) -> HeldBack:
    """What is to blame; `attempt` plays the largest size with limits eased, and may raise to end."""
    plain = attempt(AS_IT_IS)
    copies, ample = _more_nodes(goals, attempt, plain)
    if _are_met(goals, ample):
        return HeldBack(BindingLimit.NODES, copies, figures=_figures(goals, ample))
    if plain.capabilities:
        for binding, times in ((BindingLimit.CAPABILITY, 1), (BindingLimit.BOTH, copies)):
            freed = attempt(Easing(times, has_capabilities=False))
            if _are_met(goals, freed):
                queues = _queues_to_blame(goals, attempt, times, [*plain.capabilities])
                named = "; ".join(amounts_in_words(plain.capabilities[name]) for name in queues)
                return HeldBack(binding, times, queues, named, _figures(goals, freed))
        ample = freed
    waiting = tuple(note for note in ample.notes if STILL_WAITING in note)
    return HeldBack(BindingLimit.NEITHER, copies, figures=_figures(goals, ample), notes=waiting)


def _more_nodes(goals: Sequence[Goal], attempt: Attempt, plain: SizeOutcome) -> tuple[int, SizeOutcome]:
    """How many times as many nodes meet the goals, or are so many that more of them change nothing."""
    before, copies = plain, 1
    for copies in COPIES:
        found = attempt(Easing(copies))
        if _are_met(goals, found) or _are_equal(before, found):
            return copies, found
        before = found
    return copies, before


def _queues_to_blame(
    goals: Sequence[Goal], attempt: Attempt, copies: int, queues: Sequence[str]
) -> tuple[str, ...]:
    """The one queue whose capability alone makes the difference; all of them where none does."""
    if len(queues) > 1:
        for queue in queues:
            if _are_met(goals, attempt(Easing(copies, lifted=queue))):
                return (queue,)
    return tuple(queues)


def _are_met(goals: Sequence[Goal], outcome: SizeOutcome) -> bool:
    """Whether those are that more brings nearer."""
    return all(figure.is_met for figure in _figures(goals, outcome) if figure.goal.is_served_by_more)


def _figures(goals: Sequence[Goal], outcome: SizeOutcome) -> tuple[GoalFigure, ...]:
    pairs = zip(goals, outcome.observed, strict=True)
    return tuple(figure_of(goal, [values], Certainty()) for goal, values in pairs)


def _are_equal(one: SizeOutcome, other: SizeOutcome) -> bool:
    pairs = zip(one.observed, other.observed, strict=True)
    return all(np.array_equal(mine, its, equal_nan=True) for mine, its in pairs)
