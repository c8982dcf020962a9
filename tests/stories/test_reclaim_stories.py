"""Reclaim: queues that hold more than their part give it back to others that starve."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hekla.testing import Story, job, node, plugin, queue

ANY_VICTIM = ("priority, conformance",)
FAIR = (["priority", "gang", "conformance", "proportion"],)


def borrower(**changes: object) -> object:
    """A job of q2 that fills a node of two cores."""
    shape = {"tasks": 2, "cpu": 1, "min_available": 1, "running": {"n1": 2}, "queue": "q2", **changes}
    return job("b", **shape)


def starving(**changes: object) -> object:
    return job("a", **{"tasks": 1, "cpu": 1, "queue": "q1", **changes})


def clash(tiers: object, expect: object, *, owner: object = None, taker: object = None) -> dict[str, object]:
    """q1 starves beside q2, which holds the only node."""
    return {
        "nodes": [node("n1", cpu=2)],
        "jobs": [owner or borrower(), taker or starving()],
        "tiers": tiers,
        "expect": expect,
    }


GIVEN_BACK = {"b": {"evicted": ["b-1"]}, "a": {"pipelined": {"n1": 1}}}
UNTOUCHED = {"b": "running", "a": "pending"}

STORIES = [
    Story(
        "run alone, reclaim passes over an empty node and evicts on a full one",
        nodes=[node("n1", cpu=4), node("n2", cpu=2)],
        jobs=[borrower(running={"n2": 2}), starving()],
        tiers=ANY_VICTIM,
        expect={"b": {"evicted": ["b-1"]}, "a": {"pipelined": {"n2": 1}}},
    ),
    Story(
        "after allocate there is nothing to reclaim: the empty node was taken first",
        nodes=[node("n1", cpu=4), node("n2", cpu=2)],
        jobs=[borrower(running={"n2": 2}), starving()],
        actions="allocate, reclaim",
        tiers=ANY_VICTIM,
        expect={"b": "running", "a": {"n1": 1}},
    ),
    Story("a borrowing queue gives back one task", **clash(ANY_VICTIM, GIVEN_BACK)),
    Story(
        "a queue keeps what it deserves: weights two to one leave it its two cores",
        nodes=[node("n1", cpu=3)],
        queues=[queue("q1", weight=1), queue("q2", weight=2)],
        jobs=[
            borrower(tasks=2),
            starving(tasks=2, min_available=2),
        ],
        tiers=FAIR,
        expect=UNTOUCHED,
    ),
    Story(
        "a queue above its part gives back down to it",
        nodes=[node("n1", cpu=4)],
        queues=[queue("q1"), queue("q2")],
        jobs=[
            borrower(tasks=4, running={"n1": 4}),
            starving(tasks=2),
        ],
        tiers=FAIR,
        expect={"b": {"evicted": ["b-0", "b-1"]}, "a": {"pipelined": {"n1": 2}}},
    ),
    Story(
        "a gang is not broken for it",
        **clash(FAIR, UNTOUCHED, owner=borrower(min_available=2)),
    ),
    Story(
        "a bound task is not reclaimed, only running ones are",
        **clash(ANY_VICTIM, UNTOUCHED, owner=borrower(running=None, bound={"n1": 2})),
    ),
    Story(
        "a task that says it is not preemptable stays",
        **clash(ANY_VICTIM, UNTOUCHED, owner=borrower(preemptable=False)),
    ),
    Story(
        "a task with policy Never reclaims nothing",
        **clash(ANY_VICTIM, UNTOUCHED, taker=starving(preemption_policy="Never")),
    ),
    Story(
        "priority does not matter between queues",
        **clash(ANY_VICTIM, GIVEN_BACK, owner=borrower(priority=9), taker=starving(priority=1)),
    ),
    Story(
        "tasks of the own queue are not reclaimed",
        **clash(ANY_VICTIM, UNTOUCHED, owner=borrower(queue="q1")),
    ),
    Story(
        "a gang that cannot be completed evicts no task",
        **clash((*ANY_VICTIM[:0], "priority, gang, conformance"), UNTOUCHED, taker=starving(tasks=3)),
    ),
    Story(
        "a queue that lends nothing back is left alone",
        nodes=[node("n1", cpu=2)],
        queues=[queue("q1"), queue("q2", reclaimable=False)],
        jobs=[borrower(), starving()],
        tiers=ANY_VICTIM,
        expect=UNTOUCHED,
    ),
    Story(
        "a queue that has all it deserves may not reclaim",
        nodes=[node("n1", cpu=2), node("n2", cpu=2)],
        queues=[queue("q1", capability={"cpu": 2}), queue("q2")],
        jobs=[
            job("old", tasks=2, cpu=1, running={"n2": 2}, queue="q1"),
            borrower(),
            starving(),
        ],
        tiers=(["priority", "conformance", "proportion"],),
        expect={"old": "running", **UNTOUCHED},
    ),
    Story(
        "with hierarchical shares the richer department gives back",
        nodes=[node("n1", cpu=2)],
        queues=[
            queue("q1", hierarchy="root/eng", hierarchy_weights="1/1"),
            queue("q2", hierarchy="root/sci", hierarchy_weights="1/1"),
        ],
        jobs=[borrower(), starving()],
        tiers=("priority, conformance", [plugin("drf", enableHierarchy=True)]),
        expect=GIVEN_BACK,
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_reclaim(story: Story) -> None:
    actions = story.actions if "reclaim" in story.actions else "reclaim"
    assert replace(story, actions=actions).play() == story.expect
