"""What "The backfill action in detail (Volcano)" says of nodes: filters, shards and scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from backfill_stories import (
    ASKING,
    GANG,
    LAST_IS_BEST,
    NOTHING,
    ONE,
    SSD,
    best_effort,
    case,
    choosing,
    fit_errors,
    nodes,
)
from msgspec.structs import replace as changed
from opinion_plugins import advised, opinion_on, scoring
from statements import holds

from hekla.engine.framework import points
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import answers
from hekla.engine.ledger.arrays import Floats, Mask
from hekla.engine.model.diagnosis import Code, Refusal
from hekla.engine.model.node import Shard
from hekla.engine.model.task import Task
from hekla.objects import Pod
from hekla.objects.pod import Affinity, ContainerPort, NodeAffinity, NodeSelector, NodeSelectorTerm
from hekla.objects.pod import NodeSelectorRequirement as Requirement
from hekla.testing import Story, job, node, pod

# Filters and shards


def listening(built: Pod, port: int = 80) -> Pod:
    """The pod with a port of its node."""
    (container,) = built.spec.containers
    container = changed(container, ports=(ContainerPort(host_port=port),))
    return changed(built, spec=changed(built.spec, containers=(container,)))


def on_ssd() -> Affinity:
    term = NodeSelectorTerm(match_expressions=(Requirement("disk", "In", ("ssd",)),))
    return Affinity(node_affinity=NodeAffinity(required=NodeSelector(node_selector_terms=(term,))))


@holds("backfill-10", "backfill-30")
def test_affinity_taints_and_ports_rule_nodes_out() -> None:
    tainted = node("n2", labels=SSD, taints=["gpu=yes:NoSchedule"])
    web = best_effort("web", affinity=on_ssd())
    story = Story(
        "only the last one will do",
        [node("n1"), tainted, *nodes("n3", "n4", labels=SSD)],
        [listening(pod("old", on="n3")), replace(web, pods=tuple(map(listening, web.pods)))],
        tiers=GANG,
    )
    assert story.play() == {"web": {"n4": 1}}
    assert fit_errors(replace(story, nodes=story.nodes[:3])) == {
        "web-0": "0/3 nodes are unavailable: 1 node(s) didn't have free ports for the requested pod ports, "
        "1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s)."
    }


@holds("backfill-29")
@pytest.mark.parametrize("code", list(Code), ids=lambda code: code.name.lower())
@pytest.mark.parametrize("asks", [ASKING, NOTHING], ids=["allocate", "backfill"])
def test_a_refusal_counts_as_in_allocate_even_one_that_an_eviction_might_cure(
    asks: dict[str, Any], code: Code
) -> None:
    def not_on_the_best(_task: Task) -> list[Refusal]:
        return [Refusal("not here", np.array([False, False, True]), code)]

    refusing = opinion_on(points.PREDICATE, not_on_the_best)
    story = replace(ONE, jobs=[job("a", **asks)])
    assert advised(story, LAST_IS_BEST, refusing).play() == {"a": {"n2": 1}}


SHARDS = [
    case(
        "backfill-32 backfill-34",
        "without shards all nodes are one group",
        "none",
        (),
        [["n1", "n2", "n3", "n4"]],
        {"n4": 1},
    ),
    case(
        "backfill-29 backfill-31 backfill-32 backfill-34",
        "with a hard shard its own nodes are the only group",
        "hard",
        (),
        [["n2", "n3"]],
        {"n3": 1},
    ),
    case(
        "backfill-31 backfill-33 backfill-34",
        "with a hard shard there is no second group, even where the first is empty",
        "hard",
        ("n2", "n3"),
        [],
        "pending",
    ),
    case(
        "backfill-32 backfill-35 backfill-36",
        "with a soft shard its own nodes come first, whatever the others score",
        "soft",
        (),
        [["n2", "n3"]],
        {"n3": 1},
    ),
    case(
        "backfill-33 backfill-35 backfill-36",
        "with a soft shard the others follow where no own node is suitable",
        "soft",
        ("n2", "n3"),
        [["n1", "n4"]],
        {"n4": 1},
    ),
]


@holds("backfill-13")
@pytest.mark.parametrize(("mode", "closed", "groups", "outcome"), SHARDS)
def test_shards(mode: str, closed: Sequence[str], groups: list[list[str]], outcome: object) -> None:
    names, scored = ("n1", "n2", "n3", "n4"), list[list[str]]()

    def note(_task: Task, among: Mask) -> None:
        scored.append([name for name, is_candidate in zip(names, among, strict=True) if is_candidate])

    story = replace(
        ONE,
        nodes=[node(name, unschedulable=name in closed) for name in names],
        shard=Shard(mode, frozenset({"n2", "n3"})),
    )
    noting, last_is_best = opinion_on(points.BATCH_NODE_ORDER, note), scoring(points.NODE_ORDER, 1, 2, 3, 4)
    assert advised(story, noting, last_is_best, choosing(None)).play() == {"a": outcome}
    assert scored == groups


# Scores


@pytest.mark.parametrize(
    ("plugins", "chosen"),
    [
        case("backfill-14 backfill-15 backfill-38", "the highest score wins", [LAST_IS_BEST], "n3"),
        case(
            "backfill-15",
            "a plugin that chooses is heeded before the scores",
            [LAST_IS_BEST, choosing(1)],
            "n2",
        ),
        case(
            "backfill-40",
            "a plugin that names no node leaves the choice to the scores",
            [LAST_IS_BEST, choosing(None)],
            "n3",
        ),
        case(
            "backfill-37",
            "scores of all candidates at once count",
            [scoring(points.BATCH_NODE_ORDER, 1, 3, 2)],
            "n2",
        ),
        case(
            "backfill-37 backfill-38",
            "both kinds of scores are added: 2 + 9 beats 1 + 9 and 3 + 7",
            [LAST_IS_BEST, scoring(points.BATCH_NODE_ORDER, 9, 9, 7, name="batch")],
            "n2",
        ),
        case(
            "backfill-41",
            "among equals the first node is taken and never one by chance, see docs/compat.md",
            [],
            "n1",
        ),
    ],
)
def test_scores(plugins: Sequence[type[Plugin]], chosen: str) -> None:
    assert advised(ONE, *plugins).play() == {"a": {chosen: 1}}


@holds("backfill-37")
def test_nodeorder_keeps_pods_off_a_node_with_a_taint_that_repels() -> None:
    story = replace(ONE, nodes=[node("n1", taints=["old=yes:PreferNoSchedule"]), node("n2")])
    assert story.play() == {"a": {"n1": 1}}
    assert replace(story, tiers=(*GANG, "nodeorder")).play() == {"a": {"n2": 1}}


@holds("backfill-39")
def test_a_plugin_may_reduce_the_scores_that_it_gave_to_single_nodes() -> None:
    class Raw(Plugin):
        name = "raw"

        @answers(points.NODE_ORDER)
        def in_hundreds(self, _task: Task, _among: Mask) -> Floats:
            return np.array([900.0, 0.0, 0.0])

    class Reduced(Raw):
        name = "reduced"

        @answers(points.NODE_ORDER_REDUCE)
        def up_to_ten(self, _task: Task, scores: Floats, among: Mask) -> Floats:
            return np.asarray(10 * scores / scores[among].max())

    other = scoring(points.NODE_ORDER, 0, 100, 0)
    assert advised(ONE, Raw, other).play() == {"a": {"n1": 1}}
    assert advised(ONE, Reduced, other).play() == {"a": {"n2": 1}}
