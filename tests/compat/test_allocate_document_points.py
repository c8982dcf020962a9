"""What "The allocate action in detail (Volcano)" says, as short stories: predicates and extension points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from allocating import (
    FILTERED,
    GANG,
    HARD,
    ONE,
    SPINE,
    TWO,
    advised,
    favours,
    leaving,
    likes_domains,
    message_on,
    parts,
    places,
    refuses,
    sizes,
    tried_in,
)
from msgspec.structs import replace as replace_struct
from statements import holds

from hekla.conf import PluginEntry, read_conf
from hekla.engine.actions.allocate import AllocateArguments
from hekla.engine.framework import points
from hekla.engine.framework.plugin import Objection, Plugin
from hekla.engine.framework.points import Point, Vote, answers
from hekla.engine.ledger.arrays import Floats, Mask
from hekla.engine.ledger.domains import Domain
from hekla.engine.model.diagnosis import Refusal
from hekla.engine.model.job import Job, SubJob
from hekla.engine.model.task import Task
from hekla.objects import Node, Pod
from hekla.objects.pod import ContainerPort
from hekla.scheduler.builtin import BUILTIN
from hekla.testing import JobObjects, PodRole, Story, job, node, plugin, pod, sub_group

# The error cache

CACHED = Story(
    "one role: the first task needs two cores, the second one",
    [node("n1", cpu=1), node("n2", cpu=4)],
    sizes(2, 1, minimum=2, role="w"),
    actions="allocate",
    tiers=GANG,
)
REMEMBERED, ASKED_AGAIN = {"a": {"n2": 2}}, {"a": {"n1": 1, "n2": 1}}


@holds("allocate-01", "allocate-45")
@pytest.mark.parametrize("key", ["enablePredicateErrorCache", "predicateErrorCacheEnable"])
def test_the_error_cache_is_on_and_either_key_turns_it_off(key: str) -> None:
    assert AllocateArguments().error_cache
    assert CACHED.play() == REMEMBERED
    assert replace(CACHED, configurations={"allocate": {key: True}}).play() == REMEMBERED
    assert replace(CACHED, configurations={"allocate": {key: False}}).play() == ASKED_AGAIN


@holds("allocate-01", "allocate-45")
def test_the_key_of_the_document_is_understood_with_a_warning() -> None:
    text = """
        actions: "enqueue, allocate, backfill"
        tiers: [{plugins: [{name: priority}, {name: gang}]}]
        configurations: [{name: allocate, arguments: {enablePredicateErrorCache: true}}]
    """
    _, (told,) = read_conf(text, "conf.yaml", BUILTIN.catalogue())
    assert '"enablePredicateErrorCache" is not a key that Volcano reads' in str(told)
    assert "predicateErrorCacheEnable" in str(told)


@holds("allocate-45", "allocate-46")
def test_a_node_that_failed_one_task_of_a_role_is_skipped_by_the_next() -> None:
    assert CACHED.play() == REMEMBERED
    assert (
        replace(CACHED, configurations={"allocate": {"predicateErrorCacheEnable": False}}).play()
        == ASKED_AGAIN
    )


@holds("allocate-45")
def test_tasks_without_a_role_other_turns_and_other_jobs_share_no_memory() -> None:
    assert replace(CACHED, jobs=sizes(2, 1, minimum=2)).play() == ASKED_AGAIN
    assert replace(CACHED, jobs=sizes(2, 1, minimum=1, role="w")).play() == ASKED_AGAIN
    other = [job("b", tasks=0, min_available=1), pod("b-0", job="b", role="w", cpu=1)]
    assert replace(CACHED, jobs=[*CACHED.jobs, *other]).play() == {**REMEMBERED, "b": {"n1": 1}}


# Predicates


@holds("allocate-43")
@pytest.mark.parametrize(
    ("cpu", "gpu", "message"),
    [(1, 1, "1 Insufficient cpu."), (2, 0, "1 Insufficient nvidia.com/gpu."), (2, 1, "1 node(s) had")],
)
def test_room_is_asked_for_before_taints_and_what_lacks_is_named(cpu: int, gpu: int, message: str) -> None:
    tainted = node("n1", cpu=cpu, gpu=gpu, taints=["x=y:NoSchedule"])
    story = Story("a tainted node", [tainted], [job("a", cpu=2, gpu=1)], tiers=FILTERED)
    assert message_on(story).startswith(f"0/1 nodes are unavailable: {message}")


@holds("allocate-43")
def test_room_that_is_being_released_counts_as_room() -> None:
    story = Story("a leaving pod", ONE, [leaving("n1"), job("a", cpu=1)], actions="allocate", tiers=GANG)
    assert story.play() == {"a": {"pipelined": {"n1": 1}}}


def with_port(name: str, **more: Any) -> Pod:
    """A pod that wants port 80 of its node."""
    made = pod(name, cpu=1, **more)
    port = ContainerPort(container_port=80, host_port=80)
    containers = tuple(replace_struct(container, ports=(port,)) for container in made.spec.containers)
    return replace_struct(made, spec=replace_struct(made.spec, containers=containers))


@holds("allocate-44")
@pytest.mark.parametrize(
    ("machine", "jobs", "message"),
    [
        pytest.param(
            node("n1", taints=["x=y:NoSchedule"]), [job("a", cpu=1)], "untolerated taint", id="taints"
        ),
        pytest.param(
            node("n1"),
            [job("a", cpu=1, node_selector={"disk": "ssd"})],
            "node affinity/selector",
            id="affinity",
        ),
        pytest.param(
            node("n1"),
            [with_port("web", on="n1"), job("a", tasks=0, min_available=1), with_port("a-0", job="a")],
            "free ports",
            id="ports",
        ),
    ],
)
def test_predicates_are_asked_where_there_is_room(
    machine: Node, jobs: list[JobObjects | Pod], message: str
) -> None:
    story = Story("room, but", [machine], jobs, actions="allocate", tiers=GANG)
    assert story.play() == {"a": {"n1": 1}}
    assert message in message_on(replace(story, tiers=FILTERED))


# Extension points

ALONE = Story(
    "two jobs, and one core",
    ONE,
    [job("a", cpu=1, queue="q1"), job("b", cpu=1, queue="q2")],
    actions="allocate",
    tiers=GANG,
)
CHOICE = replace(ALONE, title="one job, and two nodes", nodes=TWO, jobs=[job("a", cpu=1)])
PROMISES = replace(
    ALONE,
    title="a gang that waits for a core, and a job that could have the other",
    nodes=TWO[:1],
    jobs=[leaving("n1"), job("a", tasks=2, cpu=1), job("b", cpu=1)],
)
RACKS = Story("a job that must lie in a rack", **SPINE, jobs=[job("a", tasks=2, cpu=1, topology=HARD)])
PARTS = replace(
    ALONE,
    title="two parts that start with one task each, and two cores",
    nodes=TWO[:1],
    jobs=[
        job(
            "a",
            roles=[PodRole(part, 2, shape={"labels": {"group": part}}) for part in ("x", "y")],
            cpu=1,
            min_available=2,
            sub_groups=[sub_group("g", size=1, minimum=2)],
        )
    ],
)
PROMISED_PART = replace(PROMISES, jobs=[leaving("n1"), parts(1, tasks=2, wish=None), job("b", cpu=1)])


def reject(*question: Any) -> Vote:
    return Vote.REJECT


def in_second_rack(self: Plugin, job: Job, part: SubJob | None, bound: Domain, purpose: object) -> Any:
    return None if part is None else [[self.session.domains.by_name["s1"]]]


TABLE: dict[str, tuple[Point, Callable[..., Any], Story, dict[str, str]]] = {
    "which queue goes first": (
        points.QUEUE_ORDER,
        lambda self, left, right: (right.name == "q2") - (left.name == "q2"),
        ALONE,
        {"b-0": "n1"},
    ),
    "which job goes first": (
        points.JOB_ORDER,
        lambda self, job: job.name == "a",
        replace(ALONE, jobs=[job("a", cpu=1), job("b", cpu=1)]),
        {"b-0": "n1"},
    ),
    "which task goes first": (
        points.TASK_ORDER,
        lambda self, task: task.name == "a-0",
        replace(ALONE, jobs=sizes(1, 1, minimum=1)),
        {"a-1": "n1"},
    ),
    "whether a queue has had its share": (
        points.OVERUSED,
        lambda self, queue: queue.name == "q1",
        ALONE,
        {"b-0": "n1"},
    ),
    "whether a queue may take a task": (
        points.ALLOCATABLE,
        lambda self, queue, task: task.name != "a-0",
        ALONE,
        {"b-0": "n1"},
    ),
    "whether a job is valid": (
        points.JOB_VALID,
        lambda self, job: Objection("not today") if job.name == "a" else None,
        ALONE,
        {"b-0": "n1"},
    ),
    "whether a task can run at all": (points.PRE_PREDICATE, refuses("a-0"), ALONE, {"b-0": "n1"}),
    "whether it can run on a node": (
        points.PREDICATE,
        lambda self, task: [Refusal("not here", np.array([True, False]))],
        CHOICE,
        {"a-0": "n2"},
    ),
    "scores of the candidates together": (points.BATCH_NODE_ORDER, favours(n2=1), CHOICE, {"a-0": "n2"}),
    "scores node by node": (points.NODE_ORDER, favours(n2=1), CHOICE, {"a-0": "n2"}),
    "the best node": (points.BEST_NODE, lambda self, task, scores, among: 1, CHOICE, {"a-0": "n2"}),
    "whether a job is ready": (points.JOB_READY, lambda self, job: False, ALONE, {}),
    "whether a job is pipelined": (points.JOB_PIPELINED, reject, PROMISES, {"b-0": "n1"}),
    "whether a part is ready": (points.SUB_JOB_READY, lambda self, job, part: False, PARTS, {}),
    "whether a part is pipelined": (points.SUB_JOB_PIPELINED, reject, PROMISED_PART, {"b-0": "n1"}),
    "domains to try for a job": (
        points.HYPERNODE_GRADIENT,
        tried_in(["s1"]),
        RACKS,
        {"a-0": "n3", "a-1": "n3"},
    ),
    "domains to try for a part": (
        points.HYPERNODE_GRADIENT,
        in_second_rack,
        replace(RACKS, jobs=[parts()]),
        {"a-g0-0": "n3", "a-g1-0": "n3"},
    ),
    "scores of domains": (
        points.HYPERNODE_ORDER,
        likes_domains(s1=1000),
        RACKS,
        {"a-0": "n3", "a-1": "n3"},
    ),
}
"""By what they are for: a point, an answer to it, a story, and where pods go because of that answer."""


@holds("allocate-47")
@pytest.mark.parametrize(("point", "answer", "story", "expected"), TABLE.values(), ids=TABLE)
def test_every_point_of_the_table_is_asked_and_decides(
    point: Point, answer: Callable[..., Any], story: Story, expected: dict[str, str]
) -> None:
    assert places(story.cycle()) != expected
    assert places(advised(story, point, answer).cycle()) == expected


def normalising(most: float) -> type[Plugin]:
    """A plugin that maps nodes to any numbers, and reduces them so that the best candidate has `most`."""

    def reduce(self: Plugin, task: Task, scores: Floats, among: Mask) -> Floats:
        assert scores[among].tolist() == [10, 1000]
        return scores * most / scores[among].max()

    point = points.NODE_ORDER_REDUCE
    mapped = answers(points.NODE_ORDER)(favours(n1=10, n2=1000, full=1e6))
    return type(
        "Normalising", (Plugin,), {"name": "normalising", "map": mapped, "reduce": answers(point)(reduce)}
    )


@holds("allocate-48")
@pytest.mark.parametrize(("most", "expected"), [(10, "n1"), (100, "n2")])
def test_a_plugin_reduces_its_own_scores_over_the_nodes_that_passed(most: float, expected: str) -> None:
    """Another plugin gives n1 50 points: more than 10, less than 100."""
    story = advised(CHOICE, points.BATCH_NODE_ORDER, favours(n1=50))
    reduced = replace(
        story,
        nodes=[*TWO, node("full", cpu=0)],
        tiers=(*story.tiers, "normalising"),
        plugins=[*story.plugins, normalising(most)],
    )
    assert places(reduced.cycle()) == {"a-0": expected}


# Overused queues


def fair(held: int, *proportion: PluginEntry, pods: int = 110) -> Story:
    """Two queues deserve two of four cores each; q1 holds some, and a gang of q2 finds too few."""
    jobs = [
        job("old", tasks=held, cpu=1, min_available=1, running={"n1": held}, queue="q1"),
        job("more", tasks=4, cpu=1, min_available=1, queue="q1"),
        job("rival", tasks=2, cpu=2, queue="q2"),
    ]
    tiers = (["priority", "gang", *proportion],)
    return Story("shares", [node("n1", cpu=4, pods=pods)], jobs, actions="allocate", tiers=tiers)


@holds("allocate-49")
@pytest.mark.parametrize(
    ("held", "expected"),
    [(1, {"n1": 1}), (2, "pending"), (3, "pending")],
    ids=["less than it deserves: it gets more", "all it deserves: nothing", "more than that: nothing"],
)
def test_a_queue_that_holds_what_it_deserves_gets_nothing_new(held: int, expected: object) -> None:
    assert fair(held, plugin("proportion")).play() == {"old": "running", "more": expected, "rival": "pending"}
    assert fair(held).play() == {"old": "running", "more": {"n1": 4 - held}, "rival": "pending"}


@holds("allocate-49")
@pytest.mark.parametrize(("pods", "is_overused"), [(110, False), (4, True)])
def test_it_is_overused_where_it_holds_so_much_of_everything_pods_included(
    pods: int, is_overused: bool
) -> None:
    """As in Volcano; where it does not, proportion still refuses its tasks one by one (allocatable)."""
    story = fair(3, plugin("proportion"), pods=pods)
    session = story.session()
    assert [session.is_overused(session.queues[name]) for name in ("q1", "q2")] == [is_overused, False]
    assert story.play() == {"old": "running", "more": "pending", "rival": "pending"}
