"""Answers about nodes: what plugins say of nodes for a class of tasks, sorted by how long it stays true."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from operator import add
from typing import Any, Generic, TypeVar

import numpy as np

from hekla.engine.framework.dispatch import Dispatch, Handler
from hekla.engine.framework.points import BATCH_NODE_ORDER, NODE_ORDER, NODE_ORDER_REDUCE, PREDICATE, Scope
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


@dataclass(frozen=True)
class Answers(Generic[A]):
    """The filters of one plugin, or all scores of one point, as far as they concern a class of tasks."""

    once: list[Callable[[Task], A]]
    """What depends on the node objects alone."""
    by_row: list[Callable[[Task, NodeStates], A]]
    """What depends on each node's own state: asked again for rows that changed."""
    anew: list[Callable[..., A]]
    """What a placement elsewhere can change: asked at every attempt."""
    is_foreseeable: bool
    """Whether all that is said by row reads the ledgers alone."""


def sorted_by_scope(handlers: Iterable[Handler]) -> Answers[A]:
    once: list[Callable[[Task], A]] = []
    by_row: list[Callable[[Task, NodeStates], A]] = []
    anew: list[Callable[..., A]] = []
    is_foreseeable = True
    for handler in handlers:
        match handler.scope:
            case Scope.CLASS:
                once.append(handler.answer)
            case Scope.LEDGER:
                by_row.append(handler.answer)
            case Scope.ROW:
                by_row.append(_reading_rows(handler.answer))
                is_foreseeable = False
            case _:
                anew.append(handler.answer)
    return Answers(once, by_row, anew, is_foreseeable)


def _reading_rows(answer: Callable[..., A]) -> Callable[[Task, NodeStates], A]:
    return lambda task, states: answer(task, states.rows)


class NodeAnswers:
    """All that plugins say of nodes for tasks like this one."""

    def __init__(self, dispatch: Dispatch, everywhere: NodeStates, task: Task) -> None:
        filters = _concerning(dispatch.handlers(PREDICATE), task)
        self.filters: list[Answers[Refusals]] = [
            sorted_by_scope(group) for _, group in groupby(filters, key=lambda handler: handler.plugin.name)
        ]
        """By plugin."""
        self.row_filters = [ask for plugin in self.filters for ask in plugin.by_row]
        self.filters_anew = [ask for plugin in self.filters for ask in plugin.anew]
        reduces = dispatch.handlers(NODE_ORDER_REDUCE)
        reducing = list(dict.fromkeys(one.plugin for one in reduces))
        scores = _concerning(dispatch.handlers(NODE_ORDER), task)
        self.order: Answers[Score] = sorted_by_scope(one for one in scores if one.plugin not in reducing)
        for plugin in reducing:
            if own := [one for one in scores if one.plugin is plugin]:
                own_reduces = [one for one in reduces if one.plugin is plugin]
                self.order.anew.append(Reduction(sorted_by_scope(own), own_reduces, everywhere))
        self.batch: Answers[Score] = sorted_by_scope(_concerning(dispatch.handlers(BATCH_NODE_ORDER), task))

    @property
    def is_steady(self) -> bool:
        """Whether a placement changes what is said of its own node alone, in a way that can be foreseen."""
        answers: list[Answers[Any]] = [*self.filters, self.order, self.batch]
        return all(not each.anew and each.is_foreseeable for each in answers)


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


def _concerning(handlers: Iterable[Handler], task: Task) -> list[Handler]:
    return [one for one in handlers if one.concerns is None or one.concerns(one.plugin, task)]


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
