"""Scoring: which nodes a task may run on, and which it should, asked by class of tasks.

Tasks that look alike to every plugin form one class; all nodes are scored for a class when it is asked for.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec.structs import replace

from hekla.engine.framework.class_keys import ClassKeys, selected_labels
from hekla.engine.framework.dispatch import Declaration
from hekla.engine.framework.node_answers import NodeAnswers
from hekla.engine.framework.points import BEST_NODE, PREDICATE, Scope
from hekla.engine.framework.task_class import TaskClass
from hekla.engine.ledger.arrays import Mask
from hekla.engine.ledger.states import NodeStates
from hekla.engine.model.diagnosis import INSUFFICIENT, Code, Diagnosis, Reason, Refusal, count_reasons
from hekla.engine.model.resources import spelled
from hekla.engine.model.task import Task
from hekla.lazy import lazy

if TYPE_CHECKING:
    from hekla.engine.framework.session import Session

MEMORY_FOR_CLASSES = 2**27
BYTES_PER_NODE = 32
"""What a class keeps of a node, about."""
FEWEST_KEPT = 64
FEW_RANKED = 4
NOT_IN_SHARD = "node is not in the scheduler's node shard"
REFUSED_BEFORE = "node refused another task of the same role in this cycle"
NOT_OURS = "outside this scheduler's shard"


class Choice(NamedTuple):
    """The node to take, and whether it has room now or will have it once releases are done."""

    row: int
    has_room: bool


class Scoring:
    """The session's classes of tasks; the classes asked about longest ago are dropped."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._most_kept = max(
            FEWEST_KEPT, MEMORY_FOR_CLASSES // (BYTES_PER_NODE * max(len(session.nodes), 1))
        )
        self._classes: OrderedDict[int, TaskClass] = OrderedDict()
        self._answers: dict[tuple[Declaration, ...], NodeAnswers] = {}
        """By which answers concern a class beside those that concern all."""
        self._diagnoses: dict[object, Diagnosis] = {}
        self._diagnosed_at = -1

    @lazy
    def _keys(self) -> ClassKeys:
        label_keys = sorted(str(key) for key in self._session.tasks.census(selected_labels))
        return ClassKeys(label_keys, self._session.dispatch.telling_apart())

    def key_of(self, task: Task) -> int:
        """A number, equal for tasks that every plugin answers alike for."""
        return self._keys.of(task)

    def class_of(self, task: Task) -> TaskClass:
        """The task's class, up to date."""
        return self._class_as_it_was(task).refresh()

    def _class_as_it_was(self, task: Task) -> TaskClass:
        key = self.key_of(task)
        known = self._classes.get(key)
        if known is not None and self._session.shortcuts.memory:
            self._classes.move_to_end(key)
            return known
        known = self._classes[key] = self._new_class(task)
        if len(self._classes) > self._most_kept:
            self._classes.popitem(last=False)
        return known

    def _new_class(self, task: Task) -> TaskClass:
        session = self._session
        concerning = session.dispatch.concerning(task)
        answers = self._answers.get(concerning)
        if answers is None:
            everywhere = NodeStates(session.nodes, session.pods)
            answers = self._answers[concerning] = NodeAnswers(session.dispatch, everywhere, concerning)
        return TaskClass(session, answers, task)

    # Which nodes

    def open_nodes(self, task: Task) -> Mask:
        """Nodes that may be used and that no filter refuses, whatever their room; a mask of its own."""
        return self._in_shard(self.class_of(task).open_to(task).copy())

    def is_open(self, task: Task, row: int) -> bool:
        """The same for one node."""
        shard = self._session.hard_shard
        is_usable = shard is None or bool(shard[row])
        return is_usable and self._class_as_it_was(task).is_open_to(task, row)

    def allowed_by_plugins(self, task: Task) -> Mask:
        """The same, whether or not the nodes are this scheduler's."""
        return self.class_of(task).open_to(task).copy()

    def feasible_nodes(self, task: Task) -> Mask:
        """Those of the open nodes that have room, now or once releases are done; a mask of its own."""
        known = self.class_of(task)
        return self._in_shard(known.open_to(task) & known.fits_later)

    def curable_nodes(self, task: Task) -> Mask:
        """Nodes that may be used and that an eviction might open; do not change the mask."""
        return self._in_shard(self.curable_by_plugins(task))

    def curable_by_plugins(self, task: Task) -> Mask:
        """The same, whether or not the nodes are this scheduler's."""
        return self._class_as_it_was(task).curable(task)

    def _in_shard(self, nodes: Mask) -> Mask:
        shard = self._session.hard_shard
        return nodes if shard is None else nodes & shard

    def lasting_refusals(self, task: Task) -> list[Refusal]:
        """What is said of nodes for tasks like this one, whatever runs on them."""
        found: list[Refusal] = []
        if (shard := self._session.hard_shard) is not None:
            found.append(Refusal(NOT_IN_SHARD, ~shard, Code.UNRESOLVABLE, NOT_OURS))
        for one in self._session.dispatch.handlers(PREDICATE):
            is_concerned = one.concerns is None or one.concerns(one.plugin, task)
            if one.scope is Scope.CLASS and is_concerned:
                found += one.answer(task) or ()
        return [refusal for refusal in found if refusal.nodes.any()]

    # The best of them

    def choose(self, task: Task, feasible: Mask) -> Choice | None:
        """Room now beats room later; inside each, a soft shard's own nodes beat the others."""
        known = self.class_of(task)
        now = feasible & known.fits_now
        for group in self._session.by_shard(now):
            if (row := self._best(task, known, group)) is not None:
                return Choice(row, has_room=True)
        for group in self._session.by_shard(feasible & ~now):
            if (row := self._best(task, known, group)) is not None:
                return Choice(row, has_room=False)
        return None

    def best(self, task: Task, among: Mask) -> int | None:
        """The node to take: the best-node callback's, else the highest score, first in node order."""
        return self._best(task, self.class_of(task), among)

    def _best(self, task: Task, known: TaskClass, among: Mask) -> int | None:
        count = np.count_nonzero(among)
        if count <= 1:
            return int(among.argmax()) if count else None
        scores = known.scores_of(task, among)
        if self._session.dispatch.who.compares_candidates:
            chosen = self._session.dispatch[BEST_NODE](task, scores, among)
            if chosen is not None:
                return chosen
        return int(np.where(among, scores, -np.inf).argmax())

    def best_run(self, task: Task, count: int, among: Mask) -> list[int]:
        """The nodes with room now for so many equal tasks, as one after another would take them."""
        known = self.class_of(task)
        return known.best_run(count, among & known.fits_now)

    def ranked(self, task: Task, among: Mask, showing: Mask) -> Iterator[int]:
        """These nodes, of which only some are to be shown, best first; equals in node order.

        Mostly the first few are all that is wanted: only after them the rest is sorted.
        """
        shown = among & showing
        count = int(np.count_nonzero(shown))
        if not count:
            # A plugin that compares candidates may count on there being one.
            return
        scores = np.where(shown, self.class_of(task).scores_of(task, among), -np.inf)
        for _ in range(min(FEW_RANKED, count)):
            row = int(scores.argmax())
            yield row
            scores[row] = -np.inf
        yield from np.argsort(-scores, kind="stable")[: max(count - FEW_RANKED, 0)].tolist()

    def is_foreseeable(self, task: Task) -> bool:
        """Whether it can be worked out beforehand where equal tasks would go, one after another."""
        session = self._session
        return (
            session.shortcuts.runs
            and session.snapshot.shard.mode != "soft"
            and not session.dispatch.who.compares_candidates
            and self._class_as_it_was(task).is_steady
        )

    # Why none will do

    def diagnose(self, task: Task, among: Mask, *, with_room: bool, hypernode: str = "") -> Diagnosis:
        """Why none of these nodes takes the task; `with_room` says whether lack of room counts."""
        version = self._session.nodes.journal.version
        if self._diagnosed_at != version:
            self._diagnosed_at = version
            self._diagnoses.clear()
        key = (self.key_of(task), with_room, hypernode, among.tobytes())
        known = self._diagnoses.get(key)
        if known is None:
            known = self._diagnose(task, among, with_room=with_room)
            known = self._diagnoses[key] = replace(known, hypernode=hypernode)
        return known

    def _diagnose(self, task: Task, among: Mask, *, with_room: bool) -> Diagnosis:
        reasons: list[Reason] = []
        judged = among.copy()
        unresolvable = np.zeros(len(judged), dtype=np.bool_)
        shard = self._session.hard_shard
        if shard is not None and (outside := int(np.count_nonzero(judged & ~shard))):
            reasons.append(Reason(NOT_IN_SHARD, outside, NOT_OURS))
            judged &= shard
        lacking = shortages(self._session, task, judged) if with_room else []
        for refusals in (lacking, *self._class_as_it_was(task).refusals(task)):
            reasons += count_reasons(refusals, judged)
            for refusal in refusals:
                if refusal.code is Code.UNRESOLVABLE:
                    unresolvable |= refusal.nodes & judged
            for refusal in refusals:
                judged &= ~refusal.nodes
        if left := int(np.count_nonzero(judged)):
            reasons.append(Reason(REFUSED_BEFORE, left))
        return Diagnosis(int(np.count_nonzero(among)), tuple(reasons), unresolvable)


def shortages(session: Session, task: Task, among: Mask) -> Sequence[Refusal]:
    """Where room is lacking even after releases, named after the first resource that is short."""
    refusals: list[Refusal] = []
    counted = ~among
    for column in task.asked:
        name, free = session.axis.names[column], session.nodes.future[:, column]
        short = (free < task.vector[column]) & ~counted
        if short.any():
            counted |= short
            asked, most = spelled(name, task.vector[column]), spelled(name, free[short].max())
            plain = f"not enough {name} (asked {asked}, most free {most})"
            refusals.append(Refusal(f"{INSUFFICIENT}{name}", short, plain=plain))
    return refusals
