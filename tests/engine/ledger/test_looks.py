"""Nodes of which the ledgers say the same look the same, whenever that is."""

from __future__ import annotations

from hekla.engine.model.status import Status
from hekla.engine.state.snapshot import snapshot_of, take_snapshot
from hekla.objects import Manifest
from hekla.scheduler.cycle import open_session
from hekla.testing.builders import job, node, queue
from hekla.testing.pods import stamped
from hekla.testing.story import conf_of

CONF = conf_of("allocate", ("gang", "predicates, nodeorder"))


def cluster(*nodes: Manifest, tasks: int = 2) -> list[Manifest]:
    return stamped([queue("default"), *nodes, *job("a", tasks=tasks, cpu=1, memory="1Gi").objects])


def test_equal_nodes_look_the_same_and_a_task_makes_the_difference() -> None:
    session = open_session(
        take_snapshot(cluster(node("n0", cpu=4), node("n1", cpu=4), node("n2", cpu=8))), CONF
    )
    looks, (first, second) = session.snapshot.state.looks, list(session.tasks)
    assert looks.of_rows().tolist() == [0, 0, 1]
    session.put(first, 1, Status.ALLOCATED)
    assert looks.of_rows().tolist() == [0, 2, 1]
    session.put(second, 0, Status.ALLOCATED)
    assert looks.of_rows().tolist() == [2, 2, 1]
    session.take_back(first)
    assert looks.of_rows().tolist() == [2, 0, 1]


def test_what_a_session_supposed_is_seen_no_more_once_it_is_undone() -> None:
    state = take_snapshot(cluster(node("n0", cpu=4), node("n1", cpu=4))).state
    session = open_session(snapshot_of(state), CONF)
    assert state.looks.of_rows().tolist() == [0, 0]
    session.put(session.tasks[0], 0, Status.ALLOCATED)
    snapshot_of(state)
    assert state.looks.of_rows().tolist() == [0, 0]
    assert state.looks.count == 1


def test_other_nodes_are_looked_at_anew() -> None:
    state = take_snapshot(cluster(node("n0", cpu=4), node("n1", cpu=4))).state
    looks = state.looks
    assert looks.of_rows().tolist() == [0, 0]
    for manifest in stamped([node("n1", cpu=8), node("n2", cpu=8)]):
        state.note(manifest)
    snapshot_of(state)
    assert looks.of_rows().tolist() == [0, 1, 1]


def test_two_small_pods_look_like_a_large_one_while_there_is_a_place_for_more() -> None:
    for places, looks_alike in ((3, True), (2, False)):
        nodes = [node("n0", cpu=4, pods=places), node("n1", cpu=4, pods=places)]
        large, small = job("large", tasks=1, cpu=2, memory="2Gi"), job("small", tasks=2, cpu=1, memory="1Gi")
        objects = stamped([queue("default"), *nodes, *large.objects, *small.objects])
        session = open_session(take_snapshot(objects), CONF)
        for task in session.tasks:
            session.put(task, int(task.job == "default/small"), Status.ALLOCATED)
        one, other = session.snapshot.state.looks.of_rows().tolist()
        assert (one == other) is looks_alike
