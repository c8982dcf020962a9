"""Enqueue: jobs are admitted one at a time, by vote where they name what they need."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hekla.testing import Story, job, node, plugin, queue

VOTERS = ("overcommit, proportion",)


def waiting(name: str, cpu: object = None, **more: object) -> object:
    """A job that asks to be admitted; `cpu` is what it says it needs at least."""
    needs = None if cpu is None else {"cpu": cpu}
    return job(name, tasks=1, cpu=1, phase="Pending", min_resources=needs, **more)


STORIES = [
    Story(
        "queue by queue, one job at a time, until the stretched cluster is promised away",
        nodes=[node("n1", cpu=10)],
        queues=[queue("q1"), queue("q2")],
        jobs=[
            waiting("a", 8, queue="q1"),
            waiting("b", queue="q1"),
            waiting("c", 6, queue="q2"),
        ],
        tiers=VOTERS,
        expect={"a": "Inqueue", "b": "Inqueue", "c": "Pending"},
    ),
    Story(
        "a job that is turned away does not block the next one of its queue",
        nodes=[node("n1", cpu=4)],
        jobs=[waiting("large", 9), waiting("small", 2)],
        tiers=VOTERS,
        expect={"large": "Pending", "small": "Inqueue"},
    ),
    Story(
        "without a plugin that votes every job is admitted",
        nodes=[node("n1", cpu=1)],
        jobs=[waiting("large", 900)],
        tiers=("gang",),
        expect={"large": "Inqueue"},
    ),
    Story(
        "a job that names no minimum is admitted unasked, even to a closed queue",
        nodes=[node("n1", cpu=4)],
        queues=[queue("default", state="Closed")],
        jobs=[waiting("unasked"), waiting("asked", 1)],
        tiers=VOTERS,
        expect={"unasked": "Inqueue", "asked": "Pending"},
    ),
    Story(
        "an empty minimum is not the same as none: it is voted on",
        nodes=[node("n1", cpu=4)],
        queues=[queue("default", state="Closed")],
        jobs=[job("empty", tasks=1, cpu=1, phase="Pending", min_resources={})],
        tiers=VOTERS,
        expect={"empty": "Pending"},
    ),
    Story(
        "enqueue does not count pods: a job without its gang is admitted too",
        nodes=[node("n1", cpu=4)],
        jobs=[job("early", tasks=0, min_available=3, phase="Pending", min_resources={"cpu": 1})],
        tiers=("gang", *VOTERS),
        expect={"early": "Inqueue"},
    ),
    Story(
        "jobs of higher priority are asked first",
        nodes=[node("n1", cpu=4)],
        jobs=[waiting("low", 3, priority=1), waiting("high", 3, priority=9)],
        tiers=("priority", *VOTERS),
        expect={"low": "Pending", "high": "Inqueue"},
    ),
    Story(
        "overcommit turned off lets everything in",
        nodes=[node("n1", cpu=4)],
        jobs=[waiting("a", 4), waiting("b", 4)],
        tiers=[[plugin("overcommit", enableJobEnqueued=False)]],
        expect={"a": "Inqueue", "b": "Inqueue"},
    ),
    Story(
        "a permit in the first tier settles it before the second tier could object",
        nodes=[node("n1", cpu=4)],
        queues=[queue("default", capability={"cpu": 1})],
        jobs=[waiting("a", 3)],
        tiers=("overcommit", "proportion"),
        expect={"a": "Inqueue"},
    ),
    Story(
        "inside one tier an objection beats a permit",
        nodes=[node("n1", cpu=4)],
        queues=[queue("default", capability={"cpu": 1})],
        jobs=[waiting("a", 3)],
        tiers=VOTERS,
        expect={"a": "Pending"},
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_enqueue(story: Story) -> None:
    assert replace(story, actions="enqueue").phases() == story.expect
