"""Usage: idle nodes are preferred and busy ones refused, by what is measured and what is expected."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_plugin import Scene, changed

from hekla.engine.model.node import NodeLoad
from hekla.engine.model.status import Status
from hekla.engine.model.task import task_of
from hekla.engine.plugins.usage import (
    MEBIBYTE,
    Estimator,
    Usage,
    busy_parts,
    limits_of,
    mean,
    read_estimator,
    threshold,
)
from hekla.objects import Pod
from hekla.objects.pod import Container, ResourceRequirements
from hekla.testing import Story, check_plugin, job, node, plugin, pod

NOW = 100_000.0
TEN = node("n1", cpu=10, memory="100Gi")


def scene(*parts: object, **rest: object) -> Scene:
    rest.setdefault("now", NOW)
    rest.setdefault("arguments", {"estimator": {"request_ratio": 1.0}})
    return Scene(Usage, *parts, **rest)  # type: ignore[arg-type]


def limited(requests: dict[str, object], limits: dict[str, object], **rest: object) -> Pod:
    container = Container(resources=ResourceRequirements(requests=requests, limits=limits))  # type: ignore[arg-type]
    return changed(pod("a", **rest), "spec.containers", (container,))  # type: ignore[arg-type]


# Filter


@pytest.mark.parametrize(
    ("load", "verdict"),
    [
        ((80.0, 80.0), "fits"),
        ((80.1, 0.0), "UU"),
        ((0.0, 80.1), "UU"),
    ],
    ids=["at the threshold a node still fits", "above it in cpu it does not", "nor above it in memory"],
)
def test_busy_nodes_are_refused(load: tuple[float, float], verdict: str) -> None:
    assert scene(TEN, job("a", tasks=1), load={"n1": load}).verdicts("a-0") == {"n1": verdict}


def test_thresholds_can_be_set_one_by_one() -> None:
    told = {"thresholds": {"cpu": 50}}
    busy = scene(TEN, job("a", tasks=1), load={"n1": (60.0, 75.0)}, arguments=told)
    assert busy.verdicts("a-0") == {"n1": "UU"}
    assert "cpu busier than 50%" in busy.plainly("a-0")


@pytest.mark.parametrize("value", [101, -1, 50.0, "50", None, True])
def test_only_whole_percentages_are_thresholds(value: object) -> None:
    assert threshold({"cpu": value}, "cpu") == 80
    assert threshold({"cpu": 0}, "cpu") == 0


def test_what_is_only_expected_does_not_refuse_a_node() -> None:
    full = scene(TEN, job("a", tasks=2, cpu=9), load={"n1": (10.0, 0.0)})
    full.put("a-0", "n1")
    assert full.verdicts("a-1") == {"n1": "fits"}


# Scores


def test_the_worked_example() -> None:
    """10 cores, 40 % cpu and 50 % memory measured, one core expected: half of everything is free."""
    one = scene(TEN, job("a", tasks=2, cpu=1), load={"n1": (40.0, 50.0)})
    one.put("a-0", "n1")
    assert one.scores("a-1") == {"n1": 250.0}


def test_weights_shift_the_mean() -> None:
    told = {"usage.weight": 1, "cpu.weight": 3, "memory.weight": 1}
    assert scene(TEN, job("a", tasks=1), load={"n1": (40.0, 80.0)}, arguments=told).scores("a-0") == {
        "n1": pytest.approx((3 * 0.6 + 0.2) / 4 * 100)
    }


def test_without_weights_there_is_no_score() -> None:
    for told in ({"cpu.weight": 0, "memory.weight": 0}, {"usage.weight": 0}):
        none = scene(TEN, job("a", tasks=2, cpu=1), load={"n1": (0.0, 0.0)}, arguments=told)
        none.put("a-0", "n1")
        assert none.scores("a-1") == {"n1": 0.0}


@pytest.mark.parametrize(("age", "is_known"), [(300.0, True), (300.1, False)])
def test_figures_older_than_five_minutes_are_no_figures(age: float, is_known: bool) -> None:
    old = scene(TEN, job("a", tasks=1), load={"n1": NodeLoad(90.0, 90.0, at=NOW - age)})
    assert old.verdicts("a-0") == {"n1": "UU" if is_known else "fits"}
    assert old.scores("a-0") == {"n1": pytest.approx(50.0) if is_known else 0.0}


def test_a_node_that_is_not_measured_is_neither_refused_nor_scored() -> None:
    two = scene(TEN, node("n2", cpu=10), job("a", tasks=1), load={"n2": (50.0, 50.0)})
    assert two.verdicts("a-0") == {"n1": "fits", "n2": "fits"}
    assert two.scores("a-0") == {"n1": 0.0, "n2": 250.0}


# Estimates


def test_estimates_come_and_go_with_placements() -> None:
    one = scene(TEN, job("a", tasks=3, cpu=1), load={"n1": (0.0, 0.0)})
    before = one.scores("a-2")
    one.put("a-0", "n1")
    one.put("a-1", "n1", Status.PIPELINED)
    assert one.scores("a-2") == {"n1": pytest.approx(450.0)}
    one.take_back("a-0")
    assert one.scores("a-2") == {"n1": pytest.approx(475.0)}
    one.take_back("a-1")
    assert one.scores("a-2") == before == {"n1": 500.0}


def test_an_eviction_takes_the_estimate_away_and_its_undoing_brings_one() -> None:
    old = job("old", tasks=1, cpu=2, bound={"n1": 1})
    one = scene(TEN, old, job("a", tasks=1), load={"n1": (0.0, 0.0)})
    assert one.scores("a-0") == {"n1": pytest.approx(450.0)}
    one.session.start_release(one.task("old-0"))
    assert one.scores("a-0") == {"n1": 500.0}
    one.session.cancel_release(one.task("old-0"), Status.BOUND)
    assert one.scores("a-0") == {"n1": pytest.approx(450.0)}


def test_an_estimate_never_counts_twice() -> None:
    one = scene(TEN, job("a", tasks=2, cpu=1), load={"n1": (0.0, 0.0)})
    one.put("a-0", "n1")
    scores = one.scores("a-1")
    one.plugin.on_allocate(one.task("a-0"))
    assert one.scores("a-1") == scores


@pytest.mark.parametrize(
    ("started", "interval", "counts"),
    [
        (None, "30s", True),
        (29.0, "30s", True),
        (30.0, "30s", False),
        (59.0, "1m", True),
        (29.0, "often", True),
        (31.0, "often", False),
        (31.0, "0s", False),
    ],
)
def test_running_tasks_count_until_they_are_measured(
    started: float | None, interval: str, counts: bool
) -> None:
    moment = None if started is None else datetime.fromtimestamp(NOW - started, UTC)
    young = changed(pod("young", on="n1", cpu=2), "status.start_time", moment)
    one = scene(TEN, young, job("a", tasks=1), load={"n1": (0.0, 0.0)}, metrics={"interval": interval})
    assert one.scores("a-0") == {"n1": pytest.approx(450.0 if counts else 500.0)}


@pytest.mark.parametrize(
    ("requests", "limits", "busy", "expected"),
    [
        ({"cpu": 1, "memory": "1Ki"}, {}, 0.0, (700.0, 716.8)),
        ({"cpu": 1}, {"cpu": 3}, 0.0, (1100.0, 0.0)),
        ({"cpu": 1}, {"cpu": "500m"}, 0.0, (700.0, 0.0)),
        ({"cpu": 1}, {}, 0.6, (840.0, 0.0)),
        ({"cpu": 1}, {"cpu": "x"}, 0.0, (700.0, 0.0)),
        ({"nvidia.com/gpu": 1}, {"cpu": 1}, 0.0, (200.0, 0.0)),
        ({}, {}, 0.59, (250.0, 200.0 * MEBIBYTE)),
        ({}, {}, 0.9, (300.0, 240.0 * MEBIBYTE)),
    ],
    ids=[
        "a part of the request",
        "and a part of what it may burst to",
        "a limit below the request is no limit",
        "more where the node is strained",
        "a limit that cannot be read is no limit",
        "limits alone count as bursts",
        "a fixed amount for what asks for nothing",
        "more of that, too, where the node is strained",
    ],
)
def test_an_estimate(
    requests: dict[str, object], limits: dict[str, object], busy: float, expected: tuple[float, float]
) -> None:
    estimator = Estimator(burst_ratio=0.2)
    assert estimator.estimate(task_of(limited(requests, limits)), busy) == pytest.approx(expected)


def test_nothing_is_expected_beyond_the_limit() -> None:
    greedy = Estimator(request_ratio=1.0, risk_factor=3.0, risk_threshold=0.0)
    assert greedy.estimate(task_of(limited({"cpu": 1}, {"cpu": 2})), 0.0) == (2000.0, 0.0)


def test_the_first_task_on_a_strained_node_is_expected_to_use_more() -> None:
    told = {"estimator": {"request_ratio": 0.5, "risk_factor": 2.0, "risk_threshold": 0.5}}
    calm, strained = (
        scene(TEN, job("a", tasks=2, cpu=1), load={"n1": (busy, busy)}, arguments=told)
        for busy in (49.0, 50.0)
    )
    for one in (calm, strained):
        one.put("a-0", "n1")
    assert calm.scores("a-1") == {"n1": pytest.approx((0.46 + 0.51) / 2 * 500)}
    assert strained.scores("a-1") == {"n1": pytest.approx((0.40 + 0.50) / 2 * 500)}


def test_limits_of_containers_add_up_as_requests_do() -> None:
    def container(cpu: int, **rest: str) -> Container:
        return Container(resources=ResourceRequirements(limits={"cpu": cpu}), **rest)

    both = changed(pod("a"), "spec.containers", (container(1), container(2)))
    both = changed(both, "spec.init_containers", (container(4), container(2, restart_policy="Always")))
    assert limits_of(both)["cpu"] == 5000


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({}, Estimator()),
        ({"request_ratio": 1.1, "burst_ratio": -1, "risk_threshold": "x", "risk_factor": 0.9}, Estimator()),
        ({"be_cpu": True, "be_mem": "much"}, Estimator()),
        ({"be_cpu": -5, "be_mem": 10**30}, Estimator()),
        ({"request_ratio": 1, "risk_factor": 2}, Estimator(request_ratio=1.0, risk_factor=2.0)),
        ({"be_cpu": 100, "be_mem": 50}, Estimator(best_effort=(100.0, 50.0 * MEBIBYTE))),
        ({"be_cpu": "0.5", "be_mem": "1Gi"}, Estimator(best_effort=(500.0, 1024.0 * MEBIBYTE))),
    ],
    ids=[
        "nothing given means the defaults",
        "a number out of its range is replaced by its default",
        "what is no amount is replaced by its default",
        "so is an amount that cannot be",
        "each setting counts by itself",
        "bare numbers are millicores and MiB",
        "texts are quantities",
    ],
)
def test_reading_the_estimator(raw: dict[str, object], expected: Estimator) -> None:
    assert read_estimator(raw) == expected


# Contract and kernels


def test_without_figures_all_nodes_are_alike_and_the_first_one_is_taken() -> None:
    story = Story(
        "no measurements",
        nodes=[TEN, node("n2", cpu=10)],
        jobs=[job("a", tasks=2, cpu=1)],
        tiers=[["gang", plugin("usage")]],
        plugins=[Usage],
        expect={"a": {"n1": 2}},
    )
    assert story.play() == story.expect


def test_a_placed_task_steers_the_next_one_elsewhere() -> None:
    even = scene(TEN, node("n2", cpu=10), job("a", tasks=2, cpu=1), load={"n1": (0.0, 0.0), "n2": (1.0, 0.0)})
    first = even.scores("a-0")
    even.put("a-0", "n1")
    second = even.scores("a-1")
    assert first["n1"] > first["n2"]
    assert second["n1"] < second["n2"]


def test_it_keeps_the_contract_of_plugins() -> None:
    check_plugin(Usage)
    check_plugin(Usage, {"usage.weight": 2, "thresholds": {"cpu": 60}, "estimator": {"be_cpu": "100m"}})


PAIRS = st.lists(st.tuples(*[st.integers(0, 120)] * 6), min_size=1, max_size=6)


@given(PAIRS, st.integers(0, 3), st.integers(0, 3))
def test_the_kernels_agree_with_a_plain_loop(nodes: list[tuple[int, ...]], cpu: int, memory: int) -> None:
    percent, expected, capacity = (np.array(nodes, dtype=float)[:, at : at + 2] for at in (0, 2, 4))
    scores = mean(1.0 - busy_parts(percent, expected, capacity), (float(cpu), float(memory)))
    assert scores.tolist() == pytest.approx([score_of_one(one, cpu, memory) for one in nodes])


def score_of_one(node: tuple[int, ...], cpu: int, memory: int) -> float:
    free = []
    for percent, expected, capacity in zip(node[0:2], node[2:4], node[4:6], strict=True):
        busy = percent / 100 + (expected / capacity if capacity else 0.0)
        free.append(1.0 - min(max(busy, 0.0), 1.0))
    return (free[0] * cpu + free[1] * memory) / (cpu + memory) if cpu + memory else 0.0


def test_a_pod_on_a_node_that_is_not_known_may_be_evicted() -> None:
    lost = job("lost", tasks=1, cpu=1, running={"gone": 1}, labels={"app": "lost"})
    for nodes in ([], [node("n1")]):
        story = Story("a node has vanished", nodes, [lost], actions="shuffle", tiers=("pdb, usage",))
        assert story.play() == {"lost": {"evicted": ["lost-0"]}}
