"""Shuffle: running tasks that plugins would rather see elsewhere are evicted."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hekla.engine.framework.decisions import Evict
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import VICTIM_TASKS, answers
from hekla.engine.model.task import Task
from hekla.objects.keys import EVICTION_REFUSED
from hekla.testing import Story, job, node, plugin, pod


class Mover(Plugin):
    """Names the tasks on one node."""

    name = "mover"
    node_to_empty = "n1"

    @answers(VICTIM_TASKS)
    def tasks_on_the_node(self, running: Sequence[Task]) -> list[Task]:
        return [task for task in running if task.node_name == self.node_to_empty]


class Stubborn(Mover):
    """Goes by the pods on a node, whatever it is offered."""

    name = "stubborn"

    @answers(VICTIM_TASKS)
    def tasks_on_the_node(self, running: Sequence[Task]) -> list[Task]:
        row = self.session.nodes.row_of[self.node_to_empty]
        return list(self.session.nodes.tasks_on[row].values())


class GhostMover(Mover):
    name = "ghost-mover"
    node_to_empty = "ghost"


class OtherMover(Mover):
    name = "other-mover"
    node_to_empty = "n2"


SPREAD = {
    "nodes": [node("n1"), node("n2"), node("n3")],
    "jobs": [
        job("a", tasks=3, cpu=1, running={"n1": 1, "n2": 1, "n3": 1}),
        job("b", tasks=2, cpu=1, running={"n1": 1}, bound={"n1": 1}, preemptable=False),
    ],
    "actions": "shuffle",
    "plugins": [Mover, OtherMover, Stubborn],
}
RESPECTFUL = {"shuffle": {"respectPreemptable": True}}
CLOSED = {"tdm.revocable-zone.rz1": "03:00-04:00"}
"""A zone that is lent for one hour of the night."""

STORIES = [
    Story(
        "every running task that is named goes, preemptable or not; a bound one is not running",
        **SPREAD,
        tiers=["mover"],
        expect={"a": {"evicted": ["a-0"]}, "b": {"evicted": ["b-0"]}},
    ),
    Story(
        "on request pods that are not preemptable are offered to no plugin",
        **SPREAD,
        tiers=["mover"],
        configurations=RESPECTFUL,
        expect={"a": {"evicted": ["a-0"]}, "b": "running"},
    ),
    Story(
        "nor are they evicted where a plugin names them all the same",
        **SPREAD,
        tiers=["stubborn"],
        configurations=RESPECTFUL,
        expect={"a": {"evicted": ["a-0"]}, "b": "running"},
    ),
    Story(
        "a label protects as an annotation does",
        nodes=[node("n1")],
        jobs=[job("a", cpu=1, running={"n1": 1}, labels={"volcano.sh/preemptable": "false"})],
        actions="shuffle",
        plugins=[Mover],
        tiers=["mover"],
        configurations=RESPECTFUL,
        expect={"a": "running"},
    ),
    Story(
        "a pod that the API server did not let go is left alone for now, whatever is configured",
        nodes=[node("n1")],
        jobs=[job("a", cpu=1, running={"n1": 1}, annotations={EVICTION_REFUSED: "true"})],
        actions="shuffle",
        plugins=[Mover, Stubborn],
        tiers=["mover, stubborn"],
        expect={"a": "running"},
    ),
    Story(
        "tdm spares them in any case",
        nodes=[node("n1", labels={"volcano.sh/revocable-zone": "rz1"})],
        jobs=[
            job("a", cpu=1, running={"n1": 1}),
            job("b", cpu=1, running={"n1": 1}, preemptable=False),
        ],
        actions="shuffle",
        tiers=[[plugin("tdm", CLOSED)]],
        expect={"a": {"evicted": ["a-0"]}, "b": "running"},
    ),
    Story(
        "plugins of one tier name victims together",
        **SPREAD,
        tiers=["mover, other-mover"],
        expect={"a": {"evicted": ["a-0", "a-1"]}, "b": {"evicted": ["b-0"]}},
    ),
    Story(
        "the first tier that names a pod decides alone",
        **SPREAD,
        tiers=["other-mover", "mover"],
        expect={"a": {"evicted": ["a-1"]}, "b": "running"},
    ),
    Story(
        "a plugin whose switch is off names no pod",
        **SPREAD,
        tiers=[[plugin("mover", enabledVictim=False)]],
        expect={"a": "running", "b": "running"},
    ),
    Story(
        "without such a plugin nothing moves",
        **SPREAD,
        tiers=["gang"],
        expect={"a": "running", "b": "running"},
    ),
    Story(
        "a task evicted on an unknown node makes no room on the nodes that are known",
        nodes=[node("n1", cpu=2)],
        jobs=[
            pod("busy", on="n1", cpu=2),
            job("lost", cpu=2, running={"ghost": 1}),
            job("waits", cpu=2),
        ],
        actions="shuffle, allocate",
        plugins=[GhostMover],
        tiers=["gang, ghost-mover"],
        expect={"lost": {"evicted": ["lost-0"]}, "waits": "pending"},
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_shuffle(story: Story) -> None:
    assert story.play() == story.expect


def test_an_eviction_names_the_plugins_that_asked_for_it_as_its_reason() -> None:
    story = Story("two plugins name a task", **SPREAD, tiers=[["mover", "stubborn"]], expect={})
    evictions = [one for one in story.cycle().decisions if isinstance(one, Evict)]
    assert {one.reason for one in evictions} == {"shuffle: mover, stubborn"}
    assert {one.beneficiary for one in evictions} == {""}
