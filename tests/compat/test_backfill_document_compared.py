"""What "The backfill action in detail (Volcano)" says, next to allocate, and the questions it answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from backfill_stories import ASKING, GANG, NOTHING, ONE, RACKS, SSD, TWO, best_effort, case, nodes, tale
from opinion_plugins import ASKED, advised, heard, opinion_on, scoring
from statements import holds

from hekla.clock import VirtualClock
from hekla.cluster.embedded import EmbeddedCluster
from hekla.engine.framework import points
from hekla.engine.framework.decisions import UpdatePodGroup
from hekla.engine.framework.plugin import Plugin
from hekla.engine.model.node import Shard
from hekla.scheduler.loop import Loop
from hekla.testing import PodRole, Story, conf_of, job, node, pod, queue, racks, sub_group, told

# Compared with allocate

COMPARED = [
    tale(
        "backfill-45",
        "a placement counts at once: the next pod finds the node full",
        [best_effort("a", 3)],
        {"a": {"n1": 1, "n2": 1}},
        nodes=nodes("n1", "n2", pods=1),
    ),
    tale(
        "backfill-47",
        "allocate places a gang whole or not at all",
        [job("a", tasks=3, cpu=1), job("b", tasks=2, cpu=1)],
        {"a": "pending", "b": {"n1": 2}},
        nodes=nodes("n1", cpu=2),
    ),
    tale(
        "backfill-47 backfill-60",
        "backfill places as many pods of a gang as it can",
        [best_effort("a", 3, min_available=3)],
        {"a": {"n1": 2}},
        nodes=nodes("n1", pods=2),
    ),
    tale(
        "backfill-60",
        "minimums of roles and of sub-groups do not keep it from that",
        [
            job(
                "a",
                roles=[PodRole("w", 3, 3, {"labels": {"group": "one"}})],
                sub_groups=[sub_group("g", size=3, minimum=1)],
            )
        ],
        {"a": {"n1": 2}},
        nodes=nodes("n1", pods=2),
    ),
    tale(
        "backfill-50",
        "allocate keeps a job in one rack",
        [job("a", tasks=2, cpu=1, topology=("hard", 1))],
        {"a": "pending"},
        nodes=nodes("n1", "n2", cpu=1),
        objects=racks(s0=["n1"], s1=["n2"]),
        tiers=RACKS,
    ),
    tale(
        "backfill-50",
        "backfill spreads a job over racks, whatever its topology",
        [best_effort("a", 2, topology=("hard", 1))],
        {"a": {"n1": 1, "n2": 1}},
        nodes=nodes("n1", "n2", pods=1),
        objects=racks(s0=["n1"], s1=["n2"]),
        tiers=RACKS,
    ),
    tale(
        "backfill-52",
        "backfill keeps no place on a node that is yet to be freed",
        [pod("old", on="n1", is_leaving=True), best_effort("a")],
        {"a": "pending"},
        nodes=nodes("n1", pods=1),
    ),
]


@pytest.mark.parametrize("story", COMPARED)
def test_compared_with_allocate(story: Story) -> None:
    assert story.play() == story.expect


@holds("backfill-50")
@pytest.mark.parametrize(
    ("asks", "chosen"), [(ASKING, ["n2", "n3"]), (NOTHING, ["n1", "n2"])], ids=["allocate", "backfill"]
)
def test_allocate_heeds_soft_topology_and_backfill_does_not(asks: dict[str, Any], chosen: list[str]) -> None:
    """Two pods fit into one of the racks, and n1 in the other has the best score."""
    jobs = [job("a", tasks=2, topology=("soft", 1), **asks)]
    domains = racks(s0=["n1"], s1=["n2", "n3"])
    story = Story("", nodes("n1", "n2", "n3", cpu=1, pods=1), jobs, objects=domains, tiers=RACKS)
    assert advised(story, scoring(points.NODE_ORDER, 3, 2, 1)).play() == {"a": dict.fromkeys(chosen, 1)}


@pytest.mark.parametrize(
    "opinion",
    [
        case("backfill-48", "overused", opinion_on(points.OVERUSED, lambda _: True)),
        case("backfill-49", "allocatable", opinion_on(points.ALLOCATABLE, lambda *_: False)),
    ],
)
def test_allocate_asks_what_the_queue_may_take_and_backfill_does_not(opinion: type[Plugin]) -> None:
    story = replace(ONE, jobs=[job("a", cpu=1), best_effort("b")])
    assert advised(story, opinion).play() == {"a": "pending", "b": {"n1": 1}}


@holds("backfill-51")
@pytest.mark.parametrize(("asks", "chosen"), [(ASKING, "n2"), (NOTHING, "n1")], ids=["allocate", "backfill"])
def test_allocate_prefers_what_is_idle_now_and_to_backfill_it_makes_no_difference(
    asks: dict[str, Any], chosen: str
) -> None:
    """The better node has its only core taken by a pod that leaves."""
    jobs = [pod("old", on="n1", cpu=1, is_leaving=True), job("a", **asks)]
    story = Story("", nodes("n1", "n2", cpu=1), jobs, tiers=GANG)
    assert advised(story, scoring(points.NODE_ORDER, 1, 0)).play() == {"a": {chosen: 1}}


@holds("backfill-53")
@pytest.mark.parametrize(("asks", "chosen"), [(ASKING, "n2"), (NOTHING, "n1")], ids=["allocate", "backfill"])
def test_allocate_goes_to_the_nominated_node_and_backfill_to_the_best(
    asks: dict[str, Any], chosen: str
) -> None:
    story = Story("", nodes("n1", "n2"), [job("a", nominated="n2", **asks)], tiers=GANG)
    assert advised(story, scoring(points.NODE_ORDER, 1, 0)).play() == {"a": {chosen: 1}}


IDLE, LEAVING, FULL = "idle", "leaving", "full"


@holds("backfill-54")
@pytest.mark.parametrize(
    ("own", "other", "allocated"),
    [
        (IDLE, IDLE, {"own": 1}),
        (LEAVING, IDLE, {"other": 1}),
        (LEAVING, LEAVING, {"pipelined": {"own": 1}}),
        (FULL, LEAVING, {"pipelined": {"other": 1}}),
    ],
)
def test_allocate_has_four_gradients_and_backfill_two(own: str, other: str, allocated: object) -> None:
    taken = [
        pod(f"old-{name}", on=name, cpu=1, is_leaving=state is LEAVING)
        for name, state in (("other", other), ("own", own))
        if state is not IDLE
    ]
    jobs = [*taken, job("a", cpu=1), best_effort("b")]
    shard = Shard("soft", frozenset({"own"}))
    story = Story("", nodes("other", "own", cpu=1), jobs, shard=shard, tiers=GANG)
    assert story.play() == {"a": allocated, "b": {"own": 1}}
    closed = replace(story, nodes=[node("other", cpu=1), node("own", cpu=1, unschedulable=True)])
    assert closed.play()["b"] == {"other": 1}


@holds("backfill-48", "backfill-49", "backfill-55")
def test_the_points_of_the_table_are_asked_and_none_about_room_in_queues_or_domains() -> None:
    other = {points.OVERUSED, points.ALLOCATABLE, points.HYPERNODE_GRADIENT}
    jobs = [best_effort(name, 2, queue=name[0], topology=("hard", 1)) for name in ("pa", "pb", "qa")]
    story = replace(TWO, jobs=jobs, objects=racks(s0=["n1", "n2", "n3"]))
    backfilled = {what for what, _ in heard(replace(story, actions="backfill"))}
    assert backfilled == {point.name for point in ASKED if point not in other} | {"placed"}
    asking = [job("a", tasks=2, cpu=1, topology=("hard", 1))]
    allocated = {what for what, _ in heard(replace(story, jobs=asking, actions="allocate"))}
    assert allocated >= {point.name for point in other}


# Questions


@holds("backfill-48", "backfill-57")
def test_best_effort_pods_use_no_quota_and_a_queue_that_has_had_its_share_still_gets_them() -> None:
    busy = job("busy", cpu=1, memory="1Gi", running={"n1": 1}, queue="q")
    jobs = [busy, best_effort("idle", 3, queue="q"), job("work", cpu=1, queue="q")]
    limit = queue("q", capability={"cpu": 1, "memory": "1Gi"})
    report = Story("", nodes("n1"), jobs, queues=[limit]).cycle()
    assert told(report) == {"busy": "running", "idle": {"n1": 3}, "work": "pending"}
    proportion = next(each for each in report.session.plugins if each.name == "proportion")
    allocated = proportion.queue_figures()["q"].allocated
    assert (allocated["cpu"], allocated["memory"]) == (1000, 2**30)


FITS_NOWHERE = Story("", nodes("n1"), [best_effort("a", node_selector=SSD)])


@holds("backfill-58")
def test_a_job_that_fits_nowhere_reads_why_in_the_condition_of_its_pod_group() -> None:
    report = FITS_NOWHERE.cycle()
    (news,) = [decision for decision in report.decisions if isinstance(decision, UpdatePodGroup)]
    said = news.status.conditions
    assert ("Scheduled", "True") not in [(condition.type, condition.status) for condition in said]
    assert any("didn't match Pod's node affinity/selector" in condition.message for condition in said)


@holds("backfill-59")
def test_a_pod_that_found_no_node_is_tried_again_in_the_next_cycle() -> None:
    clock = VirtualClock()
    cluster = EmbeddedCluster(FITS_NOWHERE.manifests(), clock)
    loop = Loop(cluster, conf_of(), clock)
    assert told(loop.step()) == {"a": "pending"}
    cluster.submit([node("n2", labels=SSD)])
    clock.sleep(1)
    assert told(loop.step()) == {"a": {"n2": 1}}
