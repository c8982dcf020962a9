"""Binpack: nodes that a task would fill up most come first."""

from __future__ import annotations

import numpy as np
import pytest

from hekla.engine.plugins.binpack import fullness
from hekla.testing import Story, job, node, plugin, pod, session_of


def binpack(**arguments: object) -> object:
    named = {f"binpack.{key.replace('__', '.')}": value for key, value in arguments.items()}
    return ["gang", plugin("binpack", named)]


HALF_FULL = [node("empty", cpu=4), node("half", cpu=4), node("nearly", cpu=4)]
FILLERS = [pod("f1", on="half", cpu=2), pod("f2", on="nearly", cpu=3)]

STORIES = [
    Story(
        "the fullest node that still has room is filled first",
        nodes=HALF_FULL,
        jobs=[*FILLERS, job("a", tasks=3, cpu=1, min_available=1)],
        tiers=[binpack()],
        expect={"a": {"half": 2, "nearly": 1}},
    ),
    Story(
        "with weight zero the first node is as good as any",
        nodes=HALF_FULL,
        jobs=[*FILLERS, job("a", tasks=1, cpu=1)],
        tiers=[binpack(weight=0)],
        expect={"a": {"empty": 1}},
    ),
    Story(
        "with a negative weight empty nodes come first",
        nodes=HALF_FULL[::-1],
        jobs=[*FILLERS, job("a", tasks=1, cpu=1)],
        tiers=[binpack(weight=-1)],
        expect={"a": {"empty": 1}},
    ),
    Story(
        "a device counts only where it is listed",
        nodes=[node("n1", gpu=8, cpu=100), node("n2", gpu=2, cpu=100)],
        jobs=[job("a", tasks=1, gpu=1)],
        tiers=[binpack(resources="nvidia.com/gpu")],
        expect={"a": {"n2": 1}},
    ),
    Story(
        "unlisted, devices make no difference",
        nodes=[node("n1", gpu=8, cpu=100), node("n2", gpu=2, cpu=100)],
        jobs=[job("a", tasks=1, gpu=1)],
        tiers=[binpack()],
        expect={"a": {"n1": 1}},
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_binpack(story: Story) -> None:
    assert story.play() == story.expect


def test_the_worked_example() -> None:
    """4 cores and 8 GiB, a quarter used; the task asks 1 core and 1 GiB; cpu counts five times."""
    session = session_of(
        node("n1", cpu=4, memory="8Gi"),
        node("n2", cpu=4, memory="8Gi"),
        pod("used", on="n1", cpu=1, memory="2Gi"),
        job("a", tasks=1, cpu=1, memory="1Gi"),
        tiers=[binpack(weight=10, cpu=5, memory=1)],
    )
    task = session.tasks[-1]
    scores = session.scoring.class_of(task).scores_of(task, np.ones(2, dtype=np.bool_))
    assert scores[0] == pytest.approx((5 * 0.5 + 0.375) / 6 * 1000)
    assert scores[0] == pytest.approx(479.17, abs=0.01)


def test_a_node_that_would_overflow_scores_nothing_at_all() -> None:
    used, allocatable = np.array([[3000, 0]]), np.array([[4000, 100]])
    request = np.array([1001, 50])
    assert fullness(request, used.T, allocatable.T, {0: 1, 1: 1}).tolist() == [0.0]


def test_a_resource_that_the_node_lacks_makes_it_look_emptier() -> None:
    used, allocatable = np.array([[0, 0]]), np.array([[4000, 0]])
    assert fullness(np.array([4000, 50]), used.T, allocatable.T, {0: 1, 1: 1}).tolist() == [0.5]


@pytest.mark.parametrize("seed", range(3))
def test_the_kernel_agrees_with_a_plain_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    used, request = rng.integers(0, 8, (6, 3)), rng.integers(0, 4, 3)
    allocatable, weights = used + rng.integers(0, 5, (6, 3)), {0: 1, 1: 3, 2: 0}
    asked = {column: weight for column, weight in weights.items() if request[column] > 0}
    expected = [plainly(request, used[row], allocatable[row], asked) for row in range(6)]
    assert fullness(request, used.T, allocatable.T, asked) == pytest.approx(expected)


def plainly(request: np.ndarray, used: np.ndarray, allocatable: np.ndarray, weights: dict[int, int]) -> float:
    score = 0.0
    for column, weight in weights.items():
        if weight == 0 or allocatable[column] == 0:
            continue
        if used[column] + request[column] > allocatable[column]:
            return 0.0
        score += weight * (used[column] + request[column]) / allocatable[column]
    total = sum(weights.values())
    return score / total if total else score
