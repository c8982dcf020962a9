"""What is counted: nodes, what each node has, and quotas of queues, as users write them."""

from __future__ import annotations

import pytest

from hekla.errors import InputError
from hekla.insight.capacity import QuotaSizing, read_nodes, read_quota
from hekla.insight.capacity.sizing import with_default_queue
from hekla.objects import ObjectMeta, Queue
from hekla.objects.scheduling import QueueSpec
from hekla.simulation.workloads import Workload

RESEARCH = Queue(
    metadata=ObjectMeta(name="research"), spec=QueueSpec(weight=3, capability={"cpu": 16, "memory": "1Ti"})
)
WORKLOAD = with_default_queue(Workload("w", lambda: iter(()), objects=(RESEARCH,)))


def quota(text: str) -> QuotaSizing:
    return read_quota(text, WORKLOAD, [])


def research(text: str, value: int) -> QueueSpec:
    """What the queue is like with so much of the quota."""
    queue = quota(text).workload(WORKLOAD, value).objects[0]
    assert isinstance(queue, Queue)
    return queue.spec


@pytest.mark.parametrize(
    "text", ["4..64 x cpu=32,memory=128Gi", "cpu=32,memory=128Gi x 4..64", "4..64*cpu=32,memory=128Gi"]
)
def test_the_range_may_stand_first_or_last(text: str) -> None:
    sizing = read_nodes([text])
    assert sizing is not None
    assert sizing.values == tuple(range(4, 65))
    nodes = sizing.nodes(6)
    assert len(nodes) == 6
    assert nodes[0].status.allocatable == {"pods": 110, "cpu": "32", "memory": "128Gi"}
    assert sizing.spoken(6) == "6 nodes"


def test_what_each_node_has_may_be_open() -> None:
    sizing = read_nodes(["2 x cpu=64,gpu=1..8", "3 x name=plain,cpu=8"])
    assert sizing is not None
    nodes = sizing.nodes(4)
    assert [node.status.allocatable.get("nvidia.com/gpu") for node in nodes] == ["4", "4", None, None, None]
    assert sizing.spoken(4) == "4 gpu per node"
    memory = read_nodes(["2 x cpu=4,memory=64..512Gi/64"])
    assert memory is not None
    assert memory.values[:3] == (64, 128, 192)
    assert memory.nodes(128)[0].status.allocatable["memory"] == "128Gi"


def test_steps_and_groups_that_stay_as_they_are() -> None:
    sizing = read_nodes(["4..16/4 x name=gpu,cpu=8,gpu=8", "10 x cpu=8"])
    assert sizing is not None
    assert sizing.values == (4, 8, 12, 16)
    assert len(sizing.nodes(8)) == 18


def test_nodes_without_a_range_are_no_sizing() -> None:
    assert read_nodes(["10 x cpu=8"]) is None
    assert read_nodes([]) is None


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["4..8 x cpu=3", "1..3 x cpu=4"], "a second range; one number is looked for at a time"),
        (["8..4 x cpu=4"], 'expected a range from 1 or more upwards, as in 4..64, got "8..4"'),
        (["0..4 x cpu=4"], 'expected a range from 1 or more upwards, as in 4..64, got "0..4"'),
        (["4..8/0 x cpu=4"], "expected a range from 1 or more upwards"),
        (["1..900000 x cpu=4"], "900,000 sizes are too many to choose from; take steps, as in 10..1000/10"),
        (["4..8"], "column 1: expected the range as a number of nodes or an amount"),
        (["2 x cpu=3,label.rack=1..4"], "column 22: expected the range as a number of nodes or an amount"),
        (["2 x name=a1..4,cpu=3"], "expected the range as a number of nodes or an amount"),
        (["4..5 x cpu=abc"], '"abc" is not a quantity'),
    ],
)
def test_ranges_that_mean_nothing_are_told(texts: list[str], said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_nodes(texts)
    assert said in str(caught.value)


def test_a_quota_changes_its_own_resource_alone() -> None:
    assert research("research capability gpu=8..64/8", 16).capability == {
        "cpu": 16,
        "memory": "1Ti",
        "nvidia.com/gpu": "16",
    }
    assert research("research capability cpu=1..64", 4).capability == {"cpu": "4", "memory": "1Ti"}
    assert research("research deserved memory=16..64Gi", 32).deserved == {"memory": "32Gi"}
    assert research("research guarantee cpu=1..4", 2).guarantee.resource == {"cpu": "2"}
    assert research("research weight 1..10", 7).weight == 7
    assert research("research weight 1..10", 7).capability == RESEARCH.spec.capability


def test_several_resources_grow_together() -> None:
    text = "research capability cpu=500m,memory=4Gi,gpu=1 x 1..16"
    assert research(text, 3).capability == {"cpu": "1500m", "memory": "12Gi", "nvidia.com/gpu": "3"}
    assert quota(text).spoken(3) == "capability cpu=1500m,memory=12Gi,gpu=3 of queue research"
    assert research("research capability cpu=0.5 x 1..16", 3).capability["cpu"] == "1.5"


def test_the_queue_that_is_always_there_has_quotas_too() -> None:
    sizing = quota("default weight 1..3")
    default = sizing.workload(WORKLOAD, 2).objects[1]
    assert isinstance(default, Queue)
    assert (default.metadata.name, default.spec.weight) == ("default", 2)


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("reserch weight 1..2", 1, 'no queue "reserch"; did you mean "research"?'),
        ("research wait 1..2", 10, 'no field "wait" of a queue; did you mean "weight"?'),
        ("research weight", 16, "expected a queue, a field and a range"),
        ("research weight gpu=1..3", 17, "a weight is a number"),
        ("research capability 1..4", 21, "expected an amount"),
        ("research capability cpu=8", 21, "expected a range such as 8..64"),
        ("research capability cpu=x x 1..3", 21, '"x" is not a quantity'),
        ("research capability cpu=1..3,gpu=1..3", 30 + 4, "a second range"),
    ],
)
def test_quotas_that_mean_nothing_are_told_with_their_column(text: str, column: int, said: str) -> None:
    with pytest.raises(InputError) as caught:
        quota(text)
    assert str(caught.value).startswith(f'quota "{text}", column {column}: ')
    assert said in str(caught.value)
