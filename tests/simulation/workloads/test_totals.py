"""What a job asks for in all is shared out among its pods, and nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekla.objects.quantity import milli, whole
from hekla.simulation.workloads.shapes import Shapes
from hekla.simulation.workloads.totals import CPU, MEMORY, roles_of

GIB = 1024**3


@pytest.mark.parametrize(
    ("total", "pods", "shares"),
    [
        ({CPU: 8000}, 4, [(4, {"cpu": "2"})]),
        ({CPU: 7000}, 2, [(2, {"cpu": "3500m"})]),
        ({CPU: 10_000}, 3, [(1, {"cpu": "4"}), (2, {"cpu": "3"})]),
        ({CPU: 1000}, 3, [(1, {"cpu": "334m"}), (2, {"cpu": "333m"})]),
        ({MEMORY: 500 * GIB}, 3, [(2, {"memory": "170667Mi"}), (1, {"memory": "170666Mi"})]),
        ({MEMORY: 4096}, 2, [(2, {"memory": "2Ki"})]),
        ({"x/y": 2}, 3, [(2, {"x/y": "1"}), (1, {})]),
        ({CPU: 3000, "x/y": 5}, 3, [(2, {"cpu": "1", "x/y": "2"}), (1, {"cpu": "1", "x/y": "1"})]),
        ({}, 2, [(2, {})]),
    ],
)
def test_pods_are_as_alike_as_can_be(
    total: dict[str, int], pods: int, shares: list[tuple[int, dict[str, str]]]
) -> None:
    roles = roles_of(total, pods, Shapes())
    assert [(r.replicas, dict(r.template.spec.containers[0].resources.requests)) for r in roles] == shares


def test_whole_processors_stay_whole() -> None:
    roles = roles_of({CPU: 7000}, 2, Shapes(), whole=(CPU,))
    assert [role.template.spec.containers[0].resources.requests for role in roles] == [
        {"cpu": "4"},
        {"cpu": "3"},
    ]


@given(st.integers(0, 10**6), st.integers(0, 2**45), st.integers(0, 100), st.integers(1, 50))
def test_nothing_is_lost(cpu: int, memory: int, cards: int, pods: int) -> None:
    roles = roles_of({CPU: cpu, MEMORY: memory, "x/y": cards}, pods, Shapes())
    asked = [(role.replicas, role.template.spec.containers[0].resources.requests) for role in roles]
    assert sum(count for count, _ in asked) == pods
    assert sum(count * milli(each.get("cpu", 0)) for count, each in asked) == cpu
    assert sum(count * whole(each.get("memory", 0)) for count, each in asked) == memory
    assert sum(count * whole(each.get("x/y", 0)) for count, each in asked) == cards
