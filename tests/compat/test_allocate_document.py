"""What "The allocate action in detail (Volcano)" says, as short stories: its run, tasks, nodes and gangs."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from allocating import (
    FILTERED,
    GANG,
    HARD,
    SOFT,
    SPINE,
    TWO,
    advised,
    diary_of,
    favours,
    leaving,
    message_on,
    places,
    refuses,
    sizes,
    staying,
)
from statements import holds, shows

from hekla.clock import VirtualClock
from hekla.cluster.embedded import EmbeddedCluster, Options
from hekla.engine.actions.allocate import Allocate, AllocateArguments
from hekla.engine.framework.decisions import Bind, Nominate, OpenGate
from hekla.engine.framework.points import ALLOCATABLE, BATCH_NODE_ORDER, NODE_ORDER, OVERUSED, PRE_PREDICATE
from hekla.engine.model.node import Shard
from hekla.objects import Pod
from hekla.scheduler.loop import Loop
from hekla.server.metrics import Metrics
from hekla.testing import JobObjects, Story, conf_of, job, node, pod, queue

QUEUE_GATE = "scheduling.volcano.sh/queue-allocation-gate"

# The whole run


@holds("allocate-02", "allocate-03")
def test_the_best_queue_comes_first_in_it_the_best_job_and_of_that_the_best_task() -> None:
    story = Story(
        "what comes last in the file comes first in the cycle",
        [node("n1", cpu=4)],
        [
            job("other", cpu=1, queue="low", priority=100),
            job("early", cpu=1, queue="high", priority=1),
            job("late", tasks=2, cpu=1, min_available=1, queue="high", priority=9, task_priorities=[1, 9]),
        ],
        queues=[queue("low", priority=1), queue("high", priority=2)],
        tiers=(*GANG, "proportion"),
    )
    assert list(places(story.cycle())) == ["late-1", "late-0", "early-0", "other-0"]


@holds("allocate-04")
def test_no_task_of_an_overused_queue_is_tried_and_the_next_queue_is_served() -> None:
    jobs = [job("a", cpu=1, queue="q1"), job("b", cpu=1, queue="q2")]
    story = Story("two queues", TWO, jobs, actions="allocate", tiers=GANG)
    full = advised(story, OVERUSED, lambda self, queue: queue.name == "q1")
    assert diary_of(story, "put") == ["put a-0 n1", "put b-0 n1"]
    assert diary_of(full) == ["try b-0", "put b-0 n1"]


@holds("allocate-05")
def test_each_job_has_a_statement_of_its_own_which_is_undone_alone() -> None:
    jobs = [
        job("small", cpu=1, priority=1),
        job("large", tasks=3, cpu=1, priority=5),
        job("best", cpu=1, priority=9),
    ]
    story = Story("three jobs", [node("n1", cpu=3)], jobs, actions="allocate", tiers=GANG)
    assert diary_of(story, "put", "undo") == [
        "put best-0 n1",
        "put large-0 n1",
        "put large-1 n1",
        "undo large-1",
        "undo large-0",
        "put small-0 n1",
    ]


COMMITS = {"allocate": {"onPipelined": "commit"}}
WAITING = Story(
    "one core is free, the other is being released",
    [node("n1", cpu=2)],
    [pod("old", on="n1", cpu=1, is_leaving=True), job("a", tasks=2, cpu=1), job("b", cpu=1)],
    actions="allocate",
    tiers=GANG,
)

FLOW = [
    shows(
        "allocate-02 allocate-51 allocate-53",
        Story(
            "of two jobs that no rack can hold, the hard one waits and the soft one is spread",
            **SPINE,
            jobs=[job("h", tasks=5, cpu=1, topology=HARD), job("s", tasks=5, cpu=1, topology=SOFT)],
            expect={"h": "pending", "s": {"n1": 2, "n2": 2, "n3": 1}},
        ),
    ),
    shows(
        "allocate-06 allocate-38",
        replace(
            WAITING,
            title="a job that is ready is committed: all it was given is bound",
            jobs=[job("a", tasks=2, cpu=1)],
            expect={"a": {"n1": 2}},
        ),
    ),
    shows(
        "allocate-06 allocate-23 allocate-24",
        replace(
            WAITING,
            title="a job that is pipelined is not committed: it keeps its places, and binds nothing",
            expect={"a": {"held": {"n1": 1}, "pipelined": {"n1": 1}}, "b": "pending"},
        ),
    ),
    shows(
        "allocate-06",
        replace(
            WAITING,
            title="unless that is asked for: then what has room is bound",
            configurations=COMMITS,
            expect={"a": {"bound": {"n1": 1}, "pipelined": {"n1": 1}}, "b": "pending"},
        ),
    ),
    shows(
        "allocate-06 allocate-25 allocate-39",
        replace(
            WAITING,
            title="a job that is neither is discarded, and the next one gets the place",
            jobs=[pod("old", on="n1", cpu=1), job("a", tasks=2, cpu=1), job("b", cpu=1)],
            expect={"a": "pending", "b": {"n1": 1}},
        ),
    ),
]


@pytest.mark.parametrize("story", FLOW)
def test_the_whole_run(story: Story) -> None:
    assert story.play() == story.expect


@holds("allocate-07")
@pytest.mark.parametrize(("tasks", "domain", "placed"), [(4, "s0", 4), (5, "", None)])
def test_a_commit_leaves_the_domain_of_the_job_and_metrics(
    tasks: int, domain: str, placed: int | None
) -> None:
    report = Story("a gang in a rack", **SPINE, jobs=[job("a", tasks=tasks, cpu=1, topology=HARD)]).cycle()
    metrics = Metrics()
    metrics.cycle_ended(report, seconds=0.0)
    page = dict(line.rsplit(" ", 1) for line in asyncio.run(metrics.page({})).decode().splitlines())
    assumed = page.get('volcano_task_scheduling_latency_milliseconds_count{stage="Assumed"}')
    assert report.session.jobs["default/a"].domain == domain
    assert assumed == (None if placed is None else f"{placed}.0")
    assert page['volcano_action_scheduling_latency_milliseconds_count{action="allocate"}'] == "1.0"


@holds("allocate-08")
def test_after_each_job_the_queues_are_ordered_anew() -> None:
    names = [("a1", "q1"), ("a2", "q1"), ("b1", "q2"), ("b2", "q2")]
    jobs = [job(name, cpu=1, queue=its_queue) for name, its_queue in names]
    report = Story(
        "two queues of equal weight", [node("n1", cpu=4)], jobs, tiers=(*GANG, "proportion")
    ).cycle()
    assert list(places(report)) == ["a1-0", "b1-0", "a2-0", "b2-0"]


# One task after another


def of_two(title: str, **more: Any) -> Story:
    """A job that can do with one of its two tasks."""
    given = {"jobs": [job("a", tasks=2, cpu=1, min_available=1)], **more}
    return Story(title, TWO, actions="allocate", tiers=GANG, **given)


@holds("allocate-09")
def test_a_task_that_the_queue_may_not_take_is_passed_over() -> None:
    story = advised(of_two("a limit"), ALLOCATABLE, lambda self, queue, task: task.name != "a-0")
    assert diary_of(story) == ["try a-1", "put a-1 n1"]


@holds("allocate-10")
@pytest.mark.parametrize("gate", [QUEUE_GATE, "example.com/wait"])
def test_a_task_behind_a_gate_is_passed_over(gate: str) -> None:
    pods = [pod("a-0", job="a", cpu=1, gates=[gate]), pod("a-1", job="a", cpu=1)]
    story = of_two("a gate", jobs=[job("a", tasks=0, min_available=1), *pods])
    assert diary_of(story) == ["try a-1", "put a-1 n1"]


@holds("allocate-10")
@pytest.mark.parametrize("has_room", [True, False])
def test_the_gate_is_asked_for_after_the_queue(has_room: bool) -> None:
    gated = job("a", cpu=1, gates=[QUEUE_GATE], annotations={QUEUE_GATE: "true"})
    opens = {"allocate": {"schedulingGatesQueueAdmission": True}}
    story = advised(
        of_two("a gate of the queue", jobs=[gated], configurations=opens),
        ALLOCATABLE,
        lambda self, queue, task: has_room,
    )
    assert any(isinstance(d, OpenGate) for d in story.cycle().decisions) == has_room


@holds("allocate-11")
@pytest.mark.parametrize(
    ("minimum", "expected"),
    [
        pytest.param(1, ["try a-0", "try a-1", "put a-1 n1"], id="a job that can do without goes on"),
        pytest.param(2, ["try a-0"], id="a gang that needs all its tasks stops, as for want of a node"),
    ],
)
def test_a_task_that_can_run_nowhere(minimum: int, expected: list[str]) -> None:
    story = of_two("an objection", jobs=[job("a", tasks=2, cpu=1, min_available=minimum)])
    assert diary_of(advised(story, PRE_PREDICATE, refuses("a-0"))) == expected


def nominated(title: str, expect: dict[str, object], *others: JobObjects | Pod, **nodes: Any) -> Story:
    """A task that was promised n2, though n1 comes first and has the better score."""
    jobs = [*others, job("a", cpu=1, nominated="n2")]
    story = Story(title, [node("n1", cpu=2), node("n2", cpu=2, **nodes)], jobs, expect, actions="allocate")
    return advised(replace(story, tiers=FILTERED), NODE_ORDER, favours(n1=100))


NOMINATED = [
    shows(
        "allocate-12", nominated("a node that was promised is taken before a better one", {"a": {"n2": 1}})
    ),
    shows(
        "allocate-12",
        nominated(
            "where it fails the predicates, all nodes are looked at",
            {"a": {"n1": 1}},
            taints=["x=y:NoSchedule"],
        ),
    ),
    shows(
        "allocate-12 allocate-50",
        nominated(
            "where it has no room and will have none, all nodes are looked at",
            {"a": {"n1": 1}},
            pod("late", on="n2", cpu=2),
        ),
    ),
    shows(
        "allocate-50",
        nominated(
            "room that is being released is enough: the promise is kept, and the task waits",
            {"a": {"pipelined": {"n2": 1}}},
            pod("old", on="n2", cpu=2, is_leaving=True),
        ),
    ),
]


@pytest.mark.parametrize("story", NOMINATED)
def test_nominated_nodes(story: Story) -> None:
    assert story.play() == story.expect


@holds("allocate-50")
def test_a_task_goes_to_the_node_that_preempt_freed_though_another_became_free_first() -> None:
    ends_soon = {"hekla.dev/run-seconds": "5"}
    story = Story(
        "two full nodes",
        TWO,
        [
            job("old", cpu=2, running={"n1": 1}, priority=9, annotations=ends_soon),
            job("low", cpu=2, running={"n2": 1}, priority=1, min_available=0),
            job("high", cpu=2, priority=9),
        ],
    )
    clock = VirtualClock()
    cluster = EmbeddedCluster(
        story.manifests(), clock, options=Options(grace_seconds=8.0, recreate_evicted=False)
    )
    loop = Loop(cluster, conf_of("allocate, preempt", GANG), clock)
    assert [d.node for d in loop.step().decisions if isinstance(d, Nominate)] == ["n2"]
    clock.sleep(10)
    assert [(d.pod, d.node) for d in loop.step().decisions if isinstance(d, Bind)] == [
        ("default/high-0", "n2")
    ]


@holds("allocate-13")
def test_a_task_without_a_node_has_its_reasons_recorded_and_told() -> None:
    story = Story("too large", TWO, [job("a", cpu=3)], actions="allocate", tiers=GANG)
    (recorded,) = story.cycle().session.jobs["default/a"].fit_errors.values()
    assert str(recorded) == message_on(story) == "0/2 nodes are unavailable: 2 Insufficient cpu."


GOES_ON = [
    pytest.param(
        [job("a", tasks=3, cpu=9)],
        ["try a-0"],
        id="a gang that needs all its tasks ends with the first that finds no node",
        marks=holds("allocate-14", "allocate-40"),
    ),
    pytest.param(
        sizes(9, 1, 9, 1, minimum=2),
        ["try a-0", "try a-1", "put a-1 n1", "try a-2", "try a-3", "put a-3 n1"],
        id="an elastic gang goes on to the tasks that find one",
        marks=holds("allocate-14", "allocate-41"),
    ),
    pytest.param(
        sizes(9, 9, 9, minimum=2),
        ["try a-0", "try a-1", "try a-2"],
        id="and tries them all where none does",
        marks=holds("allocate-14", "allocate-41"),
    ),
    pytest.param(
        sizes(9, 1, 9, 1, minimum=1),
        ["try a-0", "try a-1", "put a-1 n1", "try a-2", "try a-3", "put a-3 n1"],
        id="a job of minimum one goes on, too",
        marks=holds("allocate-14", "allocate-42"),
    ),
]


@pytest.mark.parametrize(("jobs", "expected"), GOES_ON)
def test_whether_allocating_continues(jobs: list[JobObjects | Pod], expected: list[str]) -> None:
    assert diary_of(Story("tasks", TWO, jobs, actions="allocate", tiers=GANG)) == expected


@holds("allocate-42")
def test_each_task_of_a_job_of_minimum_one_is_committed_alone() -> None:
    jobs = [job("a", tasks=2, cpu=1, min_available=1), job("b", cpu=1)]
    assert list(places(Story("two jobs", TWO, jobs, tiers=GANG).cycle())) == ["a-0", "b-0", "a-1"]


# Which node


def by_scores(title: str, expect: dict[str, object], *jobs: Pod, scores: dict[str, float]) -> Story:
    """One task for three nodes of one core."""
    nodes = [node(f"n{at}", cpu=1) for at in (1, 2, 3)]
    story = Story(title, nodes, [*jobs, job("a", cpu=1)], expect, actions="allocate", tiers=GANG)
    return advised(story, BATCH_NODE_ORDER, favours(**scores))


GRADIENTS = [
    shows(
        "allocate-15 allocate-16",
        by_scores(
            "among nodes with room the best score decides", {"a": {"n2": 1}}, scores={"n2": 1, "n3": 0.5}
        ),
    ),
    shows(
        "allocate-16 allocate-23",
        by_scores(
            "a node with room comes before a better one that will have room",
            {"a": {"n2": 1}},
            leaving("n1"),
            staying("n3"),
            scores={"n1": 100},
        ),
    ),
    shows(
        "allocate-17 allocate-24",
        by_scores(
            "where none has room, those that will have it are compared by their scores",
            {"a": {"pipelined": {"n2": 1}}},
            *map(leaving, ("n1", "n2", "n3")),
            scores={"n2": 1},
        ),
    ),
    shows(
        "allocate-18 allocate-25",
        by_scores(
            "a node that has and will have no room is passed over, whatever its score",
            {"a": {"pipelined": {"n2": 1}}},
            staying("n1"),
            leaving("n2"),
            staying("n3"),
            scores={"n1": 100},
        ),
    ),
    shows(
        "allocate-18 allocate-25",
        by_scores(
            "without any other the task stays as it is",
            {"a": "pending"},
            *map(staying, ("n1", "n2", "n3")),
            scores={"n1": 100},
        ),
    ),
]


@pytest.mark.parametrize("story", GRADIENTS)
def test_which_node(story: Story) -> None:
    assert story.play() == story.expect


SHARD_GRADIENTS = ("own-now", "other-now", "own-later", "other-later")


@pytest.mark.parametrize(
    ("full", "expected"),
    [
        pytest.param(0, {"own-now": 1}, marks=holds("allocate-19"), id="own nodes with room first"),
        pytest.param(1, {"other-now": 1}, marks=holds("allocate-20"), id="then others with room"),
        pytest.param(
            2,
            {"pipelined": {"own-later": 1}},
            marks=holds("allocate-21"),
            id="then own ones that will have it",
        ),
        pytest.param(
            3,
            {"pipelined": {"other-later": 1}},
            marks=holds("allocate-22"),
            id="then others that will have it",
        ),
    ],
)
def test_four_gradients_of_a_soft_shard(full: int, expected: dict[str, object]) -> None:
    """The worse the gradient, the earlier the node and the better its score; the best ones are full."""
    taken = SHARD_GRADIENTS[:full]
    pods = [staying(n) if n in taken else leaving(n) for n in SHARD_GRADIENTS if n in taken or "later" in n]
    scores = {name: float(at) for at, name in enumerate(SHARD_GRADIENTS)}
    story = Story(
        "four nodes",
        [node(name, cpu=1) for name in reversed(SHARD_GRADIENTS)],
        [*pods, job("a", cpu=1)],
        actions="allocate",
        tiers=GANG,
        shard=Shard("soft", frozenset({"own-now", "own-later"})),
    )
    assert advised(story, NODE_ORDER, favours(**scores)).play() == {"a": expected}


@holds("allocate-15")
def test_a_sub_job_that_is_ready_stops_and_what_is_left_of_it_comes_after_other_jobs() -> None:
    jobs = [job("a", tasks=3, cpu=1, min_available=2), job("b", cpu=1)]
    story = Story("three cores", [node("n1", cpu=3)], jobs, tiers=GANG)
    assert list(places(story.cycle())) == ["a-0", "a-1", "b-0"]


# Gangs


@holds("allocate-37")
@pytest.mark.parametrize(("cores", "expected"), [(1, "pending"), (2, {"n1": 2}), (3, {"n1": 3})])
def test_a_gang_of_two_and_one_more_starts_with_two(cores: int, expected: object) -> None:
    jobs = [job("a", tasks=3, cpu=1, min_available=2)]
    assert Story("a gang", [node("n1", cpu=cores)], jobs, tiers=GANG).play() == {"a": expected}


@holds("allocate-39")
def test_a_gang_that_is_discarded_leaves_the_session_as_it_was() -> None:
    jobs = [leaving("n1"), job("a", tasks=4, cpu=1)]
    story = Story("a gang of four on three cores", [node("n1", cpu=3)], jobs, tiers=GANG)
    session = story.session()
    before = session.fingerprint()
    Allocate(AllocateArguments()).run(session)
    assert session.fingerprint() == before
    assert session.decisions == []
    assert diary_of(story, "put", "undo") == [
        *("put a-0 n1", "put a-1 n1", "put a-2 n1"),
        *("undo a-2", "undo a-1", "undo a-0"),
    ]
