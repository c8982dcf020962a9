"""Shard: which nodes are this scheduler's own, and what its owner reports."""

from __future__ import annotations

import pytest

from hekla.engine.model.node import Shard, shard_of, status_of_shard
from hekla.objects import NodeShard
from hekla.objects.node import NodeShardStatus
from hekla.testing import node_shard

OWN = node_shard("volcano", ["n1", "n2"])


@pytest.mark.parametrize(
    ("manifests", "nodes"),
    [
        ([OWN], {"n1", "n2"}),
        ([OWN, node_shard("other", ["n2", "n3"])], {"n1", "n2"}),
        ([OWN, node_shard("other", ["n3"], in_use=["n2", "n3"])], {"n1"}),
        ([OWN, node_shard("one", [], in_use=["n1"]), node_shard("two", [], in_use=["n2"])], set()),
        ([node_shard("volcano", ["n1"], in_use=["n1", "n2"])], {"n1"}),
        ([node_shard("other", ["n1"])], set()),
        ([], set()),
    ],
    ids=[
        "the nodes that are wanted for it",
        "what others only want does not matter",
        "less what another one still has in use",
        "or several others",
        "what it has in use itself is not held against it",
        "without an object of its name there are none",
        "nor without any",
    ],
)
@pytest.mark.parametrize("mode", ["hard", "soft"])
def test_the_own_nodes(manifests: list[NodeShard], nodes: set[str], mode: str) -> None:
    assert shard_of(manifests, mode) == Shard(mode, frozenset(nodes), "volcano")


def test_where_shards_are_not_asked_for_all_nodes_are_alike() -> None:
    assert shard_of([OWN], "none") == Shard()


def test_a_scheduler_may_go_by_another_name() -> None:
    assert shard_of([OWN, node_shard("gpu", ["n3"])], "hard", "gpu").nodes == {"n3"}


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ({"n1", "n2"}, NodeShardStatus(nodes_in_use=("n1", "n2"))),
        ({"n2"}, NodeShardStatus(nodes_in_use=("n2",), nodes_to_add=("n1",))),
        (set(), NodeShardStatus(nodes_to_add=("n1", "n2"))),
        ({"n1", "n9"}, NodeShardStatus(("n1", "n9"), ("n2",), ("n9",))),
    ],
    ids=[
        "all that is wanted is in use",
        "another one still has a part of it",
        "or all of it",
        "something is in use that is not wanted any more",
    ],
)
def test_what_its_owner_reports(nodes: set[str], expected: NodeShardStatus) -> None:
    assert status_of_shard(OWN, Shard("hard", frozenset(nodes), "volcano")) == expected
