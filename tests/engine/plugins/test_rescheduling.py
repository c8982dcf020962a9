"""Rescheduling: tasks move off nodes that are too busy while others have little to do."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from one_plugin import Scene, changed

from hekla.conf import read_arguments
from hekla.engine.plugins.rescheduling import (
    BEST_EFFORT,
    BURSTABLE,
    GUARANTEED,
    LAST_RUN,
    Rescheduling,
    Thresholds,
    quality_of,
    read_strategies,
)
from hekla.objects import Pod
from hekla.objects.pod import Container, ResourceRequirements
from hekla.testing import check_plugin, job, node, pod

NOW = 10_000.0
AWAKE = {LAST_RUN: 0.0}


def strategy(low: object = 20, target: object = 50, name: str = "lowNodeUtilization") -> dict[str, object]:
    limits = [{"cpu": limit, "memory": limit} if isinstance(limit, int) else limit for limit in (low, target)]
    return {"name": name, "params": {"thresholds": limits[0], "targetThresholds": limits[1]}}


def victims(
    *parts: object,
    load: dict[str, tuple[float, float]],
    strategies: Sequence[dict[str, object]] = (strategy(),),
) -> list[str]:
    told = {"strategies": list(strategies)}
    here = Scene(Rescheduling, *parts, arguments=told, now=NOW, load=load, memory=dict(AWAKE))  # type: ignore[arg-type]
    return [key.removeprefix("default/") for key in here.victims()]


A, B = node("a", cpu=10, memory="10Gi"), node("b", cpu=10, memory="10Gi")
SIX = job("six", tasks=6, cpu=1, running={"a": 6})
UNEVEN = {"a": (80.0, 40.0), "b": (10.0, 10.0)}


def test_the_worked_example() -> None:
    """80 % of 10 cores: four tasks of one core go, till 40 % is left and the budget is used up."""
    assert victims(A, B, SIX, load=UNEVEN) == ["six-0", "six-1", "six-2", "six-3"]


def test_a_node_is_relieved_until_it_is_below_the_target() -> None:
    assert victims(A, B, SIX, load={"a": (60.0, 0.0), "b": (0.0, 0.0)}) == ["six-0", "six-1"]


def test_a_node_at_the_target_is_not_too_busy() -> None:
    assert victims(A, B, SIX, load={"a": (50.0, 50.0), "b": (0.0, 0.0)}) == []


def test_memory_alone_can_make_a_node_too_busy() -> None:
    heavy = job("heavy", tasks=3, memory="2Gi", running={"a": 3})
    assert victims(A, B, heavy, load={"a": (0.0, 70.0), "b": (0.0, 0.0)}) == ["heavy-0", "heavy-1"]


def test_a_budget_of_exactly_nothing_ends_it_and_one_below_nothing_does_not() -> None:
    two = job("two", tasks=4, cpu=2, running={"a": 4})
    three = job("three", tasks=3, cpu=3, running={"a": 3})
    assert victims(A, B, two, load={"a": (100.0, 0.0), "b": (10.0, 0.0)}) == ["two-0", "two-1"]
    assert victims(A, B, three, load={"a": (100.0, 0.0), "b": (10.0, 0.0)}) == ["three-0", "three-1"]
    # Beyond the budget it goes on, as in Volcano.
    more = job("more", tasks=3, cpu="1500m", running={"a": 3})
    assert victims(A, B, more, load={"a": (90.0, 0.0), "b": (10.0, 0.0)}) == ["more-0", "more-1", "more-2"]


@pytest.mark.parametrize(
    ("load", "cordoned"),
    [
        ({"a": (80.0, 40.0), "b": (30.0, 10.0)}, False),
        ({"a": (19.0, 19.0), "b": (10.0, 10.0)}, False),
        ({"a": (45.0, 45.0), "b": (10.0, 10.0)}, False),
        ({"a": (80.0, 40.0), "b": (10.0, 10.0)}, True),
        ({}, False),
    ],
    ids=[
        "when no node has little to do",
        "when all nodes have little to do",
        "when no node is too busy",
        "when the quiet node is cordoned",
        "without measurements",
    ],
)
def test_nothing_moves(load: dict[str, tuple[float, float]], cordoned: bool) -> None:
    assert victims(A, node("b", cpu=10, unschedulable=cordoned), SIX, load=load) == []


def test_a_node_that_is_not_measured_looks_idle() -> None:
    assert len(victims(A, B, SIX, load={"a": (80.0, 40.0)})) == 4


def test_the_busiest_node_is_relieved_first_and_the_budget_is_shared() -> None:
    c = node("c", cpu=10, memory="10Gi")
    nodes = [A, B, c, job("x", tasks=3, cpu=2, running={"a": 3}), job("y", tasks=3, cpu=2, running={"c": 3})]
    load = {"a": (80.0, 0.0), "b": (10.0, 10.0), "c": (80.0, 30.0)}
    assert victims(*nodes, load=load) == ["y-0", "y-1"]


def test_pods_without_priority_go_first_then_the_lowest_then_those_promised_least() -> None:
    loose = job("loose", tasks=1, running={"a": 1})
    low = job("low", tasks=1, cpu=1, running={"a": 1}, pod_priority=-5)
    high = job("high", tasks=1, cpu=1, running={"a": 1}, pod_priority=5)
    none = job("none", tasks=1, cpu=1, running={"a": 1})
    parts = [A, B, high, low, none, loose]
    order = [victims(*parts, load={"a": (busy, 0.0), "b": (0.0, 0.0)}) for busy in (51.0, 60.0, 65.0)]
    assert order == [["loose-0", "none-0"], ["loose-0", "low-0", "none-0"], ["loose-0", "low-0", "none-0"]]
    assert victims(*parts, load={"a": (75.0, 0.0), "b": (0.0, 0.0)}) == [
        "high-0",
        "loose-0",
        "low-0",
        "none-0",
    ]


def test_only_running_tasks_move_and_namesakes_elsewhere_stay() -> None:
    here = job("same", tasks=2, cpu=1, running={"a": 1}, bound={"a": 1})
    there = job("same", tasks=2, cpu=1, running={"b": 2}, namespace="other")
    assert victims(A, B, here, there, load={"a": (90.0, 0.0), "b": (10.0, 0.0)}) == ["same-0"]


class TestTheInterval:
    def goes(self, memory: dict[str, float], **told: object) -> bool:
        arguments = {"strategies": [strategy()], **told}
        here = Scene(
            Rescheduling,
            A,
            B,
            SIX,
            arguments=arguments,
            now=NOW,
            load=UNEVEN,
            memory=memory,  # type: ignore[arg-type]
        )
        return bool(here.victims())

    def test_the_first_cycle_ever_starts_a_rest(self) -> None:
        memory: dict[str, float] = {}
        assert not self.goes(memory)
        assert memory == {LAST_RUN: NOW}

    @pytest.mark.parametrize(("rest", "goes"), [(299.0, False), (300.0, False), (301.0, True)])
    def test_more_than_the_interval_must_have_passed(self, rest: float, goes: bool) -> None:
        memory = {LAST_RUN: NOW - rest}
        assert self.goes(memory) is goes
        assert memory == {LAST_RUN: NOW if goes else NOW - rest}

    def test_the_interval_can_be_set(self) -> None:
        assert self.goes({LAST_RUN: NOW - 31.0}, interval="30s")


# Settings


def test_strategies_that_exist_in_the_design_alone_are_passed_over() -> None:
    assert read_strategies([strategy(name="offlineOnly"), {}]) == []
    assert victims(A, B, SIX, load=UNEVEN, strategies=[strategy(name="bigObjectFirst")]) == []


def test_no_strategy_means_low_node_utilization_with_thresholds_that_move_nothing() -> None:
    everything = {"cpu": 100, "memory": 100}
    assert read_strategies([]) == [Thresholds(everything, everything)]
    assert read_strategies([{"name": "lowNodeUtilization", "params": 5}]) == read_strategies([])


def test_thresholds_that_are_not_given_are_a_hundred() -> None:
    assert read_strategies([strategy({"cpu": 20}, "busy")]) == [
        Thresholds({"cpu": 20, "memory": 100}, {"cpu": 100, "memory": 100})
    ]


def test_two_strategies_name_their_victims_together() -> None:
    both = [strategy(20, 70), strategy(20, 50)]
    assert len(victims(A, B, SIX, load=UNEVEN, strategies=both)) == 4


@pytest.mark.parametrize(
    "told",
    [
        {"interval": "often"},
        {"interval": 5},
        {"strategies": [strategy({"cpu": "20"})]},
        {"strategies": [strategy(20, {"cpu": 50.0})]},
        {"strategies": ["lowNodeUtilization"]},
    ],
)
def test_what_cannot_be_read_is_told_and_the_default_stays(told: dict[str, object]) -> None:
    read, mistakes = read_arguments(Rescheduling.Arguments, told, "here")
    assert (read, len(mistakes)) == (Rescheduling.Arguments(), 1)


@pytest.mark.parametrize(
    ("requests", "limits", "quality"),
    [
        ({}, {}, BEST_EFFORT),
        ({"nvidia.com/gpu": 1}, {}, BEST_EFFORT),
        ({"cpu": 1}, {}, BURSTABLE),
        ({}, {"cpu": 1}, BURSTABLE),
        ({"cpu": 1, "memory": 1}, {"cpu": "1000m", "memory": 1}, GUARANTEED),
        ({}, {"cpu": 1, "memory": 1}, GUARANTEED),
        ({"cpu": 1, "memory": 1}, {"cpu": 2, "memory": 1}, BURSTABLE),
        ({"cpu": 1}, {"cpu": "nonsense", "memory": 1}, BURSTABLE),
    ],
)
def test_quality_of_service(requests: dict[str, object], limits: dict[str, object], quality: int) -> None:
    assert quality_of(limited(requests, limits)) == quality


def limited(requests: dict[str, object], limits: dict[str, object]) -> Pod:
    resources = ResourceRequirements(requests=requests, limits=limits)  # type: ignore[arg-type]
    return changed(pod("a"), "spec.containers", (Container(resources=resources),))


def test_it_keeps_the_contract_of_plugins() -> None:
    check_plugin(Rescheduling)
    check_plugin(Rescheduling, {"strategies": [strategy()], "interval": "10s", "metricsPeriod": "10m"})
