"""Snapshots: what cannot be used is left out, one by one, with a complaint that names it."""

from __future__ import annotations

from hekla.engine.state.snapshot import Snapshot, take_snapshot
from hekla.objects import Manifest, Node, ObjectMeta
from hekla.objects.node import NodeStatus
from hekla.testing import job, node, pod, priority_class, queue


def complaints(snapshot: Snapshot) -> list[str]:
    return [str(complaint) for complaint in snapshot.complaints]


def objects(*parts: Manifest | object) -> list[Manifest]:
    return [m for part in parts for m in (part.objects if hasattr(part, "objects") else [part])]


def test_nodes_keep_the_order_in_which_they_are_given() -> None:
    snapshot = take_snapshot([node("b"), node("a"), node("c")])
    assert [n.name for n in snapshot.nodes] == ["b", "a", "c"]


def test_a_job_without_its_queue_is_left_out_but_its_pods_still_load_their_nodes() -> None:
    snapshot = take_snapshot(objects(node("n1"), queue("q"), job("a", cpu=1, queue="r", running={"n1": 1})))
    assert snapshot.jobs == {}
    assert [task.name for task in snapshot.tasks] == ["a-0"]
    [told] = complaints(snapshot)
    assert 'asks for queue "r", which does not exist; known queues: q' in told


def test_a_job_that_names_no_queue_goes_to_the_default() -> None:
    snapshot = take_snapshot(objects(queue("default"), queue("else"), job("a", queue="")))
    assert snapshot.jobs["default/a"].queue == "default"
    other = take_snapshot(objects(queue("default"), queue("else"), job("a", queue="")), default_queue="else")
    assert other.jobs["default/a"].queue == "else"


def test_a_pod_of_an_unknown_group_waits_and_says_so() -> None:
    [told] = complaints(take_snapshot([pod("a", job="ghost")]))
    assert 'names pod group "default/ghost", which does not exist' in told


def test_a_pod_on_an_unknown_node_is_told() -> None:
    [told] = complaints(take_snapshot([pod("a", on="ghost")]))
    assert 'sits on node "ghost", which does not exist' in told


def test_one_bad_quantity_costs_one_object() -> None:
    snapshot = take_snapshot([node("bad", cpu="lots"), node("good"), pod("p", cpu="much")])
    assert [n.name for n in snapshot.nodes] == ["good"]
    assert not snapshot.tasks
    assert [told.split(":")[0] for told in complaints(snapshot)] == ["node bad", "pod default/p"]


def test_a_jobs_priority_is_its_class_or_the_clusters_default() -> None:
    snapshot = take_snapshot(
        objects(
            queue("default"),
            priority_class("usual", 3, is_default=True),
            job("named", priority=7),
            job("plain"),
        )
    )
    assert snapshot.jobs["default/named"].priority == 7
    assert snapshot.jobs["default/plain"].priority == 3


def test_a_node_that_offers_nothing_is_told_and_kept() -> None:
    snapshot = take_snapshot([Node(metadata=ObjectMeta(name="bare"))])
    assert [node.name for node in snapshot.nodes] == ["bare"]
    assert [str(complaint) for complaint in snapshot.complaints] == [
        "node bare: status.allocatable: missing; nothing can be placed there"
    ]


def test_a_node_that_only_says_what_it_has_can_give_all_of_it() -> None:
    status = NodeStatus(capacity={"cpu": 2, "pods": 10})
    (node,) = take_snapshot([Node(metadata=ObjectMeta(name="n1"), status=status)]).nodes
    assert node.allocatable == {"cpu": 2000, "pods": 10}
