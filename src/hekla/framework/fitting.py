"""Fitting: where tasks may run and where they would best run, kept per class of tasks.

Tasks that look alike to every plugin form one class. What depends on the task and the node
objects alone is worked out once per class; what depends on a node's own state is worked out
again only for the rows that changed since; the rest is asked at every attempt.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from hekla.framework.plugin import Plugin
from hekla.framework.points import BATCH_NODE_ORDER, BEST_NODE, NODE_ORDER, PREDICATE, Point, Scope
from hekla.ledger.arrays import ALL_ROWS, Floats, Mask, Rows
from hekla.model.diagnosis import Code, Diagnosis, Reason, Refusal, count_reasons
from hekla.model.task import Task

if TYPE_CHECKING:
    from hekla.framework.session import Session

Refusals = Sequence[Refusal] | None
Score = Floats | float | None

MOST_CLASSES_KEPT = 256
FEW_ROWS = 16
"""Up to so many changed rows are worked out one by one."""
NOT_IN_SHARD = "node is not in the scheduler's node shard"


@dataclass
class Judge:
    """One plugin's predicates, by how long they stay true."""

    plugin: str
    once: list[Callable[[Task], Refusals]] = field(default_factory=list)
    by_row: list[Callable[[Task, Rows], Refusals]] = field(default_factory=list)
    always: list[Callable[[Task], Refusals]] = field(default_factory=list)


@dataclass
class Scorers:
    """All answers to one scoring point, by how long they stay true."""

    once: list[Callable[[Task], Score]] = field(default_factory=list)
    by_row: list[Callable[[Task, Rows], Score]] = field(default_factory=list)
    always: list[Callable[[Task, Mask], Score]] = field(default_factory=list)


class TaskClass:
    """What is known of placing tasks of one kind; `refresh` brings it up to date."""

    def __init__(self, fitting: Fitting, task: Task) -> None:
        self._fitting = fitting
        self._task = task
        self._nodes = fitting.session.nodes
        self._needs = [(column, int(task.vector[column])) for column in task.asked]
        count = len(self._nodes)
        self._never = [verdict([fn(task) for fn in judge.once], count) for judge in fitting.judges]
        self._order_once = _sum(fitting.order.once, count, task)
        self._batch_once = _sum(fitting.batch.once, count, task)
        self._constant = (0.0, 0.0)
        self._work_out()

    def _work_out(self) -> None:
        """Everything, for all rows at once."""
        task, fitting = self._task, self._fitting
        count = len(self._nodes)
        self._seen = len(self._nodes.changed)
        self.fits_now = self._nodes.can_hold(task)
        self.fits_later = self._nodes.will_hold(task)
        self.judged = [
            _united(never, verdict([fn(task, ALL_ROWS) for fn in judge.by_row], count))
            for judge, never in zip(fitting.judges, self._never, strict=True)
        ]
        self.is_open = np.ones(count, dtype=np.bool_)
        for bad, _ in self.judged:
            self.is_open &= ~bad
        self._order = self._order_once + _sum(fitting.order.by_row, count, task, ALL_ROWS)
        self._batch = self._batch_once + _sum(fitting.batch.by_row, count, task, ALL_ROWS)
        self._total = (self._order + self._constant[0]) + (self._batch + self._constant[1])

    def refresh(self) -> TaskClass:
        """Work out again what has changed since: a few rows one by one, many all at once."""
        changed = self._nodes.changed
        if len(changed) > self._seen:
            rows = set(changed[self._seen :])
            if len(rows) > FEW_ROWS:
                self._work_out()
            else:
                self._seen = len(changed)
                for row in rows:
                    self._work_out_row(row)
        return self

    def _work_out_row(self, row: int) -> None:
        """The same for one row, in plain numbers: arrays of one are slow. This runs after every placement."""
        task, fitting, nodes = self._task, self._fitting, self._nodes
        idle, future = nodes.idle[row].tolist(), nodes.future[row].tolist()
        self.fits_now[row] = all([idle[column] >= amount for column, amount in self._needs])
        self.fits_later[row] = all([future[column] >= amount for column, amount in self._needs])
        only = slice(row, row + 1)
        is_open = True
        for judge, never, judged in zip(fitting.judges, self._never, self.judged, strict=True):
            bad, hard = never[0][row], never[1][row]
            for ask in judge.by_row:
                for refusal in ask(task, only) or ():
                    if refusal.nodes[0]:
                        bad, hard = True, hard or refusal.code is not Code.UNSCHEDULABLE
            judged[0][row], judged[1][row] = bad, hard
            is_open = is_open and not bad
        self.is_open[row] = is_open
        order, batch = float(self._order_once[row]), float(self._batch_once[row])
        for score in fitting.order.by_row:
            order += _only(score(task, only))
        for score in fitting.batch.by_row:
            batch += _only(score(task, only))
        self._order[row], self._batch[row] = order, batch
        self._total[row] = (order + self._constant[0]) + (batch + self._constant[1])

    def has_steady_scores(self, task: Task, among: Mask) -> bool:
        """Whether scores depend on each node alone, so that a placement changes one of them."""
        return self.scores(task, among) is self.steady_scores

    @property
    def steady_scores(self) -> Floats:
        return self._total

    def scores(self, task: Task, among: Mask) -> Floats:
        """Every node's score when these are the candidates; do not change the array."""
        order, order_constant = _at_attempt(self._fitting.order.always, task, among)
        batch, batch_constant = _at_attempt(self._fitting.batch.always, task, among)
        if order is not None or batch is not None:
            order_part = self._order + order_constant + (0.0 if order is None else order)
            batch_part = self._batch + batch_constant + (0.0 if batch is None else batch)
            return np.asarray(order_part + batch_part, dtype=np.float64)
        if self._constant != (order_constant, batch_constant):
            self._constant = (order_constant, batch_constant)
            self._total = (self._order + order_constant) + (self._batch + batch_constant)
        return self._total


class Fitting:
    """The session's knowledge of who fits where."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.judges: list[Judge] = []
        self.order = Scorers()
        self.batch = Scorers()
        self._distinguish: list[Callable[[Task], Hashable]] = []
        self._classes: OrderedDict[Hashable, TaskClass] = OrderedDict()
        self._key_of_task: dict[str, Hashable] = {}
        self._latest: Task | None = None
        self._diagnoses: dict[Hashable, Diagnosis] = {}
        self._label_keys = _selected_labels(session)

    def register(self, plugin: Plugin, point: Point, scope: Scope, method: Callable[..., object]) -> None:
        """Take a plugin's answer to one of the points about nodes."""
        if point is PREDICATE:
            if not self.judges or self.judges[-1].plugin != plugin.name:
                self.judges.append(Judge(plugin.name))
            _file(self.judges[-1], scope, method)
        elif point is NODE_ORDER:
            _file(self.order, scope, method)
        elif point is BATCH_NODE_ORDER:
            _file(self.batch, scope, method)
        is_own = type(plugin).distinguishes is not Plugin.distinguishes
        if is_own and plugin.distinguishes not in self._distinguish:
            self._distinguish.append(plugin.distinguishes)

    def class_of(self, task: Task) -> TaskClass:
        """The task's class, up to date."""
        key = self.key_of(task)
        known = self._classes.get(key)
        if known is None:
            known = self._classes[key] = TaskClass(self, task)
            if len(self._classes) > MOST_CLASSES_KEPT:
                self._classes.popitem(last=False)
            return known
        self._classes.move_to_end(key)
        return known.refresh()

    def key_of(self, task: Task) -> Hashable:
        """Equal for tasks that every plugin answers alike for."""
        key = self._key_of_task.get(task.uid)
        if key is None:
            # Tasks of a job come one after another and mostly look the same.
            twin = self._latest
            is_same = twin is not None and twin.job == task.job and self._look_alike(twin, task)
            key = self._key_of_task[twin.uid] if is_same and twin is not None else self._make_key(task)
            self._key_of_task[task.uid] = key
            self._latest = task
        return key

    def _look_alike(self, left: Task, right: Task) -> bool:
        mine, theirs = left.pod.metadata, right.pod.metadata
        return (
            left.pod.spec == right.pod.spec
            and not left.pod.spec.volumes
            and not left.pod.spec.resource_claims
            and left.vector is right.vector
            and mine.owner_references[:1] == theirs.owner_references[:1]
            and all([mine.labels.get(key) == theirs.labels.get(key) for key in self._label_keys])
            and all([distinguish(left) == distinguish(right) for distinguish in self._distinguish])
        )

    def _make_key(self, task: Task) -> Hashable:
        spec, labels = task.pod.spec, task.pod.metadata.labels
        shape = (
            {key: labels[key] for key in self._label_keys if key in labels},
            spec.containers,
            spec.init_containers,
            spec.node_selector,
            spec.affinity,
            spec.tolerations,
            spec.topology_spread_constraints,
            # Volumes and claims are a task's own: such tasks are never alike.
            task.uid if spec.volumes or spec.resource_claims else "",
            task.pod.metadata.owner_references[:1],
        )
        others = tuple([distinguish(task) for distinguish in self._distinguish])
        return (task.namespace, task.vector.tobytes(), task.asked, msgspec.msgpack.encode(shape), others)

    def open_nodes(self, task: Task) -> Mask:
        """Nodes that no plugin refuses, whatever their room; a mask of its own."""
        return self.narrowed(task, self.class_of(task).is_open)

    def is_steady(self) -> bool:
        """Whether no plugin has to be asked again for every single task."""
        return (
            not any(judge.always for judge in self.judges)
            and not self.session.has_answer(BEST_NODE)
            and self.session.snapshot.shard.mode != "soft"
        )

    def narrowed(self, task: Task, is_open: Mask) -> Mask:
        """Of the nodes that are open to the task's class, those that are open to it just now."""
        shard = self.session.hard_shard
        is_open = is_open.copy() if shard is None else is_open & shard
        for judge in self.judges:
            for ask in judge.always:
                for refusal in ask(task) or ():
                    is_open &= ~refusal.nodes
        return is_open

    def curable_nodes(self, task: Task) -> Mask:
        """Nodes that an eviction might open: the first plugin to refuse one does not do so for good."""
        count = len(self.session.nodes)
        known = self.class_of(task)
        undecided = np.ones(count, dtype=np.bool_)
        curable = np.ones(count, dtype=np.bool_)
        for judge, judged in zip(self.judges, known.judged, strict=True):
            bad, hard = judged
            answers = [answer for ask in judge.always if (answer := ask(task))]
            if answers:
                just_now = verdict(answers, count)
                bad, hard = bad | just_now[0], hard | just_now[1]
            curable &= ~(undecided & hard)
            undecided &= ~bad
        shard = self.session.hard_shard
        return curable if shard is None else curable & shard

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

    def ranked(self, task: Task, among: Mask) -> list[int]:
        """These nodes, best first; equals in node order."""
        rows = np.flatnonzero(among)
        scores = self.class_of(task).scores(task, among)[rows]
        return [int(row) for row in rows[np.argsort(-scores, kind="stable")]]

    def diagnose(self, task: Task, among: Mask, *, with_room: bool, hypernode: str = "") -> Diagnosis:
        """Why none of these nodes takes the task; `with_room` says whether lack of room counts."""
        key = (self.key_of(task), len(self.session.nodes.changed), with_room, among.tobytes())
        known = self._diagnoses.get(key)
        if known is None:
            self._diagnoses.clear()
            known = self._diagnose(task, among, with_room=with_room)
            known = self._diagnoses[key] = replace(known, hypernode=hypernode)
        return known

    def _diagnose(self, task: Task, among: Mask, *, with_room: bool) -> Diagnosis:
        reasons: list[Reason] = []
        judged = among.copy()
        unresolvable = np.zeros(len(judged), dtype=np.bool_)
        shard = self.session.hard_shard
        if shard is not None and (outside := int(np.count_nonzero(judged & ~shard))):
            reasons.append(Reason(NOT_IN_SHARD, outside))
            unresolvable |= judged & ~shard
            judged &= shard
        if with_room:
            lacking = shortages(self.session, task, judged)
            reasons += count_reasons(lacking, judged)
            for refusal in lacking:
                judged &= ~refusal.nodes
        for refusals in self._refusals(task):
            reasons += count_reasons(refusals, judged)
            for refusal in refusals:
                if refusal.code is not Code.UNSCHEDULABLE:
                    unresolvable |= refusal.nodes & judged
            for refusal in refusals:
                judged &= ~refusal.nodes
        if left := int(np.count_nonzero(judged)):
            reasons.append(Reason("node refused another task of the same role in this cycle", left))
        return Diagnosis(int(np.count_nonzero(among)), tuple(reasons), unresolvable)

    def _refusals(self, task: Task) -> list[list[Refusal]]:
        """All refusals, plugin by plugin, in the order the plugins give them."""
        return [
            [
                refusal
                for answer in (
                    *(ask(task, ALL_ROWS) for ask in judge.by_row),
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


def _file(shelf: Judge | Scorers, scope: Scope, method: Callable[..., object]) -> None:
    drawer = {Scope.CLASS: "once", Scope.ROW: "by_row", Scope.ATTEMPT: "always"}[scope]
    getattr(shelf, drawer).append(method)


def _united(left: tuple[Mask, Mask], right: tuple[Mask, Mask]) -> tuple[Mask, Mask]:
    return left[0] | right[0], left[1] | right[1]


def _only(score: Score) -> float:
    """The score of one row, which a plugin may give as an array of one or as a plain number."""
    if score is None:
        return 0.0
    return float(score[0]) if isinstance(score, np.ndarray) else score


def verdict(answers: Sequence[Refusals], count: int) -> tuple[Mask, Mask]:
    """Which nodes are refused at all, and which for good."""
    bad, hard = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
    for answer in answers:
        for refusal in answer or ():
            bad |= refusal.nodes
            if refusal.code is not Code.UNSCHEDULABLE:
                hard |= refusal.nodes
    return bad, hard


def _sum(scorers: Sequence[Callable[..., Score]], count: int, *question: object) -> Floats:
    total = np.zeros(count)
    for ask in scorers:
        score = ask(*question)
        if score is not None:
            total += score
    return total


def _at_attempt(
    scorers: Sequence[Callable[[Task, Mask], Score]], task: Task, among: Mask
) -> tuple[Floats | None, float]:
    """Scores that differ between nodes, and the sum of those that do not."""
    varying: Floats | None = None
    constant = 0.0
    for ask in scorers:
        score = ask(task, among)
        if isinstance(score, np.ndarray):
            varying = score if varying is None else varying + score
        elif score is not None:
            constant += score
    return varying, constant


def _selected_labels(session: Session) -> list[str]:
    """Pod labels that some pod's affinity or spreading looks at; no other label sets tasks apart."""
    keys: set[str] = set()
    for task in session.tasks:
        spec = task.pod.spec
        if spec.affinity is None and not spec.topology_spread_constraints:
            continue
        selectors = [c.label_selector for c in spec.topology_spread_constraints]
        for constraint in spec.topology_spread_constraints:
            keys.update(constraint.match_label_keys)
        for affinity in (
            (spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity) if spec.affinity else ()
        ):
            terms = (
                [*affinity.required, *(w.pod_affinity_term for w in affinity.preferred)] if affinity else []
            )
            selectors += [term.label_selector for term in terms]
            for term in terms:
                keys.update((*term.match_label_keys, *term.mismatch_label_keys))
        for selector in selectors:
            if selector is not None:
                keys.update(selector.match_labels)
                keys.update(requirement.key for requirement in selector.match_expressions)
    return sorted(keys)
