from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from plugin_stage import (
    PREFERRED,
    WEIGHTS,
    Stage,
    dislikes,
    in_zone,
    likes,
    near,
    node,
    only,
    pod,
    spread,
    term,
)

from hekla.engine.framework.points import BATCH_NODE_ORDER, NODE_ORDER
from hekla.engine.ledger.arrays import Rows
from hekla.engine.ledger.states import NodeStates
from hekla.engine.plugins.nodeorder.pod_scores import stretched

MIB = 2**20
HALF_CORE: dict[str, object] = {"cpu": "500m"}
QUARTER_FULL = [node("n1"), pod("runs", on="n1", requests={"cpu": 1, "memory": "2Gi"})]


def preferring(*terms: tuple[int, str, str]) -> dict[str, Any]:
    wishes = [
        {"weight": weight, "preference": {"matchExpressions": [{"key": k, "operator": "In", "values": [v]}]}}
        for weight, k, v in terms
    ]
    return {"nodeAffinity": {PREFERRED: wishes}}


@pytest.mark.parametrize(
    ("score", "expected"), [("leastrequested", 67), ("mostrequested", 32), ("balancedresource", 71)]
)
def test_a_half_core_task_on_a_quarter_full_node(score: str, expected: int) -> None:
    stage = Stage(*QUARTER_FULL, pod("new", requests=HALF_CORE), nodeorder=only(score))
    assert stage.scores("new") == {"n1": expected}


def test_a_task_that_asks_for_nothing_is_scored_with_a_small_share() -> None:
    # (4000 - 100) * 100 / 4000 = 97 and (8 GiB - 200 MiB) * 100 / 8 GiB = 97
    assert Stage(node("n1"), pod("new"), nodeorder=only("leastrequested")).scores("new") == {"n1": 97}
    assert Stage(node("n1"), pod("new"), nodeorder=only("balancedresource")).scores("new") == {"n1": 0}


def test_a_request_beyond_the_node_leaves_nothing_free() -> None:
    stage = Stage(
        node("n1", cpu=1), pod("new", requests={"cpu": 2, "memory": "4Gi"}), nodeorder=only("leastrequested")
    )
    assert stage.scores("new") == {"n1": 25}


def test_a_resource_the_node_lacks_is_not_counted() -> None:
    stage = Stage(node("n1", memory=0), pod("new", requests={"cpu": 1}), nodeorder=only("leastrequested"))
    assert stage.scores("new") == {"n1": 75}


def test_gpus_count_for_balance_only_when_the_task_asks_for_them() -> None:
    nodes = [node("n1", cpu=4, memory="8Gi", gpu=2), node("n2", cpu=4, memory="8Gi")]
    ask = {"cpu": 2, "memory": "4Gi"}
    stage = Stage(
        *nodes,
        pod("plain", requests=ask),
        pod("gpu", requests={**ask, "nvidia.com/gpu": 2}),
        nodeorder=only("balancedresource"),
    )
    assert stage.scores("plain") == {"n1": 75, "n2": 75}
    # Shares 0.5, 0.5, 1: standard deviation 0.2357, so 76; 50 + (50 + 76 - 100) / 2 = 63
    assert stage.scores("gpu") == {"n1": 63, "n2": 75}


def test_the_nodes_own_scores_follow_every_placement() -> None:
    stage = Stage(node("n1"), node("n2"), pod("a", requests=HALF_CORE), pod("new", requests=HALF_CORE))
    before = stage.scores("new")
    stage.put("a", "n2")
    after = stage.scores("new")
    assert after["n1"] == before["n1"]
    assert after["n2"] < before["n2"]
    stage.take_back("a")
    assert stage.scores("new") == before


@pytest.mark.parametrize("rows", [np.array([1]), np.array([0, 2]), slice(3, 4), np.arange(12)], ids=str)
def test_few_rows_and_many_rows_score_alike(rows: Rows) -> None:
    nodes = [node(f"n{i}", cpu=i % 5, memory=f"{i}Gi", gpu=i % 3) for i in range(12)]
    runs = [pod(f"p{i}", on=f"n{i}", requests={"cpu": "300m", "memory": "1Gi"}) for i in range(12)]
    task = pod("new", requests={"cpu": 1, "memory": "700Mi", "nvidia.com/gpu": 1})
    stage = Stage(*nodes, *runs, task, nodeorder={"mostrequested.weight": 1})
    plugin, nodes_of, pods_of = stage.nodeorder, stage.session.nodes, stage.session.pods
    for score in (plugin.prefer_free_nodes, plugin.prefer_full_nodes, plugin.prefer_evenly_used_nodes):
        everywhere = score(stage.task("new"), NodeStates(nodes_of, pods_of))
        some = score(stage.task("new"), NodeStates(nodes_of, pods_of, rows))
        assert some.tolist() == everywhere[rows].tolist()


SOFT = [
    node("n1"),
    node("n2", taints=["a:PreferNoSchedule", "b=x:PreferNoSchedule"]),
    node("n3", taints=["c:PreferNoSchedule", "d:NoSchedule"]),
]


def test_soft_taints_cost_points_in_proportion() -> None:
    stage = Stage(*SOFT, pod("new"))
    taints = stage.nodeorder.prefer_tolerated_nodes(stage.task("new"), np.ones(3, dtype=np.bool_))
    assert taints.tolist() == [0, -300, -150]
    assert stage.nodeorder.tolerate_all_nodes(stage.task("new")) == 300


def test_only_candidates_count_for_the_worst() -> None:
    stage = Stage(*SOFT, pod("new"), nodeorder=only("tainttoleration"))
    assert stage.scores("new", "n1", "n3") == {"n1": 100, "n3": 0}
    assert stage.scores("new", "n1") == {"n1": 100}


def test_tolerations_of_soft_taints_count_and_those_of_hard_ones_do_not() -> None:
    tolerations = [{"operator": "Exists", "key": "a"}, {"operator": "Exists", "effect": "NoSchedule"}]
    stage = Stage(*SOFT, pod("new", tolerations=tolerations), nodeorder=only("tainttoleration"))
    assert stage.scores("new") == {"n1": 100, "n2": 0, "n3": 0}


def test_without_soft_taints_every_node_gets_all_points() -> None:
    stage = Stage(node("n1", taints=["d:NoSchedule"]), pod("new"), nodeorder=only("tainttoleration", 3))
    assert stage.scores("new") == {"n1": 300}


def test_only_tasks_that_mind_some_nodes_are_measured_against_the_candidates() -> None:
    tolerations = [{"operator": "Exists"}]
    stage = Stage(*SOFT, pod("new"), pod("tolerant", tolerations=tolerations))
    assert not stage.session.scoring.is_foreseeable(stage.task("new"))
    assert stage.session.scoring.is_foreseeable(stage.task("tolerant"))


def test_preferred_nodes_are_measured_against_the_best_candidate() -> None:
    nodes = [
        node(f"n{i}", labels={"disk": disk, "size": size})
        for i, (disk, size) in enumerate((("", ""), ("ssd", ""), ("", "l")))
    ]
    task = pod("new", affinity=preferring((30, "disk", "ssd"), (80, "size", "l"), (0, "disk", "")))
    stage = Stage(*nodes, task, nodeorder=only("nodeaffinity", weight=2))
    assert stage.scores("new") == {"n0": 0, "n1": 74, "n2": 200}
    assert stage.scores("new", "n0", "n1") == {"n0": 0, "n1": 200}
    assert stage.scores("new", "n0") == {"n0": 0}


def test_an_image_of_500_mib_on_two_of_four_nodes() -> None:
    image = {"registry/app:latest": 500 * MIB}
    nodes = [node("n1", images=image), node("n2", images=image), node("n3"), node("n4")]
    stage = Stage(*nodes, pod("new", container={"image": "registry/app"}), nodeorder=only("imagelocality"))
    assert stage.scores("new") == {"n1": 23, "n2": 23, "n3": 0, "n4": 0}


def test_raw_affinity_is_stretched_over_the_candidates() -> None:
    everyone = np.ones(3, dtype=np.bool_)
    assert stretched(np.array([-10, 0, 30]), everyone).tolist() == [0, 25, 100]
    assert stretched(np.array([0, 29, 100]), everyone).tolist() == [0, 28, 100]
    assert stretched(np.array([7, 7, 0]), np.array([True, True, False])) is None


ZONES = [in_zone("n1", "z1"), in_zone("n2", "z2"), in_zone("n3", "z2"), in_zone("n4", "z3")]


def test_a_task_leans_towards_pods_it_likes_and_away_from_those_it_dislikes() -> None:
    stage = Stage(
        *ZONES,
        pod("friend", on="n2", labels={"app": "db"}),
        pod("foe", on="n4", labels={"app": "noise"}),
        pod("new", affinity={**likes(30, term("db")), **dislikes(10, term("noise"))}),
        nodeorder=only("podaffinity", weight=2),
    )
    assert stage.scores("new") == {"n1": 50, "n2": 200, "n3": 200, "n4": 0}


def test_pods_that_like_or_dislike_the_task_pull_and_push_it() -> None:
    stage = Stage(
        *ZONES,
        pod("fan", on="n1", affinity=likes(30, term("db"))),
        pod("critic", on="n4", affinity=dislikes(10, term("db"))),
        pod("needs", on="n2", labels={"app": "db"}, affinity=near(term("db"))),
        pod("new", labels={"app": "db"}),
        nodeorder=only("podaffinity"),
    )
    # A required term of an existing pod gives no points in Volcano.
    assert stage.scores("new") == {"n1": 100, "n2": 25, "n3": 25, "n4": 0}


def test_whom_a_pod_placed_just_now_likes_counts_only_on_nodes_of_the_frozen_list() -> None:
    fan = {"affinity": likes(30, term("db"))}
    stage = Stage(
        *ZONES,
        pod("old", on="n4", affinity=near(term("x"))),
        pod("fan", **fan),
        pod("fan-too", **fan),
        pod("new", labels={"app": "db"}),
        pod("opinionated", labels={"app": "db"}, affinity=likes(1, term("nobody"))),
        nodeorder=only("podaffinity"),
    )
    stage.put("fan", "n1")
    assert set(stage.scores("new").values()) == {0}
    assert stage.scores("opinionated") == {"n1": 100, "n2": 0, "n3": 0, "n4": 0}
    stage.put("fan-too", "n4")
    assert stage.scores("new") == {"n1": 0, "n2": 0, "n3": 0, "n4": 100}


def test_soft_spread_over_hosts_with_none_one_and_three_of_the_kind() -> None:
    runs = [("n2", 1), ("n3", 3)]
    stage = Stage(
        *(in_zone(f"n{i}", "z") for i in (1, 2, 3)),
        *(pod(f"{on}-{i}", on=on, labels={"app": "web"}) for on, count in runs for i in range(count)),
        pod("new", topologySpreadConstraints=[spread("web", "kubernetes.io/hostname", hard=False)]),
        nodeorder=only("podtopologyspread", weight=2),
    )
    assert stage.scores("new") == {"n1": 200, "n2": 120, "n3": 0}


def test_a_candidate_without_the_label_of_a_soft_spread_gets_nothing() -> None:
    stage = Stage(
        *ZONES,
        node("n5"),
        pod("runs", on="n2", labels={"app": "web"}),
        pod("new", topologySpreadConstraints=[spread("web", hard=False)]),
        nodeorder=only("podtopologyspread"),
    )
    assert stage.scores("new") == {"n1": 100, "n2": 0, "n3": 0, "n4": 100, "n5": 0}


def test_with_no_weight_no_score_is_asked_for() -> None:
    nothing = {f"{name}.weight": 0 for name in WEIGHTS}
    stage = Stage(*SOFT, pod("new", requests=HALF_CORE, affinity=likes(1, term("new"))), nodeorder=nothing)
    dispatch = stage.session.dispatch
    assert not dispatch.handlers(NODE_ORDER)
    assert not dispatch.handlers(BATCH_NODE_ORDER)
    assert set(stage.scores("new").values()) == {0}
