"""Overcommit: only as much work may wait as a somewhat larger cluster could hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hekla.testing import Story, job, node, plugin, pod


def waiting(name: str, cpu: object, **more: object) -> object:
    return job(name, tasks=1, cpu=1, phase="Pending", min_resources={"cpu": cpu}, **more)


STORIES = [
    Story(
        "a hundred cores count as a hundred and twenty; sixty are used and forty waited for",
        nodes=[node("n1", cpu=100)],
        jobs=[
            pod("used", on="n1", cpu=60),
            job("promised", tasks=1, cpu=40, min_resources={"cpu": 40}),
            waiting("first", 15),
            waiting("second", 10),
            waiting("third", 5),
        ],
        expect={"promised": "Inqueue", "first": "Inqueue", "second": "Pending", "third": "Inqueue"},
    ),
    Story(
        "a resource that the cluster does not have cannot be waited for",
        nodes=[node("n1", cpu=100)],
        jobs=[job("gpu", tasks=1, gpu=1, phase="Pending", min_resources={"nvidia.com/gpu": 1})],
        expect={"gpu": "Pending"},
    ),
    Story(
        "an admitted job counts in full, although it holds a part already",
        nodes=[node("n1", cpu=10)],
        jobs=[
            job("half", tasks=2, cpu=2, phase="Inqueue", running={"n1": 1}, min_resources={"cpu": 4}),
            waiting("next", 7),
            waiting("small", 6),
        ],
        expect={"half": "Inqueue", "next": "Pending", "small": "Inqueue"},
    ),
    Story(
        "a running elastic job counts with what it still lacks",
        nodes=[node("n1", cpu=10)],
        jobs=[
            job("grows", tasks=4, cpu=1, min_available=2, running={"n1": 2}, min_resources={"cpu": 4}),
            waiting("next", 9),
            waiting("small", 8),
        ],
        expect={"grows": "Running", "next": "Pending", "small": "Inqueue"},
    ),
    Story(
        "a larger factor lets more wait",
        nodes=[node("n1", cpu=10)],
        jobs=[waiting("a", 15)],
        tiers=[[plugin("overcommit", {"overcommit-factor": 1.5})]],
        expect={"a": "Inqueue"},
    ),
    Story(
        "a factor below one is not taken: the usual one stays",
        nodes=[node("n1", cpu=10)],
        jobs=[waiting("a", 12)],
        tiers=[[plugin("overcommit", {"overcommit-factor": 0.5})]],
        expect={"a": "Inqueue"},
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_overcommit(story: Story) -> None:
    tiers = ("overcommit",) if isinstance(story.tiers[0], str) else story.tiers
    assert replace(story, actions="enqueue", tiers=tiers).phases() == story.expect
