"""Proportion: the cluster is divided between queues by weight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekla.engine.ledger.axis import Axis
from hekla.engine.model.queue import QueueInfo, queue_of
from hekla.engine.plugins.proportion.accounts import Bounds, QueueAccount, divide
from hekla.engine.plugins.queues import capability_of
from hekla.testing import Story, job, node, plugin, pod, queue

PROPORTION = ("gang", "proportion")
LOTS = 1 << 40


def account(
    request: list[int],
    *,
    weight: int = 1,
    limit: list[float] | None = None,
    guarantee: list[int] | None = None,
) -> QueueAccount:
    """An account as the worked examples write it: one number per resource; pods stand last and are nought."""
    zero = np.zeros(len(request) + 1, dtype=np.int64)
    most = np.array([*(limit or [float(LOTS)] * len(request)), float(LOTS)])
    least = np.array([*(guarantee or [0] * len(request)), 0], dtype=np.int64)
    return QueueAccount(
        queue=QueueInfo("q", weight, is_open=True, is_reclaimable=True, created=0.0),
        bounds=Bounds(least, most, most, ceiling=most.tolist(), floor=least.astype(np.float64).tolist()),
        held=zero.tolist(),
        request=[*request, 0],
        inqueue=zero.copy(),
        elastic=zero.copy(),
    )


def divided(total: list[int], *accounts: QueueAccount) -> list[list[float]]:
    divide(list(accounts), np.array([*total, 0], dtype=np.int64), pods=len(total))
    return [part.deserved[:-1] for part in accounts]


def test_what_a_small_queue_does_not_need_goes_to_the_others_by_weight() -> None:
    small, one, two = account([1000]), account([20000]), account([20000], weight=2)
    assert divided([10000], small, one, two) == [[1000.0], [3000.0], [6000.0]]


def test_a_queue_keeps_drawing_until_it_is_satisfied_in_every_resource() -> None:
    a = account([2000, 20])
    b = account([12000, 4], weight=2)
    c = account([6000, 6], limit=[3000.0, float(LOTS)])
    first, second, third = divided([12000, 24], a, b, c)
    assert first == pytest.approx([2000, 14], abs=0.5)
    assert second == pytest.approx([7000, 4], abs=0.5)
    assert third == pytest.approx([3000, 6])


def test_a_guarantee_above_the_request_lifts_what_a_queue_deserves() -> None:
    a = account([1000], guarantee=[4000])
    b = account([20000], limit=[6000.0])
    c = account([20000], weight=3, limit=[6000.0])
    assert divided([10000], a, b, c) == [[4000.0], [2000.0], [6000.0]]


def test_weight_zero_gets_only_what_is_guaranteed() -> None:
    assert divided([10000], account([5000], weight=0), account([5000])) == [[0.0], [5000.0]]
    assert divided([10000], account([5000], weight=0)) == [[0.0]]
    assert divided([10000], account([5000], weight=0, guarantee=[1000]), account([9500])) == [
        [1000.0],
        [9500.0],
    ]


def test_no_queue_deserves_what_the_cluster_does_not_have() -> None:
    assert divided([0], account([5000])) == [[0.0]]


def test_a_share_is_the_largest_part_of_what_is_deserved() -> None:
    held, owed_nothing = account([0, 0]), account([0, 0])
    held.grant([4000.0, 2.0, 0.0])
    owed_nothing.grant([0.0, 0.0, 0.0])
    held.hold([1000, 1, 5])
    assert held.share == 0.5
    held.hold([3000, 0, 0])
    assert held.share == 1.0
    owed_nothing.hold([1000, 1, 5])
    assert owed_nothing.share == 0.0


def test_a_capability_limits_only_what_it_names() -> None:
    axis, source = Axis(["nvidia.com/gpu"]), queue_of(queue("q", capability={"cpu": 2, "nvidia.com/gpu": 0}))
    limit = capability_of(axis.vector(source.capability), axis.named(source.capability))
    by_name = dict(zip(axis.names, limit.tolist(), strict=True))
    assert by_name["cpu"] == 2000
    assert by_name["nvidia.com/gpu"] == 0
    assert by_name["memory"] > 1e300
    assert by_name["pods"] > 1e300


STORIES = [
    Story(
        "queues share by weight",
        nodes=[node("n1", cpu=6)],
        queues=[queue("q1", weight=1), queue("q2", weight=2)],
        jobs=[
            job("a", tasks=6, cpu=1, min_available=1, queue="q1"),
            job("b", tasks=6, cpu=1, min_available=1, queue="q2"),
        ],
        tiers=PROPORTION,
        expect={"a": {"n1": 2}, "b": {"n1": 4}},
    ),
    Story(
        "a queue alone may use the whole cluster, whatever its weight",
        nodes=[node("n1", cpu=6)],
        queues=[queue("q1", weight=1), queue("idle", weight=100)],
        jobs=[job("a", tasks=6, cpu=1, min_available=1, queue="q1")],
        tiers=PROPORTION,
        expect={"a": {"n1": 6}},
    ),
    Story(
        "a capability is never exceeded",
        nodes=[node("n1", cpu=6)],
        queues=[queue("q1", capability={"cpu": 2})],
        jobs=[job("a", tasks=6, cpu=1, min_available=1, queue="q1")],
        tiers=PROPORTION,
        expect={"a": {"n1": 2}},
    ),
    Story(
        "what another queue is guaranteed stays free for it",
        nodes=[node("n1", cpu=6)],
        queues=[queue("q1"), queue("safe", guarantee={"cpu": 4})],
        jobs=[job("a", tasks=6, cpu=1, min_available=1, queue="q1")],
        tiers=PROPORTION,
        expect={"a": {"n1": 2}},
    ),
    Story(
        "a closed queue gets nothing",
        nodes=[node("n1", cpu=6)],
        queues=[queue("q1", state="Closed")],
        jobs=[job("a", tasks=1, cpu=1, queue="q1")],
        tiers=PROPORTION,
        expect={"a": "pending"},
    ),
    Story(
        "the queue of higher priority goes first, whatever the shares",
        nodes=[node("n1", cpu=2)],
        queues=[queue("q1"), queue("q2", priority=1)],
        jobs=[
            job("a", tasks=1, cpu=2, queue="q1"),
            job("b", tasks=1, cpu=2, queue="q2"),
        ],
        tiers=["gang", [plugin("proportion", enabledAllocatable=False)]],
        expect={"a": "pending", "b": {"n1": 1}},
    ),
    Story(
        "a gated task counts as wanted and still gets nothing",
        nodes=[node("n1", cpu=4)],
        queues=[queue("q1"), queue("q2")],
        jobs=[
            job("a", tasks=4, cpu=1, min_available=1, queue="q1", gates=["example.com/wait"]),
            job("b", tasks=4, cpu=1, min_available=1, queue="q2"),
        ],
        tiers=PROPORTION,
        expect={"a": "pending", "b": {"n1": 2}},
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_proportion(story: Story) -> None:
    assert story.play() == story.expect


ENQUEUE = [
    Story(
        "what is held, promised and asked stays under the limit; the elastic part does not count",
        nodes=[node("n1", cpu=8)],
        jobs=[
            job("runs", tasks=5, cpu=1, min_available=1, running={"n1": 5}, min_resources={"cpu": "3500m"}),
            job("promised", tasks=2, cpu=1, min_resources={"cpu": 2}),
            job("first", tasks=2, cpu=1, phase="Pending", min_resources={"cpu": 2}),
            job("second", tasks=2, cpu=1, phase="Pending", min_resources={"cpu": "501m"}),
            job("third", tasks=2, cpu=1, phase="Pending", min_resources={"cpu": "500m"}),
        ],
        expect={
            "runs": "Running",
            "promised": "Inqueue",
            "first": "Inqueue",
            "second": "Pending",
            "third": "Inqueue",
        },
    ),
    Story(
        "a closed queue admits no job that asks",
        nodes=[node("n1", cpu=8)],
        queues=[queue("default", state="Closed")],
        jobs=[job("a", tasks=1, cpu=1, phase="Pending", min_resources={"cpu": 1})],
        expect={"a": "Pending"},
    ),
    Story(
        "tasks behind a foreign gate do not reserve anything",
        nodes=[node("n1", cpu=2)],
        jobs=[
            job("a", tasks=0, min_available=2, phase="Pending", min_resources={"cpu": 2}),
            *(pod(f"a-{at}", job="a", cpu=1, gates=["example.com/wait"]) for at in range(2)),
            job("b", tasks=2, cpu=1, phase="Pending", min_resources={"cpu": 2}),
        ],
        expect={"a": "Inqueue", "b": "Inqueue"},
    ),
]


@pytest.mark.parametrize("story", ENQUEUE, ids=str)
def test_proportion_admits(story: Story) -> None:
    assert replace(story, actions="enqueue", tiers=("proportion",)).phases() == story.expect
