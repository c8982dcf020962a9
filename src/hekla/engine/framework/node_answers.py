"""Answers about nodes: what plugins say of nodes for a class of tasks, sorted by how long it stays true."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import groupby
from operator import add
from typing import Any, Generic, TypeVar

import numpy as np

from hekla.engine.framework.dispatch import Answerers, Declaration, Dispatch, Handler
from hekla.engine.framework.points import (
    BATCH_NODE_ORDER,
    NODE_ORDER,
    NODE_ORDER_REDUCE,
    PREDICATE,
    AnyPoint,
    Scope,
)
from hekla.engine.ledger.arrays import Floats, Mask
from hekla.engine.ledger.states import NodeStates
from hekla.engine.model.diagnosis import Code, Refusal
from hekla.engine.model.task import Task
from hekla.errors import PluginError

RefusedNodes = tuple[Mask, Mask]
"""Which nodes are refused at all, and which for good."""

A = TypeVar("A")
Refusals = Sequence[Refusal] | None
Score = Floats | float | None


@dataclass(eq=False)
class Answers(Generic[A]):
    """The filters of one plugin, or all scores of one point, as far as they concern a class of tasks."""

    once: list[Callable[[Task], A]]
    """What depends on the node objects alone."""
    by_row: list[Callable[[Task, NodeStates], A]]
    """What depends on each node's own state: asked again for rows that changed."""
    anew: list[Callable[..., A]]
    """What a placement elsewhere can change: asked at every attempt."""


class DeclaredAnswers:
    """The same before any plugin is there to answer."""

    def __init__(self, declared: Iterable[Declaration]) -> None:
        self.once: list[Declaration] = []
        self.by_row: list[Declaration] = []
        self.anew: list[Declaration] = []
        kept = {Scope.CLASS: self.once, Scope.LEDGER: self.by_row, Scope.ROW: self.by_row}
        for one in declared:
            kept.get(one.scope, self.anew).append(one)
        self._given_rows = [at for at, one in enumerate(self.by_row) if one.scope is Scope.ROW]
        self.is_steady = not self.anew and not self._given_rows
        """Whether all that is not asked once reads nothing but the ledgers."""

    def answered_by(self, dispatch: Dispatch) -> Answers[Any]:
        by_row = dispatch.bound(self.by_row)
        for at in self._given_rows:
            by_row[at] = _reading_rows(by_row[at])
        return Answers(dispatch.bound(self.once), by_row, dispatch.bound(self.anew))


def _reading_rows(answer: Callable[..., A]) -> Callable[[Task, NodeStates], A]:
    return lambda task, states: answer(task, states.rows)


class NodeQuestions:
    """Who says what of nodes for some tasks: the same in all sessions in which the same plugins answer."""

    def __init__(self, who: Answerers, concerning: Collection[Declaration]) -> None:
        def declared(point: AnyPoint) -> list[Declaration]:
            return [one for one in who.declared(point) if one.concerns is None or one in concerning]

        by_plugin = groupby(declared(PREDICATE), key=lambda one: who.name_of(one.number))
        self.filters = [DeclaredAnswers(group) for _, group in by_plugin]
        reducing = dict.fromkeys(one.number for one in who.declared(NODE_ORDER_REDUCE))
        scores = declared(NODE_ORDER)
        self.order = DeclaredAnswers(one for one in scores if one.number not in reducing)
        own = {number: [one for one in scores if one.number == number] for number in reducing}
        self.reduced = {number: DeclaredAnswers(scores) for number, scores in own.items() if scores}
        self.batch = DeclaredAnswers(declared(BATCH_NODE_ORDER))
        parts = [*self.filters, self.order, self.batch]
        self.is_steady = not self.reduced and all(part.is_steady for part in parts)


@lru_cache(maxsize=64)
def questions_about(who: Answerers, concerning: tuple[Declaration, ...]) -> NodeQuestions:
    """What is to be asked for tasks that these answers are for, beside those that are for all tasks."""
    return NodeQuestions(who, concerning)


class NodeAnswers:
    """All that the plugins of a session say of nodes for tasks like this one."""

    def __init__(
        self, dispatch: Dispatch, everywhere: NodeStates, concerning: tuple[Declaration, ...]
    ) -> None:
        asked = questions_about(dispatch.who, concerning)
        self.filters: list[Answers[Refusals]] = [one.answered_by(dispatch) for one in asked.filters]
        """By plugin."""
        self.row_filters = [ask for plugin in self.filters for ask in plugin.by_row]
        self.filters_anew = [ask for plugin in self.filters for ask in plugin.anew]
        self.order: Answers[Score] = asked.order.answered_by(dispatch)
        for number, scores in asked.reduced.items():
            declared, given = dispatch.who.declared(NODE_ORDER_REDUCE), dispatch.handlers(NODE_ORDER_REDUCE)
            own = [handler for one, handler in zip(declared, given, strict=True) if one.number == number]
            self.order.anew.append(Reduction(scores.answered_by(dispatch), own, everywhere))
        self.batch: Answers[Score] = asked.batch.answered_by(dispatch)
        self.is_steady = asked.is_steady
        """Whether a placement changes what is said of its own node alone, in a way that can be foreseen."""


class Reduction:
    """Scores of a plugin that normalises them over the candidates; called as scores that are asked anew.

    As in Volcano a plugin maps, node by node, and then reduces. Which nodes are candidates changes with every
    placement, so nothing of it is kept.
    """

    def __init__(self, scores: Answers[Score], reduces: Sequence[Handler], everywhere: NodeStates) -> None:
        self.plugin = reduces[0].plugin
        self._scores = scores
        self._reduces = reduces
        self._everywhere = everywhere

    def __call__(self, task: Task, among: Mask) -> Floats:
        scores = self.own(task, among)
        for one in self._reduces:
            scores = _checked(one.answer(task, scores, among), among, one.plugin.name)
        return scores

    def own(self, task: Task, among: Mask) -> Floats:
        """What the plugin gives every node before it normalises; an array of its own."""
        said = [
            *(ask(task) for ask in self._scores.once),
            *(ask(task, self._everywhere) for ask in self._scores.by_row),
            *(ask(task, among) for ask in self._scores.anew),
        ]
        return np.full(len(among), total(said), dtype=np.float64)


def _checked(scores: object, among: Mask, plugin: str) -> Floats:
    """Scores that nodes can be compared by."""
    if not isinstance(scores, np.ndarray) or scores.shape != among.shape:
        got = f"an array of shape {scores.shape}" if isinstance(scores, np.ndarray) else type(scores).__name__
        raise PluginError(f'plugin "{plugin}": node order reduce expects one score per node back, got {got}')
    if not np.isfinite(scores[among]).all():
        raise PluginError(f'plugin "{plugin}": node order reduce gives a candidate a score that is no number')
    return scores


def refused_nodes(answers: Sequence[Refusals], count: int) -> RefusedNodes | None:
    """What refusals of so many nodes come to, in arrays of its own; None where no node is refused."""
    refusals = [refusal for answer in answers if answer for refusal in answer]
    if not refusals:
        return None
    bad, hard = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
    for refusal in refusals:
        bad |= refusal.nodes
        if refusal.code is not Code.UNSCHEDULABLE:
            hard |= refusal.nodes
    return bad, hard


def total(scores: Sequence[Score]) -> Floats | float:
    """The sum for every node; a plain number where it is the same for all."""
    given = [score for score in scores if score is not None]
    # A plugin may go on using its array: what is kept of a single one is a copy.
    return reduce(add, given) if len(given) > 1 else 0.0 + given[0] if given else 0.0
