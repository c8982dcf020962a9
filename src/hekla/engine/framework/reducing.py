"""Reducing: a plugin's own node order scores, normalised over the nodes that are candidates.

As in Volcano a plugin maps, node by node, and then reduces. What a reducing plugin says of nodes is kept
nowhere: which nodes are candidates changes with every placement, so it is asked for every set of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hekla.engine.framework.opinions import Scorers, Shelf, ShelfPlan, Spoken, total
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import NODE_ORDER, NODE_ORDER_REDUCE, declared
from hekla.engine.ledger.arrays import Floats, Mask
from hekla.engine.ledger.states import NodeStates
from hekla.engine.model.task import Task
from hekla.errors import PluginError

if TYPE_CHECKING:
    from hekla.engine.framework.session import Session

Reduce = Callable[[Task, Floats, Mask], Floats]


class Reduction(NamedTuple):
    """A plugin's answers to node order, and to node order reduce; it is the same in every session."""

    scores: ShelfPlan
    reduces: list[Spoken]


class ReducedScores:
    """The same in one session; called as scores that are asked for at every attempt."""

    def __init__(self, reduction: Reduction, session: Session) -> None:
        plugins = session.plugins
        self._scores: Scorers = Shelf(reduction.scores, plugins)
        self._reduces: list[tuple[str, Reduce]] = [
            (plugins[one.seat].name, getattr(plugins[one.seat], one.method)) for one in reduction.reduces
        ]
        self._states = NodeStates(session.nodes, session.pods)

    def __call__(self, task: Task, among: Mask) -> Floats:
        scores = self.own(task, among)
        for name, reduce in self._reduces:
            scores = _checked(reduce(task, scores, among), among, name)
        return scores

    def own(self, task: Task, among: Mask) -> Floats:
        """What the plugin gives every node before it normalises; an array of its own."""
        said = [
            *(ask(task) for ask in self._scores.once),
            *(ask(task, self._states) for ask in self._scores.by_row),
            *(ask(task, among) for ask in self._scores.always),
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


def reduces_nothing(plugin: type[Plugin]) -> bool:
    """Whether a class normalises scores and gives none."""
    points = {point for _, point, _ in declared(plugin)}
    return NODE_ORDER_REDUCE in points and NODE_ORDER not in points
