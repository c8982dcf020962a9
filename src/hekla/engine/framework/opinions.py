"""Opinions: what plugins say of nodes for a task, sorted by how long it stays true."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import Scope
from hekla.engine.ledger.arrays import Floats, Mask, Rows
from hekla.engine.ledger.requests import Requests
from hekla.engine.ledger.states import NodeStates
from hekla.engine.model.diagnosis import Code, Refusal
from hekla.engine.model.task import Task
from hekla.lazy import lazy

Refusals = Sequence[Refusal] | None
Score = Floats | float | None
Verdict = tuple[Mask, Mask]
"""Which nodes are refused at all, and which for good."""


ForMany = Callable[[Requests], Any]
"""Given requests: of a predicate a function of one row, of a score a formula."""
Said = TypeVar("Said")


class Spoken(NamedTuple):
    """One answer: in which seat the plugin sits, which of its methods it is, and how long it stays true."""

    seat: int
    method: str
    scope: Scope


@dataclass
class ShelfPlan:
    """Whose answers stand on a shelf, by how long they stay true; it is the same in every session.

    Those `by_row` stand in the order they came in, whether they read node states or, with scope ROW,
    something that the plugin keeps itself.
    """

    once: list[Spoken] = field(default_factory=list)
    by_row: list[Spoken] = field(default_factory=list)
    always: list[Spoken] = field(default_factory=list)
    for_many: list[Spoken] = field(default_factory=list)
    """Those answers by row that can speak of many requests at once, in that form."""
    reads_ledgers_alone: bool = True
    """Whether what is said by row depends on nothing but the task's request and node states."""
    is_foreseeable: bool = True
    """Whether, besides, what is asked always depends on nothing but the candidates."""

    def file(self, spoken: Spoken, plugin: type[Plugin]) -> None:
        match spoken.scope:
            case Scope.CLASS:
                self.once.append(spoken)
            case Scope.LEDGER:
                self.by_row.append(spoken)
                if (form := getattr(getattr(plugin, spoken.method), "for_many", None)) is not None:
                    self.for_many.append(spoken._replace(method=form))
            case Scope.ROW:
                self.by_row.append(spoken)
                self.reads_ledgers_alone = self.is_foreseeable = False
            case Scope.CANDIDATES:
                self.always.append(spoken)
            case Scope.ATTEMPT:
                self.always.append(spoken)
                self.is_foreseeable = False

    @property
    def speaks_of_many(self) -> bool:
        """Whether nothing is asked always, and all that is said by row can speak of many requests at once."""
        return not self.always and len(self.for_many) == len(self.by_row)


class Shelf(Generic[Said]):
    """The answers themselves, of the plugins of one session."""

    def __init__(self, plan: ShelfPlan, plugins: Sequence[Plugin]) -> None:
        self._plan = plan
        self._plugins = plugins

    def _answers(self, spoken: Sequence[Spoken]) -> list[Any]:
        return [getattr(self._plugins[seat], name) for seat, name, _ in spoken]

    @lazy
    def once(self) -> list[Callable[[Task], Said]]:
        return self._answers(self._plan.once)

    @lazy
    def by_row(self) -> list[Callable[[Task, NodeStates], Said]]:
        said = zip(self._plan.by_row, self._answers(self._plan.by_row), strict=True)
        return [_reading_rows(answer) if one.scope is Scope.ROW else answer for one, answer in said]

    @lazy
    def always(self) -> list[Callable[..., Said]]:
        return self._answers(self._plan.always)

    @lazy
    def for_many(self) -> list[ForMany]:
        return self._answers(self._plan.for_many)


def _reading_rows(method: Callable[[Task, Rows], Said]) -> Callable[[Task, NodeStates], Said]:
    return lambda task, states: method(task, states.rows)


Judge = Shelf[Refusals]
"""One plugin's predicates."""
Scorers = Shelf[Score]
"""All answers to one scoring point."""


def verdict(answers: Sequence[Refusals], count: int) -> Verdict | None:
    """What refusals of so many nodes come to, in arrays of its own; None where nobody is refused."""
    refusals = [refusal for answer in answers if answer for refusal in answer]
    if not refusals:
        return None
    bad, hard = nobody(count)
    for refusal in refusals:
        bad |= refusal.nodes
        if refusal.code is not Code.UNSCHEDULABLE:
            hard |= refusal.nodes
    return bad, hard


def nobody(count: int) -> Verdict:
    return np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)


def united(left: Verdict | None, right: Verdict | None, count: int) -> Verdict:
    if left is None or right is None:
        return left or right or nobody(count)
    return left[0] | right[0], left[1] | right[1]


def total(scores: Sequence[Score]) -> Floats | float:
    """The sum for every node; a plain number where it is the same for all."""
    given = [score for score in scores if score is not None]
    if not given:
        return 0.0
    # A plugin may go on using its array: what is kept of a single one is a copy.
    return reduce(add, given) if len(given) > 1 else 0.0 + given[0]
