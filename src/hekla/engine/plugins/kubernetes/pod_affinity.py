"""Pod affinity: which pods a task wants near and which apart, in terms that can be counted, and the filter.

Which pods repel others is read from a list of nodes that is frozen when the session opens, as in
Volcano: a pod with anti-affinity that was placed a moment ago, on a node that had none before,
repels no pod yet.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Generic

import msgspec
import numpy as np

from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Counts, Mask, all_of, any_of
from hekla.engine.ledger.labels import LabelColumn
from hekla.engine.ledger.tally import Tally, Thing
from hekla.engine.model.diagnosis import Code, Refusal
from hekla.engine.model.task import Task
from hekla.engine.plugins.class_memory import MOST_CLASSES_KEPT, ClassMemory
from hekla.engine.plugins.kubernetes.pods import PodSelection, are_met, requirements_of, with_own_labels
from hekla.objects import Namespace
from hekla.objects.pod import PodAffinityTerm

LACKS_COMPANY = "node(s) didn't match pod affinity rules"
MEETS_FOES = "node(s) didn't match pod anti-affinity rules"
IS_REPELLED = "node(s) didn't satisfy existing pods anti-affinity rules"
PLAIN = {
    LACKS_COMPANY: "no pod nearby that the task wants to be with",
    MEETS_FOES: "a pod nearby that the task must be apart from",
    IS_REPELLED: "a pod nearby that must be apart from the task",
}


class Term(msgspec.Struct, frozen=True):
    """Pods, and the node label whose equal values count as one place."""

    topology_key: str
    pods: PodSelection


Leaning = tuple[Term, int]
"""A preferred term and its weight, which is negative where pods shall be apart."""


class Terms(msgspec.Struct, frozen=True):
    """All affinity terms of one pod."""

    near: tuple[Term, ...] = ()
    apart: tuple[Term, ...] = ()
    leanings: tuple[Leaning, ...] = ()


NO_TERMS = Terms()


def namespace_of(task: Task) -> tuple[str]:
    return (task.namespace,)


def has_pod_affinity(task: Task) -> bool:
    affinity = task.pod.spec.affinity
    return affinity is not None and not (affinity.pod_affinity is None and affinity.pod_anti_affinity is None)


def nodes_hosting(session: Session, tasks: Iterable[Task]) -> Mask:
    """Nodes with at least one of these pods at this moment; -> (N,)"""
    hosts = np.zeros(len(session.nodes), dtype=np.bool_)
    hosts[[task.node for task in tasks if session.pods.holds(task)]] = True
    return hosts


class TermReader:
    """The terms of tasks, with namespaces and the owner's own labels worked out."""

    def __init__(self, session: Session) -> None:
        self._labels_of_namespace: dict[str, dict[str, str]] = {
            str(name): {} for name in session.tasks.census(namespace_of)
        }
        for namespace in session.snapshot.all_of(Namespace):
            self._labels_of_namespace[namespace.metadata.name] = namespace.metadata.labels
        self._known: dict[str, Terms] = {}

    def of(self, task: Task) -> Terms:
        if not has_pod_affinity(task):
            return NO_TERMS
        if task.uid not in self._known:
            self._known[task.uid] = self._read(task)
        return self._known[task.uid]

    def required_apart(self, task: Task) -> tuple[Term, ...]:
        return self.of(task).apart

    def leanings(self, task: Task) -> tuple[Leaning, ...]:
        return self.of(task).leanings

    def _read(self, task: Task) -> Terms:
        affinity = task.pod.spec.affinity
        near, apart = (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else (None, None)
        leanings: list[Leaning] = []
        for wish, sign in ((near, 1), (apart, -1)):
            leanings += [
                (self._term(task, one.pod_affinity_term), sign * one.weight)
                for one in (wish.preferred if wish else ())
            ]
        return Terms(
            near=tuple(self._term(task, term) for term in (near.required if near else ())),
            apart=tuple(self._term(task, term) for term in (apart.required if apart else ())),
            leanings=tuple(leanings),
        )

    def _term(self, task: Task, term: PodAffinityTerm) -> Term:
        labels = task.pod.metadata.labels
        requirements = requirements_of(term.label_selector)
        requirements = with_own_labels(requirements, labels, term.match_label_keys)
        requirements = with_own_labels(requirements, labels, term.mismatch_label_keys, "NotIn")
        return Term(term.topology_key, PodSelection(requirements, self._namespaces(task, term)))

    def _namespaces(self, task: Task, term: PodAffinityTerm) -> frozenset[str] | None:
        """Those that are listed and those that are selected; the owner's own where neither is said."""
        if term.namespace_selector is None:
            return frozenset(term.namespaces or (task.namespace,))
        wanted = requirements_of(term.namespace_selector)
        if not wanted:
            return None
        selected = {name for name, labels in self._labels_of_namespace.items() if are_met(wanted, labels)}
        return frozenset(selected.union(term.namespaces))


class Addressed(Generic[Thing]):
    """Which terms that pods on nodes carry are about a class of tasks; kept as new terms turn up."""

    def __init__(self, session: Session, tally: Tally[Thing], term_in: Callable[[Thing], Term]) -> None:
        self._session = session
        self._tally = tally
        self._term_in = term_in
        self._found: OrderedDict[Hashable, tuple[int, list[tuple[Thing, Counts]]]] = OrderedDict()

    def to(self, task: Task) -> Iterable[tuple[Thing, Counts]]:
        """Every such term, with how often the pods of each node carry it, live."""
        things = self._tally.things
        if not things:
            return ()
        key = self._session.scoring.key_of(task)
        seen, found = self._found.get(key, (0, []))
        if seen < len(things):
            found += [
                (thing, self._tally.counts(thing))
                for thing in things[seen:]
                if self._term_in(thing).pods.takes(task)
            ]
            self._found[key] = (len(things), found)
            if len(self._found) > MOST_CLASSES_KEPT:
                self._found.popitem(last=False)
        return found


class RequiredTerms(msgspec.Struct, frozen=True, eq=False):
    """A class's required terms, ready to be compared with what is on the nodes."""

    near: tuple[LabelColumn, ...]
    company: Counts | None
    """Pods per node that match all `near` terms at once, live."""
    is_own_company: bool
    apart: tuple[tuple[LabelColumn, Counts], ...]


class PodAffinityFilter:
    """Answers for all nodes at once, from live counts."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._reader = TermReader(session)
        self._wishes = ClassMemory(session, self._wishes_of)
        with_affinity = session.tasks.having(has_pod_affinity)
        tally = session.pods.tally("required anti-affinity", self._reader.required_apart, with_affinity)
        self._repelling = Addressed(session, tally, _itself)
        self._frozen = nodes_hosting(session, filter(self._reader.required_apart, with_affinity))
        self._any_frozen = bool(self._frozen.any())
        self._unconcerned: set[str] = set()

    def prepare(self, task: Task) -> None:
        """Mark a task that nothing concerns.

        As in Volcano, the mark stays for the session, even if pods that repel the task arrive later.
        """
        terms = self._reader.of(task)
        if not terms.near and not terms.apart and not self._repellers(task):
            self._unconcerned.add(task.uid)

    def refusals(self, task: Task) -> list[Refusal]:
        if task.uid in self._unconcerned:
            return []
        wishes = self._wishes.of(task)
        judged = (
            (LACKS_COMPANY, Code.UNRESOLVABLE, without_company(wishes)),
            (MEETS_FOES, Code.UNSCHEDULABLE, with_any(wishes.apart)),
            (IS_REPELLED, Code.UNSCHEDULABLE, with_any(self._repellers(task))),
        )
        refusals: list[Refusal] = []
        undecided = np.ones(len(self._session.nodes), dtype=np.bool_)
        for reason, code, nodes in judged:
            if nodes is not None and (refused := nodes & undecided).any():
                refusals.append(Refusal(reason, refused, code, plain=PLAIN[reason]))
                undecided &= ~refused
        return refusals

    def _wishes_of(self, task: Task) -> RequiredTerms:
        terms, labels, pods = self._reader.of(task), self._session.nodes.labels, self._session.pods
        near = terms.near

        def matches_all(other: Task) -> int:
            return int(all(term.pods.takes(other) for term in near))

        return RequiredTerms(
            near=tuple(labels.column(term.topology_key) for term in near),
            company=pods.counter(("all of", near), matches_all, label=near[0].pods.telling_label)
            if near
            else None,
            is_own_company=bool(near) and bool(matches_all(task)),
            apart=tuple((labels.column(term.topology_key), term.pods.count(pods)) for term in terms.apart),
        )

    def _repellers(self, task: Task) -> list[tuple[LabelColumn, Counts]]:
        """Per node label, how many terms of pods on the frozen list are about the task, where any are."""
        if not self._any_frozen:
            return []
        labels = self._session.nodes.labels
        by_key: dict[str, Counts] = {}
        for term, counts in self._repelling.to(task):
            known = by_key.get(term.topology_key)
            by_key[term.topology_key] = counts if known is None else known + counts
        repellers = []
        for key, counts in by_key.items():
            column = labels.column(key)
            counted = np.where(self._frozen & column.present, counts, 0)
            if counted.any():
                repellers.append((column, counted))
        return repellers


def _itself(term: Term) -> Term:
    return term


def without_company(wishes: RequiredTerms) -> Mask | None:
    """Nodes that lack a label of the required terms, or a matching pod in the same place; -> (N,)

    Where no matching pod is anywhere, the first of a group that wants to be together may start it.
    """
    if wishes.company is None:
        return None
    nearby = [column.pooled(wishes.company) for column in wishes.near]
    if wishes.is_own_company and not any(counts.any() for counts in nearby):
        return ~all_of([column.present for column in wishes.near])
    # A node without the label pools nothing, so that it lacks company as well.
    return any_of([counts <= 0 for counts in nearby])


def with_any(unwanted: Sequence[tuple[LabelColumn, Counts]]) -> Mask | None:
    """Nodes that share a place with at least one unwanted pod; -> (N,)"""
    if not unwanted:
        return None
    return any_of([column.pooled(counts) > 0 for column, counts in unwanted])
