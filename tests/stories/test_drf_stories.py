"""Drf: the job with the smallest dominant share goes first."""

from __future__ import annotations

import math

import pytest

from hekla.engine.framework.points import JOB_ORDER
from hekla.engine.plugins.queues import largest_part
from hekla.testing import Story, job, node, session_of

STORIES = [
    Story(
        "the job that holds less goes first",
        nodes=[node("n1", cpu=4)],
        jobs=[
            job("rich", tasks=3, cpu=1, min_available=1, running={"n1": 2}),
            job("poor", tasks=3, cpu=1, min_available=1, running={"n1": 1}),
        ],
        tiers=("drf",),
        expect={"rich": "pending", "poor": {"n1": 1}},
    ),
    Story(
        "jobs catch up with each other task by task",
        nodes=[node("n1", cpu=5)],
        jobs=[
            job("a", tasks=4, cpu=1, min_available=1),
            job("b", tasks=4, cpu=1, min_available=1),
        ],
        tiers=("gang, drf",),
        expect={"a": {"n1": 3}, "b": {"n1": 2}},
    ),
    Story(
        "the dominant resource decides: little cpu and much memory is a lot",
        nodes=[node("n1", cpu=10, memory="10Gi")],
        jobs=[
            job("memory", tasks=2, cpu=1, memory="5Gi", min_available=1, running={"n1": 1}),
            job("cpu", tasks=2, cpu=4, memory="1Gi", min_available=1, running={"n1": 1}),
        ],
        tiers=("drf",),
        expect={"memory": "pending", "cpu": {"n1": 1}},
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_drf(story: Story) -> None:
    assert story.play() == story.expect


def test_the_dominant_share_is_the_largest_part_of_any_resource() -> None:
    assert largest_part([2000, 1 << 30, 2, 7], [10000.0, 20 << 30, 110.0, math.inf]) == 0.2


def test_victims_come_from_jobs_that_stay_at_least_as_rich() -> None:
    session = session_of(
        node("n1", cpu=10, memory="20Gi", pods=110),
        job("victim", tasks=4, cpu=1, running={"n1": 4}, min_available=1),
        job("mine", tasks=2, cpu=1, running={"n1": 1}, min_available=1),
        tiers=("drf",),
    )
    *candidates, _, preemptor = session.tasks
    assert [task.name for task in session.preemptable(preemptor, candidates)] == ["victim-0", "victim-1"]


def test_pods_are_one_of_the_resources() -> None:
    session = session_of(
        node("n1", cpu=100, pods=4), job("a", tasks=0, best_effort=2, running={"n1": 2}), tiers=("drf",)
    )
    assert session.ask(JOB_ORDER, session.jobs["default/a"]) == (0.5,)


def test_a_promised_task_counts_as_held_and_an_evicted_one_does_not() -> None:
    session = session_of(
        node("n1", cpu=4), job("a", tasks=2, cpu=1, running={"n1": 1}, min_available=1), tiers=("drf",)
    )
    a, (running, waiting) = session.jobs["default/a"], session.tasks
    with session.statement() as statement:
        statement.pipeline(waiting, 0)
        assert session.ask(JOB_ORDER, a) == (0.5,)
        statement.evict(running, "test")
        assert session.ask(JOB_ORDER, a) == (0.25,)
    assert session.ask(JOB_ORDER, a) == (0.25,)
