"""Opinions: what plugins say of nodes for a task, sorted by how long it stays true."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any, Generic, TypeVar

import numpy as np

from hekla.framework.plugin import Plugin
from hekla.framework.points import Scope
from hekla.ledger.arrays import Floats, Mask, Rows
from hekla.ledger.requests import Requests
from hekla.ledger.states import NodeStates
from hekla.model.diagnosis import Code, Refusal
from hekla.model.task import Task

Refusals = Sequence[Refusal] | None
Score = Floats | float | None
Verdict = tuple[Mask, Mask]
"""Which nodes are refused at all, and which for good."""


ForMany = Callable[[Requests], Callable[[int], Any]]
"""Given requests, a function of one row."""
Said = TypeVar("Said")


@dataclass
class Shelf(Generic[Said]):
    """Answers to one point, by how long they stay true.

    Those `by_row` stand in the order they came in, whether they read node states or, with scope ROW,
    something that the plugin keeps itself.
    """

    once: list[Callable[[Task], Said]] = field(default_factory=list)
    by_row: list[Callable[[Task, NodeStates], Said]] = field(default_factory=list)
    always: list[Callable[..., Said]] = field(default_factory=list)
    for_many: list[ForMany] = field(default_factory=list)
    """Those answers by row that can speak of many requests at once, in that form."""
    reads_ledgers_alone: bool = True
    """Whether what is said by row depends on nothing but the task's request and node states."""
    is_foreseeable: bool = True
    """Whether, besides, what is asked always depends on nothing but the candidates."""

    def file(self, plugin: Plugin, scope: Scope, method: Callable[..., Said]) -> None:
        match scope:
            case Scope.CLASS:
                self.once.append(method)
            case Scope.LEDGER:
                self.by_row.append(method)
                if hasattr(method, "for_many"):
                    self.for_many.append(getattr(plugin, method.for_many))
            case Scope.ROW:
                self.by_row.append(_reading_rows(method))
                self.reads_ledgers_alone = self.is_foreseeable = False
            case Scope.CANDIDATES:
                self.always.append(method)
            case Scope.ATTEMPT:
                self.always.append(method)
                self.is_foreseeable = False

    @property
    def speaks_of_many(self) -> bool:
        """Whether nothing is asked always, and all that is said by row can speak of many requests at once."""
        return not self.always and len(self.for_many) == len(self.by_row)


def _reading_rows(method: Callable[[Task, Rows], Said]) -> Callable[[Task, NodeStates], Said]:
    return lambda task, states: method(task, states.rows)


@dataclass
class Judge(Shelf[Refusals]):
    """One plugin's predicates."""

    plugin: str = ""


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
