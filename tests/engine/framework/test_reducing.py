"""A plugin may normalise its node order scores over the nodes that are candidates."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest

from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import NODE_ORDER, NODE_ORDER_REDUCE, Point, Scope, answers
from hekla.engine.ledger.arrays import Floats, Mask, Rows
from hekla.engine.model.task import Task
from hekla.testing import Story, job, node, plugin


class Speed(Plugin):
    """Prefers fast nodes: the slowest candidate gets 0, the fastest 100."""

    name = "speed"

    @answers(NODE_ORDER, Scope.CLASS)
    def prefer_fast_nodes(self, task: Task) -> Floats:
        return np.array([float(node.labels.get("speed", "0")) for node in self.session.nodes.nodes])

    @answers(NODE_ORDER_REDUCE)
    def from_0_to_100(self, task: Task, scores: Floats, among: Mask) -> Floats:
        least, most = scores[among].min(), scores[among].max()
        return 100 * (scores - least) / max(most - least, 1)


class TwoOpinions(Speed):
    """Its row numbers count as well, and both are normalised together."""

    name = "two-opinions"

    @answers(NODE_ORDER, Scope.ROW)
    def prefer_late_nodes(self, task: Task, rows: Rows) -> Floats:
        return 1000.0 * np.arange(len(self.session.nodes))[rows]


class Undecided(Speed):
    """Is configured to have no scores, and would fail if it were asked to normalise them."""

    name = "undecided"

    def silent_on(self) -> Collection[Point]:
        return (NODE_ORDER,)

    @answers(NODE_ORDER_REDUCE)
    def from_0_to_100(self, task: Task, scores: Floats, among: Mask) -> Floats:
        raise AssertionError("there is nothing to normalise")


class FirstNode(Plugin):
    """Likes the first node, by 50."""

    name = "first-node"

    @answers(NODE_ORDER, Scope.CLASS)
    def prefer_the_first(self, task: Task) -> Floats:
        return np.where(np.arange(len(self.session.nodes)) == 0, 50.0, 0.0)


PLUGINS = (Speed, TwoOpinions, Undecided, FirstNode)
SLOW_AND_FAST = [node(name, cpu=2, labels={"speed": speed}) for name, speed in (("n1", "1"), ("n2", "2"))]
FASTEST_IS_SMALL = [*SLOW_AND_FAST, node("n3", cpu=1, labels={"speed": "100"})]
ONE = [job("one", tasks=1, cpu=2)]

STORIES = [
    Story(
        "a plugin's small differences count as much as it makes of them",
        nodes=SLOW_AND_FAST,
        jobs=ONE,
        tiers=["gang, predicates, first-node, speed"],
        expect={"one": {"n2": 1}},
    ),
    Story(
        "a node that is no candidate has no part in it",
        nodes=FASTEST_IS_SMALL,
        jobs=ONE,
        tiers=["gang, predicates, first-node, speed"],
        expect={"one": {"n2": 1}},
    ),
    Story(
        "all opinions of one plugin are normalised together",
        nodes=[node("n1", cpu=2, labels={"speed": "900"}), node("n2", cpu=2), node("n3", cpu=2)],
        jobs=ONE,
        tiers=["gang, predicates, first-node, two-opinions"],
        expect={"one": {"n3": 1}},
    ),
    Story(
        "those of other plugins are left as they are",
        nodes=SLOW_AND_FAST,
        jobs=ONE,
        tiers=["gang, predicates, first-node", [plugin("speed", enableNodeOrder=False)]],
        expect={"one": {"n1": 1}},
    ),
    Story(
        "a plugin that is silent on its scores has nothing to normalise",
        nodes=SLOW_AND_FAST,
        jobs=ONE,
        tiers=["gang, predicates, first-node, undecided"],
        expect={"one": {"n1": 1}},
    ),
    Story(
        "nor has one where preempt finds no node to rank",
        nodes=[node("n1", cpu=1, taints=["gpu=yes:NoSchedule"])],
        jobs=[job("one", tasks=1, cpu=1)],
        actions="allocate, preempt",
        tiers=["priority, gang, predicates, speed"],
        expect={"one": "pending"},
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_normalised_scores(story: Story) -> None:
    told = Story(**{**vars(story), "plugins": PLUGINS})
    assert told.play() == story.expect


@pytest.mark.parametrize(("switch", "expected"), [(True, False), (False, True)])
def test_nothing_is_foreseen_where_scores_are_normalised(switch: bool, expected: bool) -> None:
    tiers = ["gang, predicates, nodeorder", [plugin("speed", enableNodeOrder=switch)]]
    session = Story("", nodes=SLOW_AND_FAST, jobs=ONE, tiers=tiers, plugins=PLUGINS).session()
    assert session.scoring.is_foreseeable(session.tasks[0]) is expected
