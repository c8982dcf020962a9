"""Ledgers: what nodes have and have given away, to the last unit."""

from __future__ import annotations

import numpy as np
import pytest

from hekla.engine.framework.session import Session
from hekla.engine.ledger.axis import Axis
from hekla.engine.ledger.labels import LabelColumn, NodeLabels
from hekla.engine.model.status import Status
from hekla.errors import BrokenPromise
from hekla.testing import PodRole, job, node, pod, session_of


def row_of_numbers(session: Session) -> tuple[int, ...]:
    """Idle cpu and pods, used, releasing, pipelined and future cpu of the first node."""
    nodes = session.nodes
    cpu = [int(table[0, 0]) for table in (nodes.used, nodes.releasing, nodes.pipelined, nodes.future)]
    return (int(nodes.idle[0, 0]), int(nodes.idle[0, session.axis.pods]), *cpu)


def test_the_worked_example_of_node_accounting() -> None:
    session = session_of(
        node("n1", cpu=2, pods=10),
        pod("old", on="n1", is_leaving=True, cpu=1),
        job("a", tasks=2, best_effort=1, cpu=1),
        tiers=(),
    )
    _, first, second, nothing = session.tasks
    statement = session.statement()
    steps = [row_of_numbers(session)]
    statement.allocate(first, 0)
    steps.append(row_of_numbers(session))
    statement.pipeline(second, 0)
    steps.append(row_of_numbers(session))
    statement.allocate(nothing, 0)
    steps.append(row_of_numbers(session))
    assert steps == [
        (1000, 9, 1000, 1000, 0, 2000),
        (0, 8, 2000, 1000, 0, 1000),
        (0, 8, 2000, 1000, 1000, 0),
        (0, 7, 2000, 1000, 1000, 0),
    ]
    statement.discard()
    assert row_of_numbers(session) == steps[0]


def test_an_eviction_promises_room_and_takes_none_away() -> None:
    session = session_of(node("n1", cpu=2, pods=10), job("a", cpu=1, running={"n1": 1}))
    before = row_of_numbers(session)
    session.statement().evict(session.tasks[0], "because")
    assert before == (1000, 9, 1000, 0, 0, 1000)
    assert row_of_numbers(session) == (1000, 9, 1000, 1000, 0, 2000)


def test_a_task_may_be_placed_lifted_and_placed_elsewhere() -> None:
    session = session_of(node("n1", cpu=2), node("n2", cpu=2), job("a", cpu=1))
    task, nodes = session.tasks[0], session.nodes
    idle = nodes.idle.copy()
    nodes.place(task, 0)
    nodes.lift(task)
    assert (nodes.idle == idle).all()
    nodes.place(task, 1)
    assert task.node_name == "n2"
    with pytest.raises(BrokenPromise, match="already"):
        nodes.place(task, 1)
    nodes.lift(task)
    with pytest.raises(BrokenPromise, match="is not on node"):
        nodes.lift(task)


def test_every_change_names_its_row() -> None:
    session = session_of(node("n1"), node("n2"), job("a", cpu=1))
    journal = session.nodes.journal
    opened = journal.now
    session.nodes.place(session.tasks[0], 1)
    placed = journal.now
    assert placed > opened
    assert journal.since(opened).tolist() == [1]
    assert journal.since(placed).tolist() == []
    session.nodes.lift(session.tasks[0])
    assert journal.since(placed).tolist() == [1]


def test_a_node_may_be_overfull_from_the_start() -> None:
    session = session_of(node("n1", cpu=1), pod("a", on="n1", cpu=3))
    assert session.nodes.idle[0, 0] == -2000
    assert session.nodes.future[0, 0] == -2000


def test_finished_pods_take_no_room_and_unknown_ones_do() -> None:
    session = session_of(
        node("n1", cpu=4),
        pod("done", on="n1", phase="Succeeded", cpu=1),
        pod("failed", on="n1", phase="Failed", cpu=1),
        pod("lost", on="n1", phase="Unknown", cpu=1),
    )
    assert session.nodes.idle[0, 0] == 3000


def test_oversubscription_counts_for_the_node_but_not_for_kubernetes_filters() -> None:
    session = session_of(node("n1", cpu=2, annotations={"volcano.sh/oversubscription-cpu": "500"}))
    assert session.nodes.allocatable[0, 0] == 2500
    assert session.pods.allocatable[0, 0] == 2000


def test_a_fit_looks_at_cpu_and_memory_and_whatever_the_task_mentions() -> None:
    session = session_of(
        node("plain", cpu=2),
        node("gpu", cpu=2, gpu=1),
        job("a", roles=[PodRole("r", 1, 0, {"cpu": 1}), PodRole("g", 1, 0, {"gpu": 1})]),
        pod("hog", on="gpu", cpu=3),
    )
    plain, gpu, _ = session.tasks
    assert session.nodes.can_hold(plain).tolist() == [True, False]
    # The GPU node owes cpu: even a task that asks for none does not fit.
    assert session.nodes.can_hold(gpu).tolist() == [False, False]


def test_the_pod_ledger_counts_promised_pods_and_drops_evicted_ones() -> None:
    session = session_of(
        node("n1", cpu=4, pods=10),
        job("a", tasks=1, cpu=1),
        job("b", tasks=1, cpu=1, running={"n1": 1}),
        tiers=("predicates",),
    )
    waiting, running = session.tasks
    with session.statement() as statement:
        statement.pipeline(waiting, 0)
        assert session.pods.count.tolist() == [2]
        statement.evict(running, "because")
        assert session.pods.count.tolist() == [1]
    assert session.pods.count.tolist() == [1]


def test_without_predicates_the_pod_ledger_stands_still() -> None:
    session = session_of(node("n1", cpu=4), job("a", tasks=1, cpu=1), tiers=("gang",))
    session.statement().allocate(session.tasks[0], 0)
    assert session.pods.count.tolist() == [0]


def test_live_counts_follow_the_pods() -> None:
    session = session_of(
        node("n1", cpu=4),
        node("n2", cpu=4),
        job("a", tasks=2, cpu=1, labels={"app": "a"}),
        pod("b", on="n2", labels={"app": "a"}),
        tiers=("predicates",),
    )
    counts = session.pods.counter("app", lambda task: int(task.pod.metadata.labels.get("app") == "a"))
    assert counts.tolist() == [0, 1]
    with session.statement() as statement:
        statement.allocate(session.tasks[0], 0)
        statement.allocate(session.tasks[1], 1)
        assert counts.tolist() == [1, 2]
    assert counts.tolist() == [0, 1]


class TestAxis:
    """Which resource stands in which column."""

    def test_cpu_and_memory_come_first_and_pods_are_always_there(self) -> None:
        assert Axis(["b/x", "a/y"]).names == ("cpu", "memory", "a/y", "b/x", "pods")
        assert Axis().names == ("cpu", "memory", "pods")

    def test_unknown_names_are_left_out_of_a_vector(self) -> None:
        axis = Axis()
        assert axis.vector({"cpu": 5, "a/y": 7}).tolist() == [5, 0, 0]

    def test_zeros_are_left_out_on_the_way_back(self) -> None:
        assert Axis().resources(np.array([5, 0, 1])) == {"cpu": 5, "pods": 1}

    def test_mentioned_and_compared_columns(self) -> None:
        axis = Axis(["a/y"])
        assert axis.named({"a/y": 0}).tolist() == [False, False, True, False]
        assert axis.compared({"pods": 1}) == (0, 1, 3)


class TestLabels:
    """A selector is one comparison for all nodes."""

    def test_columns(self) -> None:
        column = LabelColumn(["a", None, "b", "a"])
        assert column.present.tolist() == [True, False, True, True]
        assert column.equals("a").tolist() == [True, False, False, True]
        assert column.equals("z").tolist() == [False] * 4
        assert column.is_any_of(["b", "z"]).tolist() == [False, False, True, False]
        assert column.where_value({"a": True}).tolist() == [True, False, False, True]
        assert column.size == 2

    def test_sums_per_value_come_back_to_the_nodes(self) -> None:
        column = LabelColumn(["a", None, "b", "a"])
        sums = column.per_value(np.array([1, 10, 100, 1000]))
        assert sums.tolist() == [1001, 100]
        assert column.spread(sums).tolist() == [1001, 0, 100, 1001]

    def test_an_absent_key_is_absent_everywhere(self) -> None:
        labels = NodeLabels([{"zone": "a"}, {}], ["n1", "n2"])
        assert not labels.column("disk").present.any()
        assert labels.node_names().equals("n2").tolist() == [False, True]


@pytest.mark.parametrize("status", [Status.ALLOCATED, Status.PIPELINED])
def test_what_is_put_and_taken_back_leaves_no_trace(status: Status) -> None:
    session = session_of(node("n1"), job("a", tasks=2, cpu=1), tiers=("gang", "drf, predicates, proportion"))
    before = session.fingerprint()
    for task in session.tasks:
        session.put(task, 0, status)
    for task in session.tasks:
        session.take_back(task)
    assert session.fingerprint() == before
