"""Shards: a hard shard is a fence, a soft one a preference."""

from __future__ import annotations

import pytest

from hekla.engine.framework.decisions import Tell, UpdateShard
from hekla.engine.model.node import Shard, shard_of
from hekla.objects import NodeShard
from hekla.objects.node import NodeShardStatus
from hekla.testing import Story, job, node, node_shard, pod

HARD, SOFT = Shard("hard", frozenset({"n2"})), Shard("soft", frozenset({"n2"}))
GANG = ("priority, gang, conformance",)
NODES = [node("n1", cpu=2), node("n2", cpu=2)]

STORIES = [
    Story(
        "with a hard shard only its own nodes are used",
        nodes=NODES,
        jobs=[job("a", tasks=3, cpu=1, min_available=1)],
        shard=HARD,
        tiers=GANG,
        expect={"a": {"n2": 2}},
    ),
    Story(
        "with a soft shard its own nodes come first, then the others",
        nodes=NODES,
        jobs=[job("a", tasks=3, cpu=1, min_available=1)],
        shard=SOFT,
        tiers=GANG,
        expect={"a": {"n1": 1, "n2": 2}},
    ),
    Story(
        "a foreign node that is free now beats an own one that will be free later",
        nodes=NODES,
        jobs=[pod("old", on="n2", is_leaving=True, cpu=2), job("a", tasks=1, cpu=1)],
        shard=SOFT,
        tiers=GANG,
        expect={"a": {"n1": 1}},
    ),
    Story(
        "among nodes that will be free later the own one comes first",
        nodes=NODES,
        jobs=[
            pod("old1", on="n1", is_leaving=True, cpu=2),
            pod("old2", on="n2", is_leaving=True, cpu=2),
            job("a", tasks=1, cpu=1),
        ],
        shard=SOFT,
        tiers=GANG,
        expect={"a": {"pipelined": {"n2": 1}}},
    ),
    Story(
        "backfill keeps to a hard shard",
        nodes=NODES,
        jobs=[job("a", tasks=0, best_effort=2)],
        shard=HARD,
        tiers=GANG,
        expect={"a": {"n2": 2}},
    ),
    Story(
        "backfill prefers a soft shard",
        nodes=NODES,
        jobs=[job("a", tasks=0, best_effort=2)],
        shard=SOFT,
        tiers=GANG,
        expect={"a": {"n2": 2}},
    ),
    Story(
        "preempt evicts on the shard's own node, although the other comes first",
        nodes=[node("n1", cpu=1), node("n2", cpu=1)],
        jobs=[
            job("low", tasks=2, cpu=1, running={"n1": 1, "n2": 1}, min_available=1, priority=1),
            job("high", tasks=1, cpu=1, priority=9),
        ],
        shard=SOFT,
        actions="preempt",
        tiers=GANG,
        expect={"low": {"evicted": ["low-1"]}, "high": {"pipelined": {"n2": 1}}},
    ),
    Story(
        "preempt does not reach beyond a hard shard",
        nodes=[node("n1", cpu=1), node("n2", cpu=1)],
        jobs=[
            pod("stays", on="n2", cpu=1),
            job("low", tasks=1, cpu=1, running={"n1": 1}, min_available=0, priority=1),
            job("high", tasks=1, cpu=1, priority=9),
        ],
        shard=HARD,
        actions="preempt",
        tiers=GANG,
        expect={"low": "running", "high": "pending"},
    ),
    Story(
        "preempt reaches beyond a soft shard where its own nodes will not do",
        nodes=[node("n1", cpu=1), node("n2", cpu=1)],
        jobs=[
            pod("stays", on="n2", cpu=1),
            job("low", tasks=1, cpu=1, running={"n1": 1}, min_available=0, priority=1),
            job("high", tasks=1, cpu=1, priority=9),
        ],
        shard=SOFT,
        actions="preempt",
        tiers=GANG,
        expect={"low": {"evicted": ["low-0"]}, "high": {"pipelined": {"n1": 1}}},
    ),
    Story(
        "reclaim takes back on the shard's own node, although the other comes first",
        nodes=[node("n1", cpu=1), node("n2", cpu=1)],
        jobs=[
            job("low", tasks=2, cpu=1, running={"n1": 1, "n2": 1}, queue="q2"),
            job("high", tasks=1, cpu=1, queue="q1"),
        ],
        shard=SOFT,
        actions="reclaim",
        tiers=("priority, conformance",),
        expect={"low": {"evicted": ["low-1"]}, "high": {"pipelined": {"n2": 1}}},
    ),
    Story(
        "reclaim does not reach beyond a hard shard",
        nodes=[node("n1", cpu=1), node("n2", cpu=1)],
        jobs=[
            job("low", tasks=1, cpu=1, running={"n1": 1}, queue="q2"),
            job("high", tasks=1, cpu=1, queue="q1"),
        ],
        shard=HARD,
        actions="reclaim",
        tiers=("priority, conformance",),
        expect={"low": "running", "high": "pending"},
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_shard(story: Story) -> None:
    assert story.play() == story.expect


def test_who_is_kept_out_by_the_fence_is_told_so() -> None:
    story = Story("a fence", NODES, [job("a", tasks=1, cpu=4)], shard=HARD, tiers=GANG)
    told = [d.message for d in story.cycle().decisions if isinstance(d, Tell)]
    assert told == [
        "0/2 nodes are unavailable: 1 Insufficient cpu, 1 node is not in the scheduler's node shard."
    ]


def shard_news(*shards: NodeShard, mode: str = "hard") -> list[UpdateShard]:
    story = Story("shards", NODES, [], shard=shard_of(shards, mode), objects=shards, tiers=GANG)
    return [d for d in story.cycle().decisions if isinstance(d, UpdateShard)]


def test_the_nodes_in_use_are_reported_where_that_is_news() -> None:
    news = UpdateShard("volcano", NodeShardStatus(nodes_in_use=("n1", "n2")))
    assert shard_news(node_shard("volcano", ["n1", "n2"])) == [news]
    assert shard_news(node_shard("volcano", ["n1", "n2"], in_use=["n1", "n2"])) == []


def test_a_node_that_another_shard_gives_up_late_is_reported_as_missing() -> None:
    own, other = node_shard("volcano", ["n1", "n2"]), node_shard("other", [], in_use=["n2"])
    news = UpdateShard("volcano", NodeShardStatus(nodes_in_use=("n1",), nodes_to_add=("n2",)))
    assert shard_news(own, other) == [news]


def test_other_shards_and_schedulers_without_one_report_nothing() -> None:
    assert shard_news(node_shard("other", ["n1"])) == []
    assert shard_news(node_shard("volcano", ["n1"]), mode="none") == []
