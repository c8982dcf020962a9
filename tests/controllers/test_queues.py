"""Queues: what may stand in the tree, and how closing and opening spread through it."""

from __future__ import annotations

import pytest
from little_cluster import open_queue_named
from msgspec.structs import replace

from hekla.cluster.admission import default_queue, problems_of_queue, problems_of_queue_deletion
from hekla.controllers import (
    PutQueue,
    RecordEvent,
    close_queue,
    loaded_queue,
    open_queue,
    standing_queues,
    sync_queue,
)
from hekla.objects import ObjectMeta, Queue, keys
from hekla.objects.scheduling import Guarantee, QueueSpec


def queue(
    name: str, parent: str = "root", state: str = "Open", allocated=None, annotations=None, **spec
) -> Queue:
    made = open_queue_named(name, parent="" if name == "root" else parent, **spec)
    return replace(
        made,
        metadata=replace(made.metadata, annotations=annotations or {}),
        status=replace(made.status, state=state, allocated=allocated or {}),
    )


def tree(*queues: Queue) -> dict[str, Queue]:
    return {queue.metadata.name: queue for queue in (queue_root(), *queues)}


def queue_root() -> Queue:
    return queue("root")


def paths(problems) -> list[str]:
    return [problem.path for problem in problems]


def test_a_queue_is_filled_in():
    notes = {keys.HIERARCHY: "eng/prod", keys.HIERARCHY_WEIGHTS: "2/8"}
    filled = default_queue(Queue(metadata=ObjectMeta(name="q", annotations=notes), spec=QueueSpec(weight=0)))
    assert (filled.spec.weight, filled.spec.reclaimable) == (1, True)
    assert filled.metadata.annotations == {keys.HIERARCHY: "root/eng/prod", keys.HIERARCHY_WEIGHTS: "1/2/8"}


@pytest.mark.parametrize(
    ("story", "spec", "expected"),
    [
        ("nothing special", {}, []),
        ("a negative share", {"capability": {"cpu": -1}}, ["spec.capability[cpu]"]),
        ("half a gpu", {"capability": {"nvidia.com/gpu": "500m"}}, ["spec.capability[nvidia.com/gpu]"]),
        ("no quantity", {"deserved": {"cpu": "lots"}}, ["spec.deserved[cpu]"]),
        (
            "a guarantee no queue deserves",
            {"guarantee": Guarantee(resource={"cpu": 1})},
            ["spec.deserved[cpu]"],
        ),
        (
            "deserving more than allowed",
            {"deserved": {"cpu": 2}, "capability": {"cpu": 1}},
            ["spec.deserved[cpu]"],
        ),
        ("its own parent", {"parent": "q"}, ["spec.parent"]),
        ("a parent that does not exist", {"parent": "ghost"}, ["spec.parent"]),
        ("a parent with pods of its own", {"parent": "busy"}, ["spec.parent"]),
        (
            "more than an ancestor may have",
            {"parent": "small", "capability": {"cpu": 9}},
            ["spec.capability[cpu]"],
        ),
        ("a share of nothing", {"parent": "bare", "deserved": {"cpu": 4}}, ["spec.deserved[cpu]"]),
        ("a weight out of range", {"weight": -1}, ["spec.weight"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_new_queues(story, spec, expected):
    known = tree(
        queue("busy", allocated={"pods": 3}),
        queue("small", capability={"cpu": 8}),
        queue("bare"),
    )
    assert paths(problems_of_queue(queue("q", **spec), known)) == expected


@pytest.mark.parametrize(("cpu", "fits"), [(3, True), (4, False)])
def test_children_share_what_their_parent_deserves(cpu, fits):
    known = tree(queue("p", deserved={"cpu": 8}), queue("a", "p", deserved={"cpu": 5}))
    assert (problems_of_queue(queue("b", "p", deserved={"cpu": cpu}), known) == []) is fits


def test_a_parent_cannot_shrink_below_its_children():
    before = queue("p", deserved={"cpu": 8}, capability={"cpu": 8})
    known = tree(before, queue("a", "p", deserved={"cpu": 5}, capability={"cpu": 6}))
    after = queue("p", deserved={"cpu": 4}, capability={"cpu": 5})
    assert paths(problems_of_queue(after, known, before)) == ["spec.capability[cpu]", "spec.deserved[cpu]"]


def test_five_levels_below_root_are_the_limit():
    chain = [queue(f"q{i}", f"q{i - 1}" if i else "root") for i in range(5)]
    known = tree(*chain[:4])
    assert problems_of_queue(chain[4], known) == []
    assert paths(problems_of_queue(queue("q5", "q4"), tree(*chain))) == ["spec.parent"]


def test_a_subtree_cannot_be_moved_too_deep():
    known = tree(queue("a"), queue("b", "a"), queue("c", "b"), queue("x"), queue("y", "x"), queue("z", "y"))
    assert paths(problems_of_queue(queue("x", "c"), known, queue("x"))) == ["spec.parent"]


def test_queues_cannot_form_a_circle():
    known = tree(queue("a"), queue("b", "a"), queue("c", "b"))
    [problem] = problems_of_queue(queue("a", "c"), known, queue("a"))
    assert (problem.path, "circle" in problem.message) == ("spec.parent", True)


@pytest.mark.parametrize("state", ["", "Open", "Closing", "Closed", "Unknown"])
def test_a_queue_can_be_edited_in_every_state(state):
    before = queue("q", state=state)
    assert problems_of_queue(queue("q", state=state, weight=2), tree(before), before) == []


def test_the_shares_of_root_are_protected():
    after = queue("root", capability={"cpu": 1})
    assert paths(problems_of_queue(after, tree(), queue_root())) == ["spec"]


@pytest.mark.parametrize(
    ("path", "weights", "count"),
    [
        ("root/a/c", "1/1/1", 0),
        ("root/a", "1/1", 1),
        ("root/a/b/c", "1/1/1/1", 1),
        ("root/x", "1/1/1", 1),
        ("root/x", "1/0", 1),
        ("root/x", "1/much", 1),
    ],
)
def test_hierarchy_paths_meet_only_above_their_leaves(path, weights, count):
    known = tree(queue("b", annotations={keys.HIERARCHY: "root/a/b", keys.HIERARCHY_WEIGHTS: "1/1/1"}))
    notes = {keys.HIERARCHY: path, keys.HIERARCHY_WEIGHTS: weights}
    assert len(problems_of_queue(queue("q", annotations=notes), known)) == count


@pytest.mark.parametrize(
    ("name", "check", "stays"),
    [
        ("root", False, True),
        ("default", False, True),
        ("p", False, True),
        ("c", False, False),
        ("c", True, True),
    ],
)
def test_queues_that_are_needed_stay(name, check, stays):
    known = tree(queue("default"), queue("p"), queue("c", "p", allocated={"pods": 1}))
    assert bool(problems_of_queue_deletion(name, known, check_allocated_pods=check)) is stays


def test_root_and_default_are_always_there():
    root, default = standing_queues(())
    assert (root.metadata.name, root.spec.reclaimable, root.spec.parent) == ("root", False, "")
    assert (default.metadata.name, default.spec.reclaimable, default.spec.parent) == ("default", True, "root")
    assert [queue.metadata.name for queue in standing_queues({"root"})] == ["default"]


def test_a_queue_from_a_file_is_open_and_below_root():
    loaded = loaded_queue(Queue(metadata=ObjectMeta(name="q")))
    assert (loaded.status.state, loaded.spec.parent) == ("Open", "root")
    assert loaded_queue(queue("q", state="Closing")).status.state == "Closing"


DO = {"open": open_queue, "close": close_queue, "sync": sync_queue}


@pytest.mark.parametrize(
    ("state", "verb", "empty", "full"),
    [
        ("", "open", "Open", "Open"),
        ("", "close", "Closed", "Closing"),
        ("", "sync", "Open", "Open"),
        ("Open", "close", "Closed", "Closing"),
        ("Open", "sync", "Open", "Open"),
        ("Closing", "open", "Open", "Open"),
        ("Closing", "close", "Closed", "Closing"),
        ("Closing", "sync", "Closed", "Closing"),
        ("Closed", "open", "Open", "Open"),
        ("Closed", "close", "Closed", "Closed"),
        ("Closed", "sync", "Closed", "Closed"),
        ("Unknown", "open", "Open", "Open"),
        ("Unknown", "close", "Closed", "Closing"),
        ("Unknown", "sync", "Unknown", "Unknown"),
    ],
)
def test_states(state, verb, empty, full):
    known = tree(queue("q", state=state))
    for count, expected in ((0, empty), (2, full)):
        after = carried_out(known, DO[verb]("q", known, {"q": count}))
        assert after["q"].status.state == expected


def carried_out(queues: dict[str, Queue], commands) -> dict[str, Queue]:
    written = {
        command.queue.metadata.name: command.queue for command in commands if isinstance(command, PutQueue)
    }
    return queues | written


def states(queues: dict[str, Queue]) -> dict[str, str]:
    return {name: queue.status.state for name, queue in queues.items() if name != "root"}


def test_closing_and_opening_spread_through_two_levels():
    known = tree(queue("p"), queue("a", "p"), queue("b", "p"), queue("c", "p", state="Closed"))
    closed = carried_out(known, close_queue("p", known, {"a": 1}))
    assert states(closed) == {"p": "Closed", "a": "Closing", "b": "Closed", "c": "Closed"}
    drained = carried_out(closed, sync_queue("a", closed, {}))
    assert drained["a"].status.state == "Closed"
    opened = carried_out(drained, open_queue("p", drained, {}))
    assert states(opened) == {"p": "Open", "a": "Open", "b": "Open", "c": "Closed"}
    assert opened["a"].metadata.annotations == {keys.CLOSED_BY_PARENT: "false"}


def test_a_child_cannot_be_opened_below_a_closed_parent():
    known = tree(queue("p", state="Closed"), queue("a", "p", state="Closed"))
    [event] = open_queue("a", known, {})
    assert isinstance(event, RecordEvent)
    assert (event.type, event.reason) == ("Warning", "OpenQueue")


def test_a_queue_moved_below_a_closed_parent_closes_and_opens_again_below_an_open_one():
    known = tree(queue("p", state="Closed"), queue("o"), queue("a", "p"))
    moved = carried_out(known, sync_queue("a", known, {}))
    assert (moved["a"].status.state, moved["a"].metadata.annotations) == (
        "Closed",
        {keys.CLOSED_BY_PARENT: "true"},
    )
    moved["a"] = replace(moved["a"], spec=replace(moved["a"].spec, parent="o"))
    assert carried_out(moved, sync_queue("a", moved, {}))["a"].status.state == "Open"


def test_root_says_that_it_cannot_be_closed():
    [event] = close_queue("root", tree(), {})
    assert event.message == 'queue "root" cannot be closed'


def test_a_sync_that_changes_nothing_says_nothing():
    known = tree(queue("q"))
    assert sync_queue("q", known, {"q": 3}) == []


def test_an_unknown_state_is_told():
    known = tree(queue("q", state="Ajar"))
    [event] = sync_queue("q", known, {})
    assert 'no queue state "Ajar"' in event.message


def test_queues_may_be_any_number_deep_and_are_told_how_deep() -> None:
    chain = [queue(f"q{at}", f"q{at - 1}" if at else "root") for at in range(2000)]
    (problem,) = problems_of_queue(chain[0], tree(*chain))
    assert 'the tree would be "2000" levels deep' in problem.message
