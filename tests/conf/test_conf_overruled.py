"""A warning that a plugin may be overruled is given where that can happen, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from types import SimpleNamespace
from typing import Any

import pytest

from hekla.conf import PRESETS, read_conf
from hekla.conf.questions import KNOWN, QUESTIONS
from hekla.conf.sense import EVICTIONS, overruled
from hekla.engine.framework.decisions import Evict
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import PREEMPTABLE, answers, declared
from hekla.engine.framework.rules import agreed_victims
from hekla.engine.model.task import Task
from hekla.engine.state.snapshot import take_snapshot
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import run_cycle
from hekla.testing import Story, job, node, queue

# The rule, against what the framework makes of any answers at all

TASKS = [SimpleNamespace(uid="x"), SimpleNamespace(uid="y")]
ANSWERS = ([], TASKS[:1], TASKS[1:], TASKS)
MOST_PLUGINS = 4

Layout = tuple[tuple[str, ...], ...]
"""Plugins by tier; one whose name begins with "all" names every candidate."""


def layouts() -> Iterator[Layout]:
    for count in range(1, MOST_PLUGINS + 1):
        for kinds in product(("some", "all"), repeat=count):
            names = [f"{kind}-{at}" for at, kind in enumerate(kinds)]
            for cuts in product((False, True), repeat=count - 1):
                edges = [0, *(at for at, is_cut in enumerate(cuts, 1) if is_cut), count]
                yield tuple(tuple(names[left:right]) for left, right in pairwise(edges))


def can_be_overruled(layout: Layout) -> set[str]:
    """The plugins for which there are answers by which a task is a victim that they did not name."""
    names = [name for tier in layout for name in tier]
    found: set[str] = set()
    for given in product(*(ANSWERS if name.startswith("some") else [TASKS] for name in names)):
        answer_of = dict(zip(names, given, strict=True))
        tiers = [[answering(answer_of[name]) for name in tier] for tier in layout]
        victims: list[Any] = agreed_victims(tiers)(None, TASKS)  # type: ignore[arg-type]
        found |= {name for name in names if any(task not in answer_of[name] for task in victims)}
    return found


def answering(named: Sequence[Any]) -> Callable[[object, object], Sequence[Any]]:
    return lambda _initiator, _candidates: named


def test_plugins_are_said_to_be_overruled_where_some_answers_overrule_them() -> None:
    for layout in layouts():
        naming_all = {name for tier in layout for name in tier if name.startswith("all")}
        assert set(overruled(layout, naming_all)) == can_be_overruled(layout), layout


# The rule, against whole cycles

DNS = {"namespace": "kube-system", "priority": 1}
CLUSTERS = {
    "only system pods": [
        node("n1", cpu=2),
        job("dns", **DNS, running={"n1": 1}, cpu=2),
        job("high", priority=9, cpu=2),
    ],
    "system pods with some to spare": [
        node("n1", cpu=10),
        job("dns", **DNS, tasks=2, min_available=1, running={"n1": 2}, cpu=5),
        job("high", priority=9, cpu=2),
    ],
    "system pods beside a job of the same priority": [
        node("n1", cpu=3),
        job("dns", **DNS, tasks=2, min_available=1, running={"n1": 2}, cpu=1),
        job("same", priority=9, running={"n1": 1}, cpu=1),
        job("high", priority=9, cpu=1),
    ],
    "system pods at their minimum beside a job of the same priority": [
        node("n1", cpu=3),
        job("dns", **DNS, running={"n1": 1}, cpu=1),
        job("same", priority=9, tasks=2, min_available=1, running={"n1": 2}, cpu=1),
        job("high", priority=9, cpu=1),
    ],
    "a job of the same priority with some to spare": [
        node("n1", cpu=10),
        job("same", priority=9, tasks=2, min_available=1, running={"n1": 2}, cpu=5),
        job("high", priority=9, cpu=2),
    ],
    "the same beside a less important gang": [
        node("n1", cpu=3),
        job("low", priority=1, running={"n1": 1}, cpu=1),
        job("same", priority=9, tasks=2, min_available=1, running={"n1": 2}, cpu=1),
        job("high", priority=9, cpu=2),
    ],
    "a queue whose system pods another queue wants": [
        queue("a", reclaimable=True),
        queue("b"),
        node("n1", cpu=4),
        job("dns", queue="a", **DNS, tasks=2, min_available=1, running={"n1": 2}, cpu=2),
        job("high", queue="b", priority=9, cpu=2),
    ],
    "the same with a gang in the queue": [
        queue("a", reclaimable=True),
        queue("b", weight=9),
        node("n1", cpu=4),
        job("dns", queue="a", **DNS, tasks=2, min_available=1, running={"n1": 2}, cpu=1),
        job("gang", queue="a", priority=5, tasks=2, running={"n1": 2}, cpu=1),
        job("high", queue="b", priority=9, cpu=3),
    ],
}


def evicted_under(text: str) -> set[str]:
    """The jobs that lose pods in some of the clusters."""
    conf, _ = read_conf(text, catalogue=BUILTIN.catalogue())
    found: set[str] = set()
    for parts in CLUSTERS.values():
        jobs = [part for part in parts if hasattr(part, "objects")]
        others = [part for part in parts if not hasattr(part, "objects")]
        story = Story("", jobs=jobs, objects=others)
        report = run_cycle(take_snapshot(story.manifests()), conf)
        found |= {
            one.pod.partition("/")[2].rsplit("-", 1)[0] for one in report.decisions if isinstance(one, Evict)
        }
    return found


@dataclass(frozen=True)
class Layers:
    """An action and tiers, and the plugins of which a warning says that they may be overruled."""

    action: str
    tiers: tuple[str, ...]
    overruled: tuple[str, ...] = ()
    mode: str = ""

    def __str__(self) -> str:
        return f"{self.action}: {' | '.join(self.tiers)}{' (all)' if self.mode else ''}"

    @property
    def text(self) -> str:
        tiers = "".join(f"- plugins: [{tier}]\n" for tier in self.tiers)
        more = f"configurations: [{{name: {self.action}, arguments: {{victimMode: {self.mode}}}}}]\n"
        return f"actions: 'allocate, {self.action}'\ntiers:\n{tiers}{more if self.mode else ''}"


def plugins(*names: str) -> str:
    """A tier; a name with a minus has nothing to say of victims."""
    off = ", enablePreemptable: false, enableReclaimable: false"
    return ", ".join(f"{{name: {name.lstrip('-')}{off if name.startswith('-') else ''}}}" for name in names)


BOTH = ("conformance", "priority")
LAYERS = [
    Layers("preempt", (plugins("conformance"), plugins("priority", "-gang")), BOTH),
    Layers("preempt", (plugins("priority", "-gang"), plugins("conformance")), BOTH),
    Layers("preempt", (plugins("conformance", "priority", "-gang"), plugins("predicates"))),
    Layers("preempt", (plugins("priority", "conformance"), plugins("-drf", "-gang", "predicates"))),
    Layers("preempt", (plugins("priority", "conformance"), plugins("drf", "gang", "predicates")), BOTH),
    Layers("preempt", (plugins("priority", "conformance"), plugins("drf", "gang")), mode="intersectAll"),
    Layers("preempt", (plugins("priority", "gang", "conformance"),), ("priority",)),
    Layers("preempt", (plugins("priority", "gang", "conformance"),), mode="intersectAll"),
    Layers("preempt", (plugins("gang", "conformance", "priority"),), ("conformance",)),
    Layers("preempt", (plugins("priority", "conformance", "gang"),), BOTH),
    Layers("preempt", (plugins("conformance", "gang", "-priority"),)),
    Layers("reclaim", (plugins("gang", "conformance", "proportion"),), ("conformance",)),
    Layers("reclaim", (plugins("gang", "proportion", "conformance"),)),
    Layers("reclaim", (plugins("gang", "conformance", "proportion"),), mode="intersectAll"),
    Layers("reclaim", (plugins("gang", "conformance", "-proportion"),)),
    Layers("reclaim", (plugins("gang", "conformance"), plugins("proportion")), ("conformance",)),
    Layers("reclaim", (plugins("gang", "-conformance", "proportion"),)),
    Layers("gangpreempt", (plugins("priority", "gang", "conformance"),)),
    Layers("gangpreempt", (plugins("conformance"), plugins("priority", "gang")), ("conformance",)),
    Layers("gangpreempt", (plugins("conformance", "priority", "gang"),)),
    Layers("gangreclaim", (plugins("priority", "gang", "conformance"),)),
    Layers("gangreclaim", (plugins("conformance"), plugins("gang", "priority")), ("conformance",)),
]


@pytest.mark.parametrize("layers", LAYERS, ids=str)
def test_a_warning_is_given_where_an_example_can_be_built_and_nowhere_else(layers: Layers) -> None:
    _, mistakes = read_conf(layers.text, catalogue=BUILTIN.catalogue())
    told = [mistake.message for mistake in mistakes if " may evict pods that " in mistake.message]
    names = {name for name in BOTH for message in told if name in message.partition(": ")[0]}
    assert names == set(layers.overruled)
    evicted = evicted_under(layers.text)
    if "name: conformance, enable" not in layers.text:
        assert ("dns" in evicted) == ("conformance" in layers.overruled)
    if "name: priority}" in layers.text and "preempt" in layers.action:
        assert ("same" in evicted) == ("priority" in layers.overruled)


@pytest.mark.parametrize("name", PRESETS)
def test_under_a_preset_neither_system_pods_nor_equals_are_evicted(name: str) -> None:
    assert evicted_under(PRESETS[name].text) & {"dns", "same"} == set()


class Guard(Plugin):
    name = "guard"

    @answers(PREEMPTABLE)
    def none_of_mine(self, _preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        return [task for task in candidates if not task.name.startswith("mine")]


def test_a_plugin_from_elsewhere_is_known_by_the_points_that_it_answers() -> None:
    text = (
        "actions: 'allocate, preempt'\ntiers: [{plugins: [{name: guard}]}, {plugins: [{name: priority}]}]\n"
    )
    _, [mistake] = read_conf(text, catalogue=BUILTIN.with_class(Guard).catalogue())
    assert mistake.message.startswith("preempt may evict pods that guard and priority (")
    silent = text.replace("name: guard", "name: guard, enablePreemptable: false")
    assert read_conf(silent, catalogue=BUILTIN.with_class(Guard).catalogue())[1] == []


# What is said of plugins without asking them


def points_of(plugin: type[Plugin]) -> set[str]:
    return {point.name for _, point, _, _ in declared(plugin)}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.point)
def test_the_table_names_the_plugins_that_answer(question: Any) -> None:
    answering_it = {name for name, plugin in BUILTIN.plugins.items() if question.point in points_of(plugin)}
    assert set(question.plugins) == answering_it


def test_every_plugin_is_known_to_the_table() -> None:
    assert set(BUILTIN.plugins) == KNOWN


def test_every_action_that_asks_for_victims_is_in_the_table() -> None:
    assert {eviction.action for eviction in EVICTIONS} < set(BUILTIN.actions)
