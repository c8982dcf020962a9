"""predicates with enablePredicate: false: volumes are reserved by what was not asked; nothing is placed."""

from __future__ import annotations

import pytest

from hekla.conf import read_conf
from hekla.scheduler.builtin import BUILTIN
from hekla.testing import Story, job, node

CONF = """
actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates, enablePredicate: false, arguments: {predicate.VolumeBindingEnable: %s}}]
"""
BLIND, SEEING = CONF % "true", CONF % "false"
ROOM = [node("n1", cpu=40)]


STORIES = [
    Story("one task is not placed", nodes=ROOM, jobs=[job("a", cpu=1)], conf=BLIND, expect={"a": "pending"}),
    Story(
        "nor are many at once",
        nodes=ROOM,
        jobs=[job("a", tasks=30, cpu=1)],
        conf=BLIND,
        expect={"a": "pending"},
    ),
    Story("nor is one of no size", nodes=ROOM, jobs=[job("a")], conf=BLIND, expect={"a": "pending"}),
    Story(
        "no pod is evicted for a task that would not be placed",
        nodes=[node("n1", cpu=4)],
        jobs=[
            job("low", cpu=4, running={"n1": 1}, min_available=0),
            job("high", cpu=4, priority=10),
        ],
        conf=BLIND,
        expect={"low": "running", "high": "pending"},
    ),
    Story(
        "without volume binding everything is placed",
        nodes=ROOM,
        jobs=[job("a", tasks=30, cpu=1)],
        conf=SEEING,
        expect={"a": {"n1": 30}},
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_predicates_that_are_switched_off(story: Story) -> None:
    assert story.play() == story.expect


@pytest.mark.parametrize(("text", "count"), [(BLIND, 1), (SEEING, 0)])
def test_it_is_told(text: str, count: int) -> None:
    _, mistakes = read_conf(text, "conf.yaml", BUILTIN.catalogue())
    assert sum("predicate.VolumeBindingEnable: false" in mistake.message for mistake in mistakes) == count
