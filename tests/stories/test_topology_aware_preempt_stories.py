"""Preempt's topology-aware mode: of several nodes, take the one whose victims matter least."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import msgspec
import pytest

from hekla.engine.actions.preempt import PreemptArguments
from hekla.objects import Pod
from hekla.testing import JobObjects, Story, job, node, plugin, pod
from hekla.testing.pods import BEGINNING

LOW, HIGH = 1, 10
LOWEST = -(2**31)
TIERS = (["priority", plugin("gang", enablePreemptable=False), "conformance"],)
COMPARES = {"preempt": {"enableTopologyAwarePreemption": True, "minCandidateNodesAbsolute": 10}}
COMPARES_FEW = {"preempt": {"enableTopologyAwarePreemption": True}}


def victim(
    name: str, on: str, *, cpu: int = 1, priority: int = 0, started: int | None = None, job: str = "low"
) -> Pod:
    """A running pod of the job `low` with a priority of its own; `started` so many seconds ago."""
    built = pod(name, job=job, on=on, cpu=cpu, pod_priority=priority)
    if started is None:
        return built
    moment = BEGINNING - timedelta(seconds=started)
    return msgspec.structs.replace(built, status=msgspec.structs.replace(built.status, start_time=moment))


def story(
    *victims: Pod,
    cpu: int = 2,
    nodes: Sequence[str] = ("n1", "n2"),
    settings: dict[str, dict[str, object]] = COMPARES,
) -> Story:
    """Nodes of two cores each, and an urgent task that wants `cpu` of one."""
    group = job("low", tasks=0, priority=LOW, min_available=1, phase="Running").pod_group
    (klass,) = [job("low", tasks=0, priority=LOW).priority_class]
    return Story(
        "victims",
        [node(name, cpu=2) for name in nodes],
        [JobObjects(group, victims, klass), job("high", cpu=cpu, priority=HIGH, pod_priority=HIGH)],
        actions="preempt",
        tiers=TIERS,
        configurations=settings,
    )


def outcome(node: str, *names: str) -> dict[str, object]:
    return {"low": {"evicted": list(names)}, "high": {"pipelined": {node: 1}}}


CRITERIA = {
    "first, the node whose most important victim matters least": (
        [victim("a", "n1", priority=1), victim("b", "n1", priority=5), victim("c", "n2", cpu=2, priority=4)],
        outcome("n2", "c"),
    ),
    "even if it loses more": (
        [victim("a", "n1", cpu=2, priority=5), victim("b", "n2", priority=4), victim("c", "n2", priority=4)],
        outcome("n2", "b", "c"),
    ),
    "second, the node whose victims matter less in all": (
        [
            victim("a", "n1", priority=5),
            victim("b", "n1", priority=4),
            victim("c", "n2", priority=5),
            victim("d", "n2", priority=1),
        ],
        outcome("n2", "c", "d"),
    ),
    "third, the node with fewer victims": (
        [
            victim("a", "n1", priority=5),
            victim("b", "n1", priority=LOWEST),
            victim("c", "n2", cpu=2, priority=5),
        ],
        outcome("n2", "c"),
    ),
    "fourth, the node whose most important victims started last": (
        [
            victim("a", "n1", cpu=2, priority=5, started=500),
            victim("b", "n2", cpu=2, priority=5, started=100),
        ],
        outcome("n2", "b"),
    ),
    "of several such victims the eldest counts": (
        [
            victim("a", "n1", priority=5, started=10),
            victim("b", "n1", priority=5, started=500),
            victim("c", "n2", priority=5, started=100),
            victim("d", "n2", priority=5, started=90),
        ],
        outcome("n2", "c", "d"),
    ),
    "less important ones do not count, however old they are": (
        [
            victim("a", "n1", priority=5, started=200),
            victim("b", "n1", priority=1, started=10),
            victim("c", "n2", priority=5, started=100),
            victim("d", "n2", priority=1, started=900),
        ],
        outcome("n2", "c", "d"),
    ),
    "last, the first node": (
        [victim("a", "n1", cpu=2, priority=5), victim("b", "n2", cpu=2, priority=5)],
        outcome("n1", "a"),
    ),
}


@pytest.mark.parametrize(("victims", "expected"), CRITERIA.values(), ids=CRITERIA)
def test_which_node_is_taken(victims: list[Pod], expected: object) -> None:
    assert story(*victims).play() == expected


def test_a_victim_that_need_not_go_is_spared_the_most_important_first() -> None:
    """Both are taken away in thought, the lesser one first; only the greater one makes room enough."""
    pair = [victim("small", "n1", cpu=1, priority=1), victim("large", "n1", cpu=2, priority=2)]
    nodes = [node("n1", cpu=3)]
    one = story(*pair)
    spared = Story(
        "a reprieve", nodes, one.jobs, actions="preempt", tiers=TIERS, configurations=COMPARES
    ).play()
    assert spared == outcome("n1", "large")
    plainly = Story("no reprieve", nodes, one.jobs, actions="preempt", tiers=TIERS).play()
    assert plainly == outcome("n1", "large", "small")


def test_a_node_that_needs_no_victim_is_no_candidate_as_in_volcano() -> None:
    busy = [victim("a", "n2", cpu=2)]
    assert story(*busy).play() == outcome("n2", "a")
    assert story(*busy, settings={}).play() == {"low": "running", "high": {"pipelined": {"n1": 1}}}


def test_a_node_where_all_victims_together_are_not_enough_is_no_candidate() -> None:
    crowd = [pod("stays", on="n1", cpu=1), *story(victim("a", "n1"), victim("b", "n2", cpu=2)).jobs]
    told = Story(
        "crowded",
        [node("n1", cpu=2), node("n2", cpu=2)],
        crowd,
        actions="preempt",
        tiers=TIERS,
        configurations=COMPARES,
    )
    assert told.play() == outcome("n2", "b")


def test_only_so_many_candidates_are_compared() -> None:
    pair = [victim("a", "n1", cpu=2, priority=5), victim("b", "n2", cpu=2, priority=1)]
    assert story(*pair).play() == outcome("n2", "b")
    assert story(*pair, settings=COMPARES_FEW).play() == outcome("n1", "a")


@pytest.mark.parametrize(
    ("nodes", "arguments", "expected"),
    [
        (1000, {}, 100),
        (500, {}, 50),
        (9, {}, 1),
        (9, {"fewest_candidates": 4}, 4),
        (3, {"fewest_candidates": 4}, 3),
        (5000, {}, 100),
        (50, {"candidate_percentage": 100, "most_candidates": 20}, 20),
        (0, {}, 0),
    ],
    ids=[
        "ten percent",
        "of half as many",
        "at least one",
        "or as many as are asked for",
        "but not more than there are",
        "and at most a hundred",
        "or as many as are allowed",
        "none of none",
    ],
)
def test_how_many_candidates_are_compared(nodes: int, arguments: dict[str, int], expected: int) -> None:
    assert PreemptArguments(**arguments).candidates_among(nodes) == expected


def test_the_worked_example_has_the_same_victims_as_the_normal_mode() -> None:
    told = Story(
        "two victim jobs",
        [node("n1", cpu=3), node("n2", cpu=2)],
        [
            job("b", tasks=3, cpu=1, min_available=1, running={"n1": 3}, priority=LOW),
            job("c", tasks=2, cpu=1, min_available=2, running={"n2": 2}, priority=LOW),
            job("a", tasks=2, cpu=2, min_available=2, priority=HIGH),
        ],
        actions="preempt",
        tiers=TIERS,
        configurations=COMPARES_FEW,
    )
    assert told.play() == {
        "b": {"evicted": ["b-1", "b-2"]},
        "c": {"evicted": ["c-0", "c-1"]},
        "a": {"pipelined": {"n1": 1, "n2": 1}},
    }
