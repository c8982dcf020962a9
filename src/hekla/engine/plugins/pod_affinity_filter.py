"""Required pod affinity: where a task would lack the company it needs, or meet company it must not.

Whom other pods repel is read from a list of nodes that is frozen when the session opens, as
in Volcano: a pod with anti-affinity that was placed a moment ago, on a node that had none
before, repels nobody yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Counts, Mask, all_of, any_of
from hekla.engine.ledger.labels import LabelColumn
from hekla.engine.model.diagnosis import Code, Refusal
from hekla.engine.model.task import Task
from hekla.engine.plugins.class_memory import ClassMemory
from hekla.engine.plugins.pod_affinity import Addressed, Term, TermReader, has_pod_affinity, nodes_hosting

LACKS_COMPANY = "node(s) didn't match pod affinity rules"
MEETS_FOES = "node(s) didn't match pod anti-affinity rules"
IS_REPELLED = "node(s) didn't satisfy existing pods anti-affinity rules"


@dataclass(frozen=True, eq=False)
class Wishes:
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

    def _wishes_of(self, task: Task) -> Wishes:
        terms, labels, pods = self._reader.of(task), self._session.nodes.labels, self._session.pods
        near = terms.near

        def matches_all(other: Task) -> int:
            return int(all(term.pods.takes(other) for term in near))

        return Wishes(
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


PLAIN = {
    LACKS_COMPANY: "no pod nearby that the task wants to be with",
    MEETS_FOES: "a pod nearby that the task must be apart from",
    IS_REPELLED: "a pod nearby that must be apart from the task",
}


def _itself(term: Term) -> Term:
    return term


def without_company(wishes: Wishes) -> Mask | None:
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
