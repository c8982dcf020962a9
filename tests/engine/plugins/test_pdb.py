"""Pdb: no pod is evicted beyond what a PodDisruptionBudget allows."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from hekla.engine.framework import points
from hekla.engine.plugins.pdb import Pdb
from hekla.objects import LabelSelector, ObjectMeta, PodDisruptionBudget
from hekla.objects.storage import PodDisruptionBudgetSpec, PodDisruptionBudgetStatus
from hekla.testing import Story, check_plugin, job, node, plugin, pod, session_of

WEB = {"app": "web"}


def budget(
    allowed: int,
    labels: dict[str, str] | None = None,
    *,
    name: str = "budget",
    namespace: str = "default",
    disrupted: tuple[str, ...] = (),
) -> PodDisruptionBudget:
    selector = None if labels is None else LabelSelector(match_labels=labels)
    return PodDisruptionBudget(
        metadata=ObjectMeta(name=name, namespace=namespace),
        spec=PodDisruptionBudgetSpec(selector=selector),
        status=PodDisruptionBudgetStatus(
            disruptions_allowed=allowed, disrupted_pods=dict.fromkeys(disrupted, "2026-01-01T00:00:00Z")
        ),
    )


@dataclass
class Case:
    """Pods with their labels, in the order they are looked at, and who of them may go."""

    title: str
    budgets: list[PodDisruptionBudget]
    pods: dict[str, dict[str, str]]
    expect: list[str]
    namespaces: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.title


CASES = [
    Case(
        "a budget of one lets one of its pods go, strangers go free, and pods without labels stay",
        [budget(1, WEB)],
        {"p1": WEB, "p2": WEB, "p3": {"app": "db"}, "p4": {}},
        ["p1", "p3"],
    ),
    Case("a budget that is used up lets no pod go", [budget(0, WEB)], {"p1": WEB, "p2": WEB}, []),
    Case("without budgets every pod with labels may go", [], {"p1": WEB, "p2": {}}, ["p1"]),
    Case("an empty selector is no pod's budget", [budget(0, {})], {"p1": WEB}, ["p1"]),
    Case("no selector is no pod's budget", [budget(0)], {"p1": WEB}, ["p1"]),
    Case(
        "a pod under disruption was counted already",
        [budget(1, WEB, disrupted=("p1",))],
        {"p1": WEB, "p2": WEB, "p3": WEB},
        ["p1", "p2"],
    ),
    Case(
        "a pod that one budget holds back uses up its other budgets",
        [budget(0, {"tier": "front"}, name="none"), budget(1, WEB, name="one")],
        {"p1": {**WEB, "tier": "front"}, "p2": WEB},
        [],
    ),
    Case(
        "a budget counts in its own namespace only, even where another has the same name",
        [budget(0, WEB, namespace="other"), budget(1, WEB)],
        {"p1": WEB, "p2": WEB, "p3": WEB},
        ["p1"],
        {"p3": "other"},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_pdb(case: Case) -> None:
    pods = [
        pod(name, on="n1", labels=labels, namespace=case.namespaces.get(name, "default"))
        for name, labels in case.pods.items()
    ]
    session = session_of(node("n1"), *case.budgets, *pods, pod("new"), tiers=("pdb",), plugins=[Pdb])
    initiator = next(task for task in session.tasks if task.name == "new")
    candidates = [next(task for task in session.tasks if task.name == name) for name in case.pods]
    for _ in range(2):
        assert [task.name for task in session.preemptable(initiator, candidates)] == case.expect
        assert [task.name for task in session.reclaimable(initiator, candidates)] == case.expect
    assert [task.name for task in session.ask(points.VICTIM_TASKS, candidates)] == case.expect
    assert not session.has_answer(points.UNIFIED_EVICTABLE)


def test_preempt_evicts_only_whom_a_budget_lets_go() -> None:
    story = Story(
        "preempt",
        nodes=[node("n1", cpu=2)],
        jobs=[
            job("web", tasks=2, cpu=1, min_available=0, running={"n1": 2}, labels=WEB, priority=1),
            job("vital", tasks=2, cpu=1, min_available=1, priority=10),
        ],
        objects=[budget(1, WEB)],
        actions="preempt",
        tiers=(["priority", plugin("gang", enablePreemptable=False), "pdb"], ["predicates"]),
        plugins=[Pdb],
    )
    assert story.play() == {"web": {"evicted": ["web-0"]}, "vital": {"pipelined": {"n1": 1}}}


def test_pdb_keeps_the_contract_of_plugins() -> None:
    check_plugin(Pdb)
