"""Who has its turn before a job, and who holds what it waits for."""

from __future__ import annotations

import numpy as np
import pytest

from hekla.engine.model.wait_reason import WaitReason
from hekla.insight.explain import Holders, QueuePosition, holders_of, position_of
from hekla.insight.explain.holders import part_that_fits
from hekla.testing.builders import job, node, queue
from hekla.testing.story import Story, plugin

TIERS = ("priority, gang", "predicates")
BIG = job("big", tasks=4, cpu=4, min_available=1, running={"n1": 2, "n2": 2})
SMALL = job("small", tasks=1, cpu=2, running={"n1": 1})


def position(story: Story, name: str) -> QueuePosition:
    session = story.cycle().session
    return position_of(session, session.jobs[f"default/{name}"])


def holders(story: Story, name: str, code: WaitReason = WaitReason.NO_ROOM) -> Holders | None:
    session = story.cycle().session
    return holders_of(session, session.jobs[f"default/{name}"], code)


def held(found: Holders | None) -> list[tuple[str, int, dict[str, int]]]:
    assert found is not None
    return [(each.job, each.pods, each.amounts) for each in found.jobs]


def test_jobs_that_wait_in_the_same_queue_are_in_the_order_of_their_turns() -> None:
    waiting = [
        job("first", tasks=2, cpu=3),
        job("urgent", tasks=1, cpu=2, gpu=1, priority=100),
        job("asked", tasks=1, cpu=2),
        job("later", tasks=1, cpu=2),
        job("elsewhere", tasks=1, cpu=2, queue="other"),
    ]
    nodes, busy = [node("n1", cpu=8, gpu=1)], job("busy", cpu=7, running={"n1": 1})
    found = position(Story("a full cluster", nodes, [busy, *waiting], tiers=TIERS), "asked")
    assert (found.queue, found.place, found.waiting) == ("default", 3, 4)
    assert [(each.job, each.pods, each.asks["cpu"]) for each in found.ahead] == [
        ("default/urgent", 1, 2000),
        ("default/first", 2, 6000),
    ]
    assert found.asks_ahead == {"cpu": 8000, "nvidia.com/gpu": 1000}


ADMITTING = ("gang, overcommit", "predicates")


def test_jobs_that_run_are_not_ahead_and_admitted_jobs_are() -> None:
    jobs = [
        job("busy", cpu=19, running={"n1": 1}),
        job("refused", tasks=4, cpu=4, min_resources={"cpu": 16}, phase="Pending"),
        job("admitted", tasks=2, cpu=3, phase="Inqueue"),
        job("asked", tasks=1, cpu=4, phase="Inqueue"),
    ]
    story = Story("a full cluster", [node("n1", cpu=20)], jobs, tiers=ADMITTING)
    found = position(story, "asked")
    assert [(each.job, each.is_admitted) for each in found.ahead] == [("default/admitted", True)]
    refused = position(story, "refused")
    assert (refused.place, refused.waiting) == (3, 3)
    assert [each.job for each in refused.ahead] == ["default/admitted", "default/asked"]


def test_jobs_that_cannot_start_or_are_held_are_in_the_way_of_no_job() -> None:
    jobs = [
        job("busy", cpu=7, running={"n1": 1}),
        job("never", cpu=9),
        job("gated", cpu=2, gates=["approve"]),
        job("asked", cpu=2),
    ]
    found = position(Story("a full cluster", [node("n1", cpu=8)], jobs, tiers=TIERS), "asked")
    assert (found.place, found.waiting, found.ahead) == (1, 1, ())


def test_a_job_without_pods_asks_for_what_it_says_that_it_needs() -> None:
    jobs = [
        job("busy", cpu=8, running={"n1": 1}),
        job("empty", tasks=0, min_available=3, min_resources={"cpu": 6}, phase="Pending"),
        job("asked", cpu=4, min_resources={"cpu": 4}, phase="Pending"),
    ]
    found = position(Story("no pods yet", [node("n1", cpu=8)], jobs, tiers=ADMITTING), "asked")
    assert [(each.job, each.pods, each.asks) for each in found.ahead] == [("default/empty", 0, {"cpu": 6000})]


def test_who_holds_what_is_short_comes_biggest_first_with_pods() -> None:
    story = Story(
        "full", [node("n1", cpu=10), node("n2", cpu=8)], [SMALL, BIG, job("asked", cpu=4)], tiers=TIERS
    )
    found = holders(story, "asked")
    assert held(found) == [("default/big", 4, {"cpu": 16000}), ("default/small", 1, {"cpu": 2000})]
    assert found is not None
    assert (found.resource, found.nodes, found.held, found.of) == (
        "cpu",
        ("n1", "n2"),
        {"cpu": 18000},
        {"cpu": 18000},
    )


def test_nodes_that_the_job_may_not_use_do_not_count() -> None:
    nodes = [node("n1", cpu=10, labels={"zone": "a"}), node("n2", cpu=8, labels={"zone": "b"})]
    asked = job("asked", cpu=4, node_selector={"zone": "b"})
    found = holders(Story("two zones", nodes, [SMALL, BIG, asked], tiers=TIERS), "asked")
    assert held(found) == [("default/big", 2, {"cpu": 8000})]
    assert found is not None
    assert found.nodes == ("n2",)


def test_the_shortest_resource_leads() -> None:
    nodes = [node("n1", cpu=32, gpu=4)]
    jobs = [
        job("cores", cpu=20, running={"n1": 1}),
        job("devices", cpu=1, gpu=3, running={"n1": 1}),
        job("asked", cpu=2, gpu=2),
    ]
    found = holders(Story("devices are short", nodes, jobs, tiers=TIERS), "asked")
    assert found is not None
    assert found.resource == "nvidia.com/gpu"
    assert held(found) == [("default/devices", 1, {"cpu": 1000, "nvidia.com/gpu": 3000})]


def test_places_for_pods_are_told_where_these_are_short() -> None:
    jobs = [job("small", tasks=2, cpu=1, running={"n1": 2}), job("asked", cpu=1)]
    found = holders(Story("two pods at most", [node("n1", cpu=8, pods=2)], jobs, tiers=TIERS), "asked")
    assert found is not None
    assert (found.resource, held(found)) == ("pods", [("default/small", 2, {"cpu": 2000, "pods": 2})])


def test_in_a_queue_at_its_limit_its_own_jobs_hold_what_is_short() -> None:
    limited = queue("limited", capability={"cpu": 4})
    jobs = [
        job("old", tasks=2, cpu=2, queue="limited", running={"n1": 2}),
        job("other", tasks=2, cpu=2, running={"n1": 2}),
        job("asked", cpu=2, queue="limited", min_resources={"cpu": 2}),
    ]
    story = Story(
        "a limit", [node("n1", cpu=32)], jobs, queues=[limited], tiers=("gang", "predicates, capacity")
    )
    found = holders(story, "asked", WaitReason.QUEUE_SHARE)
    assert held(found) == [("default/old", 2, {"cpu": 4000})]
    assert found is not None
    assert (found.queue, found.nodes, found.of) == ("limited", (), {"cpu": 4000})


def test_where_a_queue_holds_nothing_its_branch_does() -> None:
    queues = [
        queue("team", capability={"cpu": 4}, parent="root"),
        queue("mine", parent="team"),
        queue("theirs", parent="team"),
    ]
    jobs = [
        job("old", tasks=2, cpu=2, queue="theirs", running={"n1": 2}),
        job("asked", cpu=2, queue="mine", min_resources={"cpu": 2}),
    ]
    tiers = ("gang", ["predicates", plugin("capacity", enabledHierarchy=True)])
    story = Story("a limit above", [node("n1", cpu=32)], jobs, queues=queues, tiers=tiers)
    found = holders(story, "asked", WaitReason.QUEUE_SHARE)
    assert held(found) == [("default/old", 2, {"cpu": 4000})]
    assert found is not None
    assert (found.queue, found.of) == ("team", {"cpu": 4000})


@pytest.mark.parametrize("code", [WaitReason.GATE, WaitReason.FILTERS, WaitReason.QUEUE, WaitReason.STOPPED])
def test_what_no_ending_pod_brings_about_is_held_by_no_job(code: WaitReason) -> None:
    story = Story("full", [node("n1", cpu=10)], [SMALL, job("asked", cpu=10)], tiers=TIERS)
    assert holders(story, "asked", code) is None
    assert holders(story, "asked") is not None


@pytest.mark.parametrize(
    ("idle", "sizes", "part"),
    [
        ([4, 4], [2, 2, 2, 2], 1.0),
        ([4, 3], [2, 2, 2, 2], 0.75),
        ([1, 1], [2], 0.0),
        ([3], [1, 3], 0.75),
        ([0], [], 1.0),
    ],
)
def test_the_part_of_some_pods_that_fits(idle: list[int], sizes: list[int], part: float) -> None:
    assert part_that_fits(np.array(idle), sizes) == part
