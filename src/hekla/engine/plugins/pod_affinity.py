"""Pod affinity: whom a task wants near, and whom it wants apart, in terms that can be counted."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic

import numpy as np

from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Counts, Mask
from hekla.engine.ledger.tally import Tally, Thing
from hekla.engine.model.task import Task
from hekla.engine.plugins.class_memory import MOST_CLASSES_KEPT
from hekla.engine.plugins.pod_selection import PodSelection, are_met, requirements_of, with_own_labels
from hekla.objects import Namespace
from hekla.objects.pod import PodAffinityTerm


@dataclass(frozen=True)
class Term:
    """Pods, and the node label whose equal values count as one place."""

    topology_key: str
    pods: PodSelection


Leaning = tuple[Term, int]
"""A preferred term and its weight, which is negative where pods shall be apart."""


@dataclass(frozen=True)
class Terms:
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
