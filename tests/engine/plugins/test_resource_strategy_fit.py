"""Resource strategy fit: pack or spread by resource, spare scarce devices, keep room for idle ones."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_plugin import Scene

from hekla.conf import read_arguments
from hekla.engine.plugins.resource_strategy_fit import ResourceStrategyFit, eats_into_reserve, fit, plainness
from hekla.engine.plugins.resource_strategy_fit.strategies import (
    DEFAULT_STRATEGIES,
    LEAST,
    MOST,
    Strategy,
    read_reserves,
    read_scarce,
    read_strategies,
    strategy_for,
)
from hekla.objects.keys import STRATEGY_TYPE, STRATEGY_WEIGHT
from hekla.testing import Story, check_plugin, job, node, plugin, pod

GPU, T4, A10 = "nvidia.com/gpu", "nvidia.com/t4", "nvidia.com/a10"
PACK_GPUS = {
    "resources": {
        GPU: {"type": "MostAllocated", "weight": 2},
        "cpu": {"type": "LeastAllocated", "weight": 1},
    }
}


def scene(*parts: object, **arguments: object) -> Scene:
    return Scene(ResourceStrategyFit, *parts, arguments=arguments)  # type: ignore[arg-type]


# Pack or spread


def test_without_settings_cpu_and_memory_are_kept_free_alike() -> None:
    two = scene(
        node("free", cpu=4, memory="8Gi"),
        node("half", cpu=4, memory="8Gi"),
        pod("old", on="half", cpu=2, memory="4Gi"),
        job("a", tasks=1, cpu=1, memory="2Gi"),
    )
    assert two.scores("a-0") == {"free": 750.0, "half": 250.0}


def test_each_resource_follows_its_own_strategy() -> None:
    two = scene(
        node("n1", cpu=10, gpu=4),
        node("n2", cpu=10, gpu=4),
        pod("old", on="n2", cpu=5, gpu=2),
        job("a", tasks=1, cpu=1, gpu=1),
        **PACK_GPUS,
    )
    expected = {"n1": (2 * 1 / 4 + 9 / 10) / 3 * 1000, "n2": (2 * 3 / 4 + 4 / 10) / 3 * 1000}
    assert two.scores("a-0") == pytest.approx(expected)


def test_a_resource_that_the_node_lacks_adds_nothing_but_its_weight_counts() -> None:
    plain = scene(node("n1", cpu=10), node("g", gpu=1, cpu=10), job("a", tasks=1, cpu=1, gpu=1), **PACK_GPUS)
    assert plain.scores("a-0")["n1"] == pytest.approx(0.9 / 3 * 1000)


def test_a_node_that_would_overflow_in_one_resource_scores_nothing() -> None:
    full = scene(node("n1", cpu=1, gpu=8), job("a", tasks=1, cpu=2, gpu=1), **PACK_GPUS)
    assert full.scores("a-0") == {"n1": 0.0}


def test_resources_without_a_strategy_do_not_count() -> None:
    packed = scene(
        node("n1", cpu=4, memory="8Gi"),
        job("a", tasks=1, cpu=1, memory="6Gi"),
        resources={"cpu": {"type": MOST}},
    )
    assert packed.scores("a-0") == {"n1": 250.0}


def test_a_weight_of_zero_turns_the_score_off() -> None:
    silent = scene(node("n1"), job("a", tasks=1, cpu=1), resourceStrategyFitWeight=0)
    assert silent.scores("a-0") == {"n1": 0.0}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({}, DEFAULT_STRATEGIES),
        ({"cpu": {}}, {"cpu": Strategy(LEAST, 1)}),
        ({"cpu": {"type": MOST, "weight": -3}}, {"cpu": Strategy(MOST, 1)}),
        ({"cpu": {"type": "Balanced", "weight": 2.9}}, {"cpu": Strategy(LEAST, 2)}),
        ({"cpu": {}, "*": {}, "a*b": {}, "nvidia*/gpu*": {}}, {"cpu": Strategy()}),
        ({"nvidia.com/*": {"weight": 3}}, {"nvidia.com/*": Strategy(LEAST, 3)}),
    ],
    ids=[
        "nothing given means the defaults",
        "an empty entry is least allocated with weight one",
        "a weight below one becomes one",
        "an unknown type becomes least allocated, and fractions are cut off",
        "a star alone or inside a name is passed over",
        "a name may end in a star",
    ],
)
def test_reading_strategies(raw: dict[str, object], expected: Mapping[str, Strategy]) -> None:
    assert read_strategies(raw) == expected


def test_the_exact_name_comes_before_the_longest_prefix() -> None:
    given = {"nvidia*": Strategy(MOST, 1), "nvidia.com/*": Strategy(MOST, 2), GPU: Strategy(MOST, 3)}
    assert [strategy_for(name, given) for name in (GPU, T4, "nvidia/x", "amd.com/gpu")] == [
        Strategy(MOST, 3),
        Strategy(MOST, 2),
        Strategy(MOST, 1),
        None,
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        {"resources": {"cpu": 5}},
        {"resources": {"cpu": {"weight": "two"}}},
        {"resources": {"cpu": {"weight": float("inf")}}},
        {"sra": {"enable": "perhaps"}},
        {"sra": {"resourceWeight": [1]}},
        {"proportional": {"resourceProportion": {"a.cpu": "x"}}},
        {"resourceStrategyFitWeight": -1},
        {"resourceStrategyFitWeight": "ten"},
    ],
)
def test_what_cannot_be_read_is_told_and_the_default_stays(arguments: dict[str, object]) -> None:
    read, mistakes = read_arguments(ResourceStrategyFit.Arguments, arguments, "here")
    assert len(mistakes) == 1
    assert "the default" in str(mistakes[0])
    assert read == ResourceStrategyFit.Arguments()


class TestAPodsOwnStrategy:
    def scores(self, **notes: str) -> dict[str, float]:
        keys = {"type": STRATEGY_TYPE, "weight": STRATEGY_WEIGHT}
        annotations = {keys[key]: text for key, text in notes.items()}
        own = job("a", tasks=1, cpu=1, memory="2Gi", annotations=annotations)
        return scene(node("n1", cpu=4, memory="4Gi"), own).scores("a-0")

    def test_its_type_holds_for_the_resources_it_gives_a_weight(self) -> None:
        assert self.scores(type=MOST, weight=json.dumps({"cpu": 3, "memory": 1})) == {
            "n1": pytest.approx((3 * 0.25 + 0.5) / 4 * 1000)
        }
        assert self.scores(type=MOST, weight=json.dumps({"cpu": 3})) == {"n1": 250.0}

    @pytest.mark.parametrize("weight", ["{", "[]", '{"cpu": "x"}'])
    def test_with_weights_that_cannot_be_read_it_scores_nothing(self, weight: str) -> None:
        assert self.scores(type=MOST, weight=weight) == {"n1": 0.0}

    def test_without_weights_it_scores_nothing(self) -> None:
        assert self.scores(type=MOST) == {"n1": 0.0}

    def test_an_unknown_type_scores_nothing(self) -> None:
        assert self.scores(type="Balanced", weight='{"cpu": 1}') == {"n1": 0.0}

    def test_weights_without_a_type_change_nothing(self) -> None:
        assert self.scores(weight='{"cpu": 1}') == self.scores()

    def test_tasks_that_differ_in_their_annotations_alone_are_told_apart(self) -> None:
        notes = {STRATEGY_TYPE: MOST, STRATEGY_WEIGHT: '{"cpu": 1}'}
        two = scene(node("n1", cpu=4), job("a", tasks=1, cpu=1), job("b", tasks=1, cpu=1, annotations=notes))
        assert (two.scores("a-0"), two.scores("b-0")) == ({"n1": 750.0}, {"n1": 250.0})


# Scarce resources


def test_the_worked_example_of_scarce_devices() -> None:
    spared = scene(
        node("plain"),
        node("t4", resources={T4: 1}),
        node("both", resources={T4: 1, A10: 1}),
        job("a", tasks=1, cpu=1),
        resourceStrategyFitWeight=0,
        sra={"enable": True, "resources": f"{T4}, {A10}", "weight": 2, "resourceWeight": {T4: 1, A10: 1}},
    )
    assert spared.scores("a-0") == {"plain": 200.0, "t4": 100.0, "both": 0.0}


def test_a_node_that_lacks_what_the_task_asks_for_is_not_spared() -> None:
    spared = scene(
        node("plain"),
        node("t4", resources={T4: 1}),
        job("a", tasks=1, cpu=1, resources={T4: 1}),
        resourceStrategyFitWeight=0,
        sra={"enable": True, "resources": f"{T4}, {A10}", "weight": 1},
    )
    assert spared.scores("a-0") == {"plain": 0.0, "t4": 50.0}


def test_settings_of_scarce_resources_that_make_no_sense_become_one() -> None:
    read = read_scarce(
        {"enable": True, "resources": "x, y,,z", "weight": 2, "resourceWeight": {"x": -4, "y": 0}}
    )
    assert (read.weight, read.weights) == (2, {"x": 1, "y": 0, "z": 1})


@pytest.mark.parametrize("raw", [{}, {"enable": True}, {"weight": 5}, {"enable": True, "weight": -1}])
def test_without_the_switch_or_a_weight_nothing_is_spared(raw: dict[str, object]) -> None:
    assert read_scarce({"resources": T4, **raw}).weight == 0
    assert scene(node("n1"), job("a", tasks=1), sra={"resources": T4, **raw}).scores("a-0") == {"n1": 0.0}


def test_where_no_listed_resource_has_a_weight_nothing_is_spared() -> None:
    weightless = {"enable": True, "resources": T4, "weight": 1, "resourceWeight": {T4: 0}}
    assert scene(node("n1"), job("a", tasks=1), sra=weightless).scores("a-0") == {"n1": 0.0}


# Room for idle devices


PROPORTIONAL = {
    "enable": True,
    "resources": GPU,
    "resourceProportion": {f"{GPU}.cpu": 8, f"{GPU}.memory": 1},
}


def test_the_worked_example_of_room_for_idle_devices() -> None:
    big = node("n1", cpu=66, memory="64Gi", gpu=8)
    asking = [job("eight", tasks=1, cpu=8), job("two", tasks=1, cpu=2), job("gpu", tasks=1, cpu=8, gpu=1)]
    kept = scene(big, *asking, proportional=PROPORTIONAL)
    assert kept.verdicts("eight-0") == {"n1": "UU"}
    assert kept.verdicts("two-0") == {"n1": "fits"}
    assert kept.verdicts("gpu-0") == {"n1": "fits"}
    assert "kept for idle devices" in kept.plainly("eight-0")


def test_devices_in_use_need_no_room_kept() -> None:
    kept = scene(
        node("n1", cpu=66, memory="64Gi", gpu=8),
        job("eight", tasks=1, cpu=8),
        job("gpu", tasks=1, gpu=1),
        proportional=PROPORTIONAL,
    )
    kept.put("gpu-0", "n1")
    assert kept.verdicts("eight-0") == {"n1": "fits"}
    kept.take_back("gpu-0")
    assert kept.verdicts("eight-0") == {"n1": "UU"}


def test_memory_is_kept_by_gigabytes() -> None:
    nodes = [node("n1", cpu=64, memory=8 * 10**9 + 5, gpu=8)]
    asking = [job("six", tasks=1, memory=6), job("five", tasks=1, memory=5)]
    proportional = {"enable": True, "resources": GPU}
    kept = scene(*nodes, *asking, proportional=proportional)
    assert (kept.verdicts("six-0"), kept.verdicts("five-0")) == ({"n1": "UU"}, {"n1": "fits"})


def test_a_node_whose_devices_are_all_taken_must_still_hold_the_task() -> None:
    nodes = [node("none", cpu=1, resources={GPU: 0}), node("plain", cpu=1)]
    kept = scene(*nodes, job("a", tasks=1, cpu=2), proportional=PROPORTIONAL)
    assert kept.verdicts("a-0") == {"none": "UU", "plain": "fits"}


def test_ratios_below_zero_become_one_and_without_the_switch_nothing_is_kept() -> None:
    raw = {"resources": f"{GPU}, {GPU}", "resourceProportion": {f"{GPU}.cpu": -1, f"{GPU}.memory": 0.5}}
    assert read_reserves(raw) == {}
    read = read_reserves({"enable": True, **raw})
    assert {name: (kept.cpu, kept.memory) for name, kept in read.items()} == {GPU: (1.0, 0.5)}


# Whole cycles and kernels


def test_a_whole_cycle_packs_devices_and_spreads_cpu() -> None:
    story = Story(
        "gpu tasks share a node, the others spread",
        nodes=[node("n1", cpu=8, gpu=4), node("n2", cpu=8, gpu=4)],
        jobs=[job("train", tasks=4, gpu=1), job("web", tasks=2, cpu=2)],
        tiers=[["gang", plugin("resource-strategy-fit", PACK_GPUS)]],
        plugins=[ResourceStrategyFit],
        expect={"train": {"n1": 4}, "web": {"n1": 1, "n2": 1}},
    )
    assert story.play() == story.expect


def test_it_keeps_the_contract_of_plugins() -> None:
    check_plugin(ResourceStrategyFit)
    sra = {"enable": True, "resources": GPU, "weight": 1}
    check_plugin(ResourceStrategyFit, {**PACK_GPUS, "sra": sra, "proportional": PROPORTIONAL})


AMOUNTS = st.integers(0, 20)
MATRIX = st.lists(st.tuples(AMOUNTS, AMOUNTS, AMOUNTS), min_size=1, max_size=5)
TYPES = st.sampled_from([MOST, LEAST, "Balanced"])
STRATEGIES = st.lists(st.builds(Strategy, TYPES, st.integers(0, 3)), min_size=1, max_size=3)


@given(MATRIX, MATRIX, st.tuples(AMOUNTS, AMOUNTS, AMOUNTS), STRATEGIES)
def test_the_fit_agrees_with_a_plain_loop(
    used: list[tuple[int, ...]],
    spare: list[tuple[int, ...]],
    request: tuple[int, ...],
    strategies: list[Strategy],
) -> None:
    count = min(len(used), len(spare))
    held = np.array(used[:count])
    allocatable = np.array(spare[:count])
    columns = list(enumerate(strategies))
    expected = [fit_of_one(request, used[row], tuple(spare[row]), dict(columns)) for row in range(count)]
    assert fit(np.array(request), held.T, allocatable.T, columns).tolist() == pytest.approx(expected)


def fit_of_one(
    request: tuple[int, ...], used: tuple[int, ...], has: tuple[int, ...], strategies: dict[int, Strategy]
) -> float:
    score, weights = 0.0, 0
    for at, strategy in strategies.items():
        weights += strategy.weight
        if has[at] == 0 or strategy.weight == 0 or strategy.type not in (MOST, LEAST):
            continue
        after = used[at] + request[at]
        if after > has[at]:
            return 0.0
        score += strategy.weight * (after if strategy.type == MOST else has[at] - after) / has[at]
    return score / weights if weights else 0.0


@given(MATRIX, st.tuples(AMOUNTS, AMOUNTS, AMOUNTS), st.integers(0, 3), st.integers(0, 3))
def test_sparing_agrees_with_a_plain_loop(
    has: list[tuple[int, ...]], request: tuple[int, ...], one: int, other: int
) -> None:
    scarce, total = {1: one, 2: other}, one + other + 1
    expected = [
        0.0
        if any(request[at] and not node[at] for at in range(3))
        else 1 - sum(weight for at, weight in scarce.items() if node[at]) / total
        for node in has
    ]
    assert plainness(np.array(request), np.array(has), scarce, total).tolist() == pytest.approx(expected)


@given(MATRIX, st.tuples(AMOUNTS, AMOUNTS, AMOUNTS), st.integers(0, 3), st.integers(0, 3), st.data())
def test_keeping_room_agrees_with_a_plain_loop(
    idle: list[tuple[int, ...]], request: tuple[int, ...], cpu: int, memory: int, data: st.DataObject
) -> None:
    offers = data.draw(st.lists(st.booleans(), min_size=len(idle), max_size=len(idle)))
    expected = [
        has and (left[0] - request[0] < left[2] * cpu or left[1] - request[1] < left[2] * memory)
        for left, has in zip(idle, offers, strict=True)
    ]
    reserves = {2: (float(cpu), float(memory))}
    short = eats_into_reserve(np.array(request), np.array(idle).T, {2: np.array(offers)}, reserves)
    assert short.tolist() == expected
