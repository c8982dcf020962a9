"""Allocate: idle resources go to waiting jobs, whole gangs or nothing."""

from __future__ import annotations

import pytest

from hekla.engine.framework.decisions import Tell
from hekla.testing import PodRole, Story, job, node, pod, queue

GANG = ("priority, gang",)
QUEUES = ("priority, gang", "proportion")
ONLY = "allocate"


def worker(name: str, **shape: float) -> object:
    return pod(name, job="a", role="w", **shape)


STORIES = [
    Story(
        "a gang that fits is placed whole",
        nodes=[node("n1", cpu=2), node("n2", cpu=2)],
        jobs=[job("train", tasks=4, cpu=1)],
        expect={"train": {"n1": 2, "n2": 2}},
    ),
    Story(
        "a gang that is one core short takes nothing, and a smaller job goes ahead",
        nodes=[node("n1", cpu=2), node("n2", cpu=1)],
        jobs=[job("train", tasks=4, cpu=1), job("zip", tasks=1, cpu=1)],
        tiers=GANG,
        expect={"train": "pending", "zip": {"n1": 1}},
    ),
    Story(
        "an elastic job starts with its minimum and grows as far as it fits",
        nodes=[node("n1", cpu=2)],
        jobs=[job("grow", tasks=3, cpu=1, min_available=1)],
        tiers=GANG,
        expect={"grow": {"n1": 2}},
    ),
    Story(
        "an elastic job that already runs gets one task more",
        nodes=[node("n1", cpu=2)],
        jobs=[job("grow", tasks=3, cpu=1, min_available=1, running={"n1": 1})],
        tiers=GANG,
        expect={"grow": {"n1": 1}},
    ),
    Story(
        "a task too large for any node does not keep the smaller ones of an elastic job back",
        nodes=[node("n1", cpu=2)],
        jobs=[
            job("a", tasks=0, min_available=1),
            pod("a-0", job="a", cpu=3),
            pod("a-1", job="a", cpu=1),
        ],
        tiers=GANG,
        expect={"a": {"n1": 1}},
    ),
    Story(
        "a gang that waits for a leaving pod holds its place, binds nothing, and shuts others out",
        nodes=[node("n1", cpu=2, pods=10)],
        jobs=[
            pod("old", on="n1", is_leaving=True, cpu=1),
            job("a", tasks=2, cpu=1),
            job("b", tasks=1, best_effort=1, cpu=1, min_available=1),
        ],
        actions="allocate, backfill",
        tiers=GANG,
        expect={"a": {"held": {"n1": 1}, "pipelined": {"n1": 1}}, "b": {"n1": 1}},
    ),
    Story(
        "a job that only waits for a leaving pod is promised its place",
        nodes=[node("n1", cpu=1)],
        jobs=[pod("old", on="n1", is_leaving=True, cpu=1), job("a", tasks=1, cpu=1)],
        tiers=GANG,
        expect={"a": {"pipelined": {"n1": 1}}},
    ),
    Story(
        "a node that is free now beats one that will be free later",
        nodes=[node("n1", cpu=1), node("n2", cpu=1)],
        jobs=[pod("old", on="n1", is_leaving=True, cpu=1), job("a", tasks=1, cpu=1)],
        tiers=GANG,
        expect={"a": {"n2": 1}},
    ),
    Story(
        "what a failed gang had taken is free for the next job at once",
        nodes=[node("n1", cpu=2)],
        jobs=[job("a", tasks=3, cpu=1), job("b", tasks=2, cpu=1)],
        tiers=GANG,
        expect={"a": "pending", "b": {"n1": 2}},
    ),
    Story(
        "a gang with fewer pods than its minimum is not tried",
        nodes=[node("n1", cpu=8)],
        jobs=[job("half", tasks=2, cpu=1, min_available=3)],
        tiers=GANG,
        expect={"half": "pending"},
    ),
    Story(
        "without gang every task is bound as soon as it fits",
        nodes=[node("n1", cpu=2)],
        jobs=[job("train", tasks=4, cpu=1)],
        tiers=("priority",),
        expect={"train": {"n1": 2}},
    ),
    Story(
        "a job that is not admitted waits, where enqueue is part of the cycle",
        nodes=[node("n1", cpu=2)],
        jobs=[job("new", tasks=1, cpu=1, phase="Pending", min_resources={"cpu": 9})],
        tiers=("gang, proportion",),
        expect={"new": "pending"},
    ),
    Story(
        "where enqueue is not part of the cycle, allocate admits jobs itself",
        nodes=[node("n1", cpu=2)],
        jobs=[job("new", tasks=1, cpu=1, phase="Pending", min_resources={"cpu": 9})],
        actions=ONLY,
        tiers=("gang, proportion",),
        expect={"new": {"n1": 1}},
    ),
    Story(
        "a gated task is left alone, and so is one behind the queue's own gate",
        nodes=[node("n1", cpu=4)],
        jobs=[
            job("foreign", tasks=1, cpu=1, gates=["example.com/wait"]),
            job("own", tasks=1, cpu=1, gates=["scheduling.volcano.sh/queue-allocation-gate"]),
        ],
        tiers=GANG,
        expect={"foreign": "pending", "own": "pending"},
    ),
    Story(
        "once a role has found no node, its other tasks are not tried, even smaller ones",
        nodes=[node("n1", cpu=2)],
        jobs=[job("a", tasks=0, min_available=1), worker("a-w-0", cpu=3), worker("a-w-1", cpu=1)],
        tiers=GANG,
        expect={"a": "pending"},
    ),
    Story(
        "a node that refused one task of a role is not asked again for the next",
        nodes=[node("n1", cpu=1), node("n2", cpu=4)],
        jobs=[job("a", tasks=0, min_available=2), worker("a-w-0", cpu=2), worker("a-w-1", cpu=1)],
        tiers=GANG,
        expect={"a": {"n2": 2}},
    ),
    Story(
        "with the error cache off every node is asked for every task",
        nodes=[node("n1", cpu=1), node("n2", cpu=4)],
        jobs=[job("a", tasks=0, min_available=2), worker("a-w-0", cpu=2), worker("a-w-1", cpu=1)],
        tiers=GANG,
        configurations={"allocate": {"predicateErrorCacheEnable": False}},
        expect={"a": {"n1": 1, "n2": 1}},
    ),
    Story(
        "a task goes to the node it was promised, although another comes first",
        nodes=[node("n1", cpu=2), node("n2", cpu=2)],
        jobs=[job("a", tasks=1, cpu=1, nominated="n2")],
        tiers=GANG,
        expect={"a": {"n2": 1}},
    ),
    Story(
        "a promise that no longer holds is forgotten",
        nodes=[node("n1", cpu=2), node("n2", cpu=2)],
        jobs=[pod("late", on="n2", cpu=2), job("a", tasks=1, cpu=1, nominated="n2")],
        tiers=GANG,
        expect={"a": {"n1": 1}},
    ),
    Story(
        "a node that takes no pods takes nothing",
        nodes=[node("n1", cpu=4, pods=0)],
        jobs=[job("a", tasks=1, cpu=1)],
        tiers=GANG,
        expect={"a": "pending"},
    ),
    Story(
        "pods count as a resource: the second task finds the node full",
        nodes=[node("n1", cpu=4, pods=1)],
        jobs=[job("a", tasks=2, cpu=1, min_available=1)],
        tiers=GANG,
        expect={"a": {"n1": 1}},
    ),
    Story(
        "without nodes every job waits",
        jobs=[job("a", tasks=2, cpu=1), job("b", best_effort=1, tasks=0)],
        expect={"a": "pending", "b": "pending"},
    ),
    Story(
        "queues take turns: after each job the one that has less of its share goes first",
        nodes=[node("n1", cpu=4)],
        queues=[queue("q1"), queue("q2")],
        jobs=[
            job("a1", tasks=1, cpu=2, queue="q1"),
            job("a2", tasks=1, cpu=2, queue="q1"),
            job("b1", tasks=1, cpu=2, queue="q2"),
            job("b2", tasks=1, cpu=2, queue="q2"),
        ],
        tiers=QUEUES,
        expect={"a1": {"n1": 1}, "a2": "pending", "b1": {"n1": 1}, "b2": "pending"},
    ),
    Story(
        "a queue that holds all it deserves gets nothing more",
        nodes=[node("n1", cpu=4)],
        queues=[queue("q1"), queue("q2")],
        jobs=[
            job("old", tasks=3, cpu=1, min_available=1, running={"n1": 3}, queue="q1"),
            job("more", tasks=1, cpu=1, queue="q1"),
            job("rival", tasks=2, cpu=2, queue="q2", min_available=2),
        ],
        tiers=QUEUES,
        expect={"old": "running", "more": "pending", "rival": "pending"},
    ),
    Story(
        "a role's minimum counts: a gang without its server does not start",
        nodes=[node("n1", cpu=4)],
        jobs=[
            job(
                "train",
                roles=[PodRole("ps", 1, 1, {"cpu": 8}), PodRole("worker", 3, 1, {"cpu": 1})],
                min_available=2,
            )
        ],
        tiers=GANG,
        expect={"train": "pending"},
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_allocate(story: Story) -> None:
    assert story.play() == story.expect


def test_the_tasks_of_a_failed_gang_learn_how_far_they_got() -> None:
    story = Story(
        "a gang of three on two cores",
        nodes=[node("n1", cpu=2)],
        jobs=[job("a", tasks=3, cpu=1), job("b", tasks=1, cpu=1)],
        actions=ONLY,
        tiers=GANG,
    )
    told = {d.pod: d.reason for d in story.cycle().decisions if isinstance(d, Tell)}
    assert story.play() == {"a": "pending", "b": {"n1": 1}}
    assert told == {
        "default/a-0": "Schedulable",
        "default/a-1": "Schedulable",
        "default/a-2": "Unschedulable",
    }
