"""Priority: what matters more goes first, and only what matters less may be evicted for it."""

from __future__ import annotations

import pytest

from hekla.testing import Story, job, node, plugin, priority_class, session_of

ONE_CORE = [node("n1", cpu=1)]

STORIES = [
    Story(
        "the more important job goes first, although it came later",
        nodes=ONE_CORE,
        jobs=[job("low", cpu=1, priority=1), job("high", cpu=1, priority=5)],
        tiers=("priority",),
        expect={"low": "pending", "high": {"n1": 1}},
    ),
    Story(
        "with its order switched off the older job goes first",
        nodes=ONE_CORE,
        jobs=[job("low", cpu=1, priority=1), job("high", cpu=1, priority=5)],
        tiers=[[plugin("priority", enableJobOrder=False)]],
        expect={"low": {"n1": 1}, "high": "pending"},
    ),
    Story(
        "jobs without a class get the cluster's default",
        nodes=ONE_CORE,
        objects=[priority_class("usual", 3, is_default=True)],
        jobs=[job("low", cpu=1, priority=1), job("plain", cpu=1)],
        tiers=("priority",),
        expect={"low": "pending", "plain": {"n1": 1}},
    ),
    Story(
        "inside a job the important task goes first",
        nodes=[node("n1", cpu=1), node("n2", cpu=1)],
        jobs=[job("a", tasks=3, cpu=1, min_available=1, task_priorities=[1, 1, 9])],
        tiers=("priority",),
        expect={"a": {"n1": 1, "n2": 1}},
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_priority(story: Story) -> None:
    assert story.play() == story.expect


def test_the_first_to_be_bound_is_the_important_task() -> None:
    bound = STORIES[3].cycle().decisions[0]
    assert bound.pod == "default/a-2"


def test_equals_are_safe_between_jobs_and_lower_tasks_are_not_inside_one() -> None:
    session = session_of(
        node("n1", cpu=8),
        job("b", cpu=1, priority=5, running={"n1": 1}),
        job("c", cpu=1, priority=10, running={"n1": 1}),
        job("a", tasks=2, cpu=1, priority=10, running={"n1": 1}, task_priorities=[1, 3]),
        tiers=("priority",),
    )
    b, c, mine, preemptor = session.tasks
    assert session.preemptable(preemptor, [b, c, mine]) == [b, mine]


def test_a_job_starves_while_any_task_lacks_a_place() -> None:
    session = session_of(
        node("n1"), job("a", tasks=2, cpu=1, min_available=1, running={"n1": 1}), tiers=("priority",)
    )
    assert session.is_starving(session.jobs["default/a"])


def test_with_gang_in_its_tier_a_job_that_has_its_minimum_does_not_starve() -> None:
    session = session_of(
        node("n1"), job("a", tasks=2, cpu=1, min_available=1, running={"n1": 1}), tiers=("priority, gang",)
    )
    assert not session.is_starving(session.jobs["default/a"])
