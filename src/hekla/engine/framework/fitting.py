"""Fitting: where tasks may run and where they would best run, kept per class of tasks.

Tasks that look alike to every plugin form one class. What depends on the task and the node
objects alone is worked out once per class; what depends on a node's own state is worked out
again only for the rows that changed since, and shared by classes that ask for the same; the rest
is asked at every attempt.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from hekla.engine.framework.class_keys import ClassKeys, selected_labels
from hekla.engine.framework.exclusion import Exclusion
from hekla.engine.framework.lineup import Script
from hekla.engine.framework.opinions import Judge, Score, Scorers, Shelf, united, verdict
from hekla.engine.framework.points import BEST_NODE
from hekla.engine.framework.reducing import ReducedScores
from hekla.engine.framework.sheets import Changes, Sheet
from hekla.engine.framework.standings import Line, Standings
from hekla.engine.framework.task_class import TaskClass
from hekla.engine.ledger.arrays import Mask
from hekla.engine.ledger.states import NodeStates
from hekla.engine.model.diagnosis import Code, Diagnosis, Reason, Refusal, count_reasons
from hekla.engine.model.task import Task
from hekla.lazy import lazy

if TYPE_CHECKING:
    from hekla.engine.framework.session import Session

MEMORY_FOR_SHEETS = 2**27
BYTES_PER_NODE = 32
"""What a sheet keeps of a node, about; a class of tasks keeps less."""
FEWEST_KEPT = 64
FEW_RANKED = 4
NOT_IN_SHARD = "node is not in the scheduler's node shard"


Kept = TypeVar("Kept")


class Fitting:
    """The session's knowledge of who fits where."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._label_keys = sorted(str(key) for key in session.tasks.census(selected_labels))
        self.changes = Changes(session.nodes)
        self._most_kept = max(FEWEST_KEPT, MEMORY_FOR_SHEETS // (BYTES_PER_NODE * max(len(session.nodes), 1)))
        self._sheets: OrderedDict[Hashable, Sheet] = OrderedDict()
        self._classes: OrderedDict[Hashable, TaskClass] = OrderedDict()
        self._diagnoses: dict[Hashable, Diagnosis] = {}
        self._hopeless: dict[Hashable, Diagnosis] = {}
        self._diagnosed_at = self.changes.now
        self._exclusions: OrderedDict[Hashable, Exclusion] = OrderedDict()

    @lazy
    def _standings(self) -> Standings:
        return Standings(self)

    @lazy
    def judges(self) -> list[Judge]:
        """The predicates of each plugin that has some, in order."""
        return [Shelf(plan, self.session.plugins) for plan in self._script.judges]

    @lazy
    def order(self) -> Scorers:
        return Shelf(self._script.order, self.session.plugins)

    @lazy
    def order_at_attempt(self) -> list[Callable[[Task, Mask], Score]]:
        """Those scores of node order that are asked for at every attempt, normalised ones last."""
        reduced = [ReducedScores(one, self.session) for one in self._script.reductions.values()]
        return [*self.order.always, *reduced]

    @lazy
    def batch(self) -> Scorers:
        return Shelf(self._script.batch, self.session.plugins)

    @property
    def _script(self) -> Script:
        return self.session.script

    @lazy
    def _keys(self) -> ClassKeys:
        plugins = [self.session.plugins[seat] for seat in self._script.telling_apart]
        return ClassKeys(self._label_keys, plugins)

    def class_of(self, task: Task) -> TaskClass:
        """The task's class, up to date."""
        return self._class_as_it_was(task).refresh()

    def _class_as_it_was(self, task: Task) -> TaskClass:
        """The task's class, as up to date as when it was last looked at."""
        if not self.session.shortcuts.sheets:
            return TaskClass(self, task)
        key = self.key_of(task)
        known = self._classes.get(key)
        if known is None:
            return self._keep(self._classes, key, TaskClass(self, task))
        self._classes.move_to_end(key)
        return known

    def sheet_for(self, task: Task) -> Sheet:
        """The sheet of the task's request; of its class, where plugins also look at something else."""
        if not self.session.shortcuts.sheets:
            return Sheet(self, task)
        key = self._keys.of_request(task) if self._script.reads_ledgers_alone else self.key_of(task)
        sheet = self._sheets.get(key)
        if sheet is None:
            return self._keep(self._sheets, key, Sheet(self, task))
        self._sheets.move_to_end(key)
        return sheet

    def request_key(self, task: Task) -> Hashable:
        """Equal for tasks that get equal answers from whoever goes by the request and the ledgers alone."""
        return self._keys.of_request(task)

    def board_key(self, task: Task) -> Hashable:
        """Equal for tasks, in whatever cycle, that ask the same plugins for the same resources."""
        return self._script, task.weight.kind

    def expect(self, tasks: Sequence[Task]) -> None:
        """These tasks are about to be placed, one after another."""
        if self.has_standings:
            one_of_each = {task.weight: task for task in tasks}
            self._standings.expect(one_of_each.values(), len(tasks))

    def exclusion_of(self, task: Task) -> Exclusion:
        """The nodes that tasks like this one can never use."""
        said = [[ask(task) for ask in judge.once] for judge in self.judges]
        key = tuple([id(refusals) for of_judge in said for refusals in of_judge])
        known = self._exclusions.get(key)
        if known is None or not self.session.shortcuts.sheets:
            fresh = Exclusion(said, len(self.session.nodes), self.session.hard_shard)
            return self._keep(self._exclusions, key, fresh)
        self._exclusions.move_to_end(key)
        return known

    def _keep(self, shelf: OrderedDict[Hashable, Kept], key: Hashable, thing: Kept) -> Kept:
        """What was asked for longest ago is forgotten when there is too much."""
        shelf[key] = thing
        if len(shelf) > self._most_kept:
            shelf.popitem(last=False)
        return thing

    def open_nodes(self, task: Task) -> Mask:
        """Nodes that may be used and that no plugin refuses, whatever their room; a mask of its own."""
        return self.narrowed(task, self.class_of(task).is_open)

    def allowed_by_plugins(self, task: Task) -> Mask:
        """The same, whether or not the nodes are this scheduler's."""
        return self._asked_anew(task, self.class_of(task).is_open.copy())

    @lazy
    def key_of(self) -> Callable[[Task], int]:
        """A number, equal for tasks that every plugin answers alike for."""
        return self._keys.of

    @lazy
    def are_alike(self) -> Callable[[Task, Task], bool]:
        """Whether every plugin answers alike for both."""
        return self._keys.are_equal

    def is_steady(self) -> bool:
        """Whether no plugin has to be asked again for every single task."""
        return (
            self.session.shortcuts.runs
            and self._script.is_steady
            and self.session.snapshot.shard.mode != "soft"
        )

    @lazy
    def is_foreseeable(self) -> bool:
        """Whether it can be worked out beforehand where tasks that look alike would go, one after another."""
        return self.is_steady() and self._script.is_foreseeable

    def narrowed(self, task: Task, is_open: Mask) -> Mask:
        """Of the nodes that are open to the task's class, those that are open to it just now."""
        shard = self.session.hard_shard
        return self._asked_anew(task, is_open.copy() if shard is None else is_open & shard)

    def _asked_anew(self, task: Task, is_open: Mask) -> Mask:
        for judge in self.judges:
            for ask in judge.always:
                for refusal in ask(task) or ():
                    is_open &= ~refusal.nodes
        return is_open

    def curable_nodes(self, task: Task) -> Mask:
        """Nodes that may be used and that an eviction might open."""
        curable, shard = self.curable_by_plugins(task), self.session.hard_shard
        return curable if shard is None else curable & shard

    def curable_by_plugins(self, task: Task) -> Mask:
        """Nodes that an eviction might open: the first plugin to refuse one does not do so for good."""
        count = len(self.session.nodes)
        known = self.class_of(task)
        undecided = np.ones(count, dtype=np.bool_)
        curable = np.ones(count, dtype=np.bool_)
        for judge, judged in zip(self.judges, known.judged, strict=True):
            bad, hard = judged
            answers = [answer for ask in judge.always if (answer := ask(task))]
            bad, hard = united((bad, hard), verdict(answers, count), count)
            curable &= ~(undecided & hard)
            undecided &= ~bad
        return curable

    @lazy
    def has_standings(self) -> bool:
        """Whether scores depend on the node's own state and the request alone, and many come at once."""
        shortcuts = self.session.shortcuts
        return (
            shortcuts.sheets
            and shortcuts.standings
            and len(self.session.nodes) > 0
            and self.is_steady()
            and self._script.speaks_of_many
        )

    def best_with_room(self, task: Task) -> int | None:
        """The node to take, where it has room now and the standings tell; None where others must."""
        line = self.line_in_standings(task)
        if line is None:
            return None
        line.refresh()
        return line.best()

    def line_in_standings(self, task: Task) -> Line | None:
        """What the standings tell tasks like this one, where they do; to be refreshed before it is asked."""
        if not self.has_standings:
            return None
        known = self._class_as_it_was(task)
        return self._standings.line_of(task, known) if known.is_in_standings else None

    def best(self, task: Task, known: TaskClass, among: Mask) -> int | None:
        """The node to take: the best-node callback's, else the highest score, first in node order."""
        count = np.count_nonzero(among)
        if count <= 1:
            return int(among.argmax()) if count else None
        scores = known.scores(task, among)
        if self.session.has_answer(BEST_NODE):
            chosen = self.session.chosen_by_plugins(task, scores, among)
            if chosen is not None:
                return chosen
        return int(np.where(among, scores, -np.inf).argmax())

    def ranked(self, task: Task, among: Mask, showing: Mask) -> Iterator[int]:
        """These nodes, of which only some are to be shown, best first; equals in node order.

        Mostly the first few are all that is wanted: only after them the rest is sorted.
        """
        rows = np.flatnonzero(among & showing)
        if not len(rows):
            # A plugin that compares candidates may count on there being one.
            return
        scores = self.class_of(task).scores(task, among)[rows]
        for _ in range(min(FEW_RANKED, len(rows))):
            at = int(scores.argmax())
            yield int(rows[at])
            rows, scores = np.delete(rows, at), np.delete(scores, at)
        yield from rows[np.argsort(-scores, kind="stable")].tolist()

    def diagnose(self, task: Task, among: Mask, *, with_room: bool, hypernode: str = "") -> Diagnosis:
        """Why none of these nodes takes the task; `with_room` says whether lack of room counts."""
        self._forget_outdated()
        key = (self.key_of(task), with_room, hypernode, among.tobytes())
        known = self._diagnoses.get(key)
        if known is None:
            known = self._diagnose(task, among, with_room=with_room)
            known = self._diagnoses[key] = replace(known, hypernode=hypernode)
        return known

    def found_none(self, task: Task, diagnosis: Diagnosis) -> None:
        """No node of the whole cluster takes tasks like this one just now."""
        if self.is_steady():
            self._forget_outdated()
            self._hopeless[self.key_of(task)] = diagnosis

    @property
    def knows_hopeless(self) -> bool:
        """Whether there are such tasks."""
        self._forget_outdated()
        return bool(self._hopeless)

    def why_hopeless(self, task: Task) -> Diagnosis | None:
        """What kept a task like this off all nodes, where nothing has changed since."""
        return self._hopeless.get(self.key_of(task)) if self.knows_hopeless else None

    def _forget_outdated(self) -> None:
        if self._diagnosed_at != self.changes.now:
            self._diagnosed_at = self.changes.now
            self._diagnoses.clear()
            self._hopeless.clear()

    def _diagnose(self, task: Task, among: Mask, *, with_room: bool) -> Diagnosis:
        reasons: list[Reason] = []
        judged = among.copy()
        unresolvable = np.zeros(len(judged), dtype=np.bool_)
        shard = self.session.hard_shard
        if shard is not None and (outside := int(np.count_nonzero(judged & ~shard))):
            reasons.append(Reason(NOT_IN_SHARD, outside, "outside this scheduler's shard"))
            judged &= shard
        if with_room:
            lacking = shortages(self.session, task, judged)
            reasons += count_reasons(lacking, judged)
            for refusal in lacking:
                judged &= ~refusal.nodes
        for refusals in self._refusals(task):
            reasons += count_reasons(refusals, judged)
            for refusal in refusals:
                if refusal.code is Code.UNRESOLVABLE:
                    unresolvable |= refusal.nodes & judged
            for refusal in refusals:
                judged &= ~refusal.nodes
        if left := int(np.count_nonzero(judged)):
            reasons.append(Reason("node refused another task of the same role in this cycle", left))
        return Diagnosis(int(np.count_nonzero(among)), tuple(reasons), unresolvable)

    def _refusals(self, task: Task) -> list[list[Refusal]]:
        """All refusals, plugin by plugin, in the order the plugins give them."""
        states = NodeStates(self.session.nodes, self.session.pods)
        return [
            [
                refusal
                for answer in (
                    *(ask(task, states) for ask in judge.by_row),
                    *(ask(task) for ask in judge.once),
                    *(ask(task) for ask in judge.always),
                )
                for refusal in answer or ()
            ]
            for judge in self.judges
        ]


def shortages(session: Session, task: Task, among: Mask) -> list[Refusal]:
    """Where room is lacking even after releases, named after the first resource that is short."""
    refusals: list[Refusal] = []
    counted = ~among
    for column in task.asked:
        name, free = session.axis.names[column], session.nodes.future[:, column]
        short = (free < task.vector[column]) & ~counted
        if short.any():
            counted |= short
            asked, most = session.spell(name, task.vector[column]), session.spell(name, free[short].max())
            plain = f"not enough {name} (asked {asked}, most free {most})"
            refusals.append(Refusal(f"Insufficient {name}", short, plain=plain))
    return refusals
