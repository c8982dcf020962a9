"""Capacity: queues with amounts of their own borrow up to a limit and give back, alone or in a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from hekla.engine.framework import points
from hekla.engine.framework.orders import queue_goes_first, victim_queue_goes_first
from hekla.engine.framework.plugin import EvictionContext
from hekla.engine.framework.session import Session
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.engine.plugins.capacity import Capacity
from hekla.engine.plugins.queues import UNLIMITED
from hekla.objects import Manifest, Queue
from hekla.testing import (
    JobObjects,
    Story,
    check_plugin,
    job,
    node,
    plugin,
    pod,
    queue,
    session_of,
)
from hekla.testing.samples import Sample, samples

GANG = plugin("gang", enableReclaimable=False)
"""Leaves it to capacity who goes."""
FLAT = ([GANG, "capacity"], ["predicates"])
ONLY_CAPACITY = ("gang", "capacity")
GPU = "nvidia.com/gpu"


def cores(amount: int) -> dict[str, int]:
    return {"cpu": amount}


def filled(name: str, tasks: int, *, on: str = "n1", **shape: object) -> JobObjects:
    """A job with tasks of one core that run on a node, of which one must stay."""
    settings = {"cpu": 1, "min_available": 1, "queue": name, **shape}
    return job(f"of-{name}", tasks=tasks, running={on: tasks}, **settings)


LENT = [
    queue("q1", guarantee=cores(2), deserved=cores(4), capability=cores(8)),
    queue("q2", deserved=cores(6)),
]


FLAT_STORIES = [
    Story(
        "a queue borrows what no queue uses, up to its capability",
        nodes=[node("n1", cpu=10)],
        queues=[queue("q1", deserved=cores(2), capability=cores(3))],
        jobs=[job("eager", tasks=5, cpu=1, min_available=1, queue="q1")],
        expect={"eager": {"n1": 3}},
    ),
    Story(
        "what another queue is guaranteed is never lent, even while that queue is empty",
        nodes=[node("n1", cpu=10)],
        queues=[queue("q1"), queue("q2", guarantee=cores(7))],
        jobs=[job("eager", tasks=5, cpu=1, min_available=1, queue="q1")],
        expect={"eager": {"n1": 3}},
    ),
    Story(
        "a resource that the queue's capability does not name is not capped",
        nodes=[node("n1", cpu=10, memory="16Gi")],
        queues=[queue("q1", capability={"memory": "8Gi"})],
        jobs=[job("eager", tasks=9, cpu=1, memory="1Gi", min_available=1, queue="q1")],
        expect={"eager": {"n1": 8}},
    ),
    Story(
        "of the tasks a queue has in excess reclaim takes only as many as it needs",
        nodes=[node("n1", cpu=8)],
        queues=[queue("q1", deserved=cores(4)), queue("q2", deserved=cores(6))],
        jobs=[filled("q1", 8), job("claims", cpu=1, queue="q2")],
        actions="reclaim",
        expect={"of-q1": {"evicted": ["of-q1-7"]}, "claims": {"pipelined": {"n1": 1}}},
    ),
    Story(
        "a queue that would hold more than it deserves takes nothing back",
        nodes=[node("n1", cpu=8)],
        queues=[queue("q1", deserved=cores(4)), queue("q2", deserved=cores(1))],
        jobs=[filled("q1", 8), job("claims", cpu=2, queue="q2")],
        actions="reclaim",
        expect={"of-q1": "running", "claims": "pending"},
    ),
    Story(
        "a queue that deserves only devices loses its cpu-only tasks to anyone",
        nodes=[node("n1", cpu=4, gpu=4)],
        queues=[queue("q1", deserved={GPU: 4}), queue("q2", deserved=cores(4))],
        jobs=[filled("q1", 4), job("claims", cpu=1, queue="q2")],
        actions="reclaim",
        expect={"of-q1": {"evicted": ["of-q1-3"]}, "claims": {"pipelined": {"n1": 1}}},
    ),
    Story(
        "a queue that deserves only devices takes nothing back for a task without one",
        nodes=[node("n1", cpu=4, gpu=4)],
        queues=[queue("q1"), queue("q2", deserved={GPU: 4})],
        jobs=[filled("q1", 4), job("claims", cpu=1, queue="q2")],
        actions="reclaim",
        expect={"of-q1": "running", "claims": "pending"},
    ),
    Story(
        "it takes back cpu as well for a task with a device: one resource that it is owed is enough",
        nodes=[node("n1", cpu=4, gpu=4)],
        queues=[queue("q1"), queue("q2", deserved={GPU: 4})],
        jobs=[filled("q1", 4), job("claims", cpu=1, gpu=1, queue="q2")],
        actions="reclaim",
        expect={"of-q1": {"evicted": ["of-q1-3"]}, "claims": {"pipelined": {"n1": 1}}},
    ),
    Story(
        "a queue keeps its guarantee, although the task that would go is in excess",
        nodes=[node("n1", cpu=3)],
        queues=[queue("q1", guarantee=cores(2)), queue("q2", deserved=cores(1))],
        jobs=[
            job("large", cpu=3, min_available=0, running={"n1": 1}, queue="q1"),
            job("claims", cpu=1, queue="q2"),
        ],
        actions="reclaim",
        expect={"large": "running", "claims": "pending"},
    ),
    Story(
        "a task that holds nothing of what is asked for is left alone",
        nodes=[node("n1", cpu=2, gpu=2)],
        queues=[queue("q1"), queue("q2", deserved=cores(2)), queue("q3", reclaimable=False)],
        jobs=[
            job("cards", tasks=2, gpu=1, min_available=0, running={"n1": 2}, queue="q1"),
            filled("q3", 2),
            job("claims", cpu=1, queue="q2"),
        ],
        actions="reclaim",
        expect={"cards": "running", "of-q3": "running", "claims": "pending"},
    ),
    Story(
        "a closed queue is given nothing",
        nodes=[node("n1")],
        queues=[queue("q1", deserved=cores(4), state="Closed")],
        jobs=[job("late", cpu=1, queue="q1")],
        expect={"late": "pending"},
    ),
]


@pytest.mark.parametrize("story", FLAT_STORIES, ids=str)
def test_capacity_side_by_side(story: Story) -> None:
    played = Story(**{**vars(story), "tiers": FLAT, "plugins": [Capacity]}).play()
    assert played == story.expect


ADMISSIONS = [
    Story(
        "admitted jobs count until the limit is reached; what running ones hold above their minimum does not",
        nodes=[node("n1", cpu=8)],
        queues=[queue("q1")],
        jobs=[
            job(
                "runs",
                tasks=10,
                cpu="500m",
                min_available=1,
                running={"n1": 10},
                min_resources={"cpu": "3500m"},
                queue="q1",
            ),
            job("inqueue", cpu=2, min_resources=cores(2), queue="q1"),
            job("fits", cpu=2, min_resources=cores(2), queue="q1", phase="Pending"),
            job("too-much", cpu=1, min_resources=cores(1), queue="q1", phase="Pending"),
        ],
        expect={"runs": "Running", "inqueue": "Inqueue", "fits": "Inqueue", "too-much": "Pending"},
    ),
    Story(
        "a job without a minimum is admitted however full the queue is",
        nodes=[node("n1", cpu=8)],
        queues=[queue("q1", capability=cores(1))],
        jobs=[filled("q1", 1), job("more", cpu=1, queue="q1", phase="Pending")],
        expect={"of-q1": "Running", "more": "Inqueue"},
    ),
    Story(
        "a device that the cluster does not have is admitted for no job",
        nodes=[node("n1", cpu=8)],
        queues=[queue("q1", deserved={GPU: 2})],
        jobs=[job("dreams", gpu=1, min_resources={GPU: 1}, queue="q1", phase="Pending")],
        expect={"dreams": "Pending"},
    ),
    Story(
        "a closed queue admits no job that names a minimum",
        nodes=[node("n1", cpu=8)],
        queues=[queue("q1", state="Closed")],
        jobs=[job("late", cpu=1, min_resources=cores(1), queue="q1", phase="Pending")],
        expect={"late": "Pending"},
    ),
    Story(
        "tasks behind a gate are not waited for",
        nodes=[node("n1", cpu=2)],
        queues=[queue("q1")],
        jobs=[
            job("gated", cpu=2, gates=["x/wait"], min_resources=cores(2), queue="q1", phase="Pending"),
            job("next", cpu=2, min_resources=cores(2), queue="q1", phase="Pending"),
        ],
        expect={"gated": "Inqueue", "next": "Inqueue"},
    ),
]


@pytest.mark.parametrize("story", ADMISSIONS, ids=str)
def test_capacity_admits(story: Story) -> None:
    played = Story(**{**vars(story), "tiers": ONLY_CAPACITY, "actions": "enqueue", "plugins": [Capacity]})
    assert played.phases() == story.expect


@dataclass
class Stage:
    """A session with capacity alone in it."""

    parts: Sequence[Manifest | JobObjects]
    hierarchical: bool = False
    level: int = 0
    session: Session = field(init=False)

    def __post_init__(self) -> None:
        entry = plugin("capacity", {"ancestorReclaimLevel": self.level}, enableHierarchy=self.hierarchical)
        self.session = session_of(*self.parts, tiers=[[entry]], plugins=[Capacity])

    @property
    def capacity(self) -> Capacity:
        found = self.session.plugins[0]
        assert isinstance(found, Capacity)
        return found

    def task(self, name: str) -> Task:
        return next(task for task in self.session.tasks if task.name == name)

    def tasks(self, prefix: str) -> list[Task]:
        return [task for task in self.session.tasks if task.name.startswith(prefix)]

    def cpu_limits(self, *names: str) -> dict[str, float]:
        """In cores."""
        entitled, row_of = self.capacity.entitled, self.capacity.tree.row_of
        limits = {name: float(entitled.limit[row_of[name], 0]) for name in names}
        return {name: amount if amount == UNLIMITED else amount / 1000 for name, amount in limits.items()}

    def shares(self, *names: str) -> dict[str, float]:
        return {name: round(float(self.capacity.share[self.capacity.tree.row_of[name]]), 3) for name in names}

    def in_order(self, left: str, right: str) -> str:
        """The name of the queue that goes first."""
        queues = self.session.queues
        return left if queue_goes_first(self.session, queues[left], queues[right]) else right

    def victims(self, reclaimer: str, *prefixes: str) -> list[str]:
        candidates = [task for prefix in prefixes for task in self.tasks(prefix)]
        return [task.name for task in self.session.reclaimable(self.task(reclaimer), candidates)]

    def may_claim(self, name: str) -> bool:
        task = self.task(name)
        return self.session.is_preemptive(self.session.queues[self.session.jobs[task.job].queue], [task])

    def may_take(self, name: str) -> bool:
        task = self.task(name)
        return self.session.is_allocatable(self.session.queues[self.session.jobs[task.job].queue], task)

    def said_of(self, job: str) -> list[str]:
        return [str(note) for note in self.session.trace.jobs[f"default/{job}"]]


def test_a_queue_gives_back_until_it_holds_what_it_deserves() -> None:
    stage = Stage([*LENT, node("n1", cpu=10), filled("q1", 8), job("claims", cpu=1, queue="q2")])
    assert stage.cpu_limits("q1", "q2") == {"q1": 8, "q2": 8}
    assert stage.shares("q1", "q2") == {"q1": 2.0, "q2": 0.0}
    assert stage.may_claim("claims-0")
    assert stage.victims("claims-0", "of-q1") == ["of-q1-7", "of-q1-6", "of-q1-5", "of-q1-4"]


def test_tasks_that_hold_nothing_of_what_is_asked_for_are_no_victims() -> None:
    cards = job("cards", tasks=2, gpu=1, queue="q1", running={"n1": 2})
    parts = [queue("q1"), queue("q2", deserved=cores(2)), node("n1", gpu=2), cards, filled("q1", 1)]
    stage = Stage([*parts, job("claims", cpu=1, queue="q2")])
    assert stage.victims("claims-0", "cards", "of-q1") == ["of-q1-0"]


def test_side_by_side_what_a_queue_deserves_is_cut_at_its_limit_and_lifted_to_its_guarantee() -> None:
    queues = [queue("cut", deserved=cores(9), capability=cores(5)), queue("lifted", guarantee=cores(3))]
    capacity = Stage([*queues, node("n1", cpu=10)]).capacity
    assert capacity.entitled.deserved[:, 0].tolist() == [5000, 3000]


def test_a_device_the_cluster_lacks_stays_deserved_but_may_not_be_held() -> None:
    stage = Stage([queue("q1", deserved={GPU: 2}), node("n1"), job("dreams", gpu=1, queue="q1")])
    column = stage.session.axis.column_of[GPU]
    assert stage.capacity.entitled.deserved[0, column] == 2000
    assert stage.capacity.entitled.limit[0, column] == 0
    assert not stage.may_take("dreams-0")
    assert stage.said_of("dreams") == [
        f'capacity: queue "q1" would go beyond its limit: {GPU} (asked 1, left 0 of 0)'
    ]


def test_a_closed_queue_says_so() -> None:
    stage = Stage([queue("q1", state="Closed"), node("n1"), job("late", cpu=1, queue="q1")])
    assert not stage.may_take("late-0")
    assert not stage.may_claim("late-0")
    assert stage.said_of("late") == ['capacity: queue "q1" is not open']


def test_queues_go_by_priority_then_by_share_then_the_one_that_deserves_something() -> None:
    stage = Stage(
        [
            queue("first", priority=1, deserved=cores(1)),
            queue("half", deserved=cores(2)),
            queue("whole", deserved=cores(1)),
            queue("poor"),
            node("n1", cpu=10),
            filled("first", 3),
            filled("half", 1),
            filled("whole", 1),
        ]
    )
    assert stage.shares("first", "half", "whole", "poor") == {"first": 3, "half": 0.5, "whole": 1, "poor": 1}
    assert stage.in_order("half", "first") == "first"
    assert stage.in_order("whole", "half") == "half"
    assert stage.in_order("poor", "whole") == "whole"


def test_promises_count_as_held_and_evicted_tasks_do_not() -> None:
    stage = Stage(
        [queue("q1", deserved=cores(4)), node("n1", cpu=4), filled("q1", 2), job("new", cpu=1, queue="q1")]
    )
    stage.session.put(stage.task("new-0"), 0, Status.PIPELINED)
    assert stage.shares("q1") == {"q1": 0.75}
    stage.session.start_release(stage.task("of-q1-0"))
    assert stage.shares("q1") == {"q1": 0.5}
    stage.session.cancel_release(stage.task("of-q1-0"), Status.RUNNING)
    stage.session.take_back(stage.task("new-0"))
    assert stage.shares("q1") == {"q1": 0.5}


# In a tree


def family(
    *,
    eng: dict[str, int] | None = None,
    ops: dict[str, int] | None = None,
    dev: dict[str, int] | None = None,
    prod: dict[str, int] | None = None,
) -> list[Queue]:
    """root has eng and ops, eng has dev and prod; the amounts are what each deserves."""
    return [
        queue("root"),
        queue("eng", deserved=eng),
        queue("ops", deserved=ops),
        queue("dev", parent="eng", deserved=dev),
        queue("prod", parent="eng", deserved=prod),
    ]


def test_a_child_may_hold_what_its_parent_may_less_what_its_siblings_are_guaranteed() -> None:
    queues = [
        queue("root"),
        queue("eng", capability=cores(10)),
        queue("ops"),
        queue("dev", parent="eng", guarantee=cores(2)),
        queue("prod", parent="eng"),
    ]
    stage = Stage([*queues, node("n1")], hierarchical=True)
    limits = {"root": UNLIMITED, "eng": 10, "ops": UNLIMITED, "dev": 10, "prod": 8}
    assert stage.cpu_limits(*limits) == limits


def test_a_root_that_caps_cpu_alone_leaves_no_memory_to_any_queue() -> None:
    queues = [queue("root", capability=cores(4)), queue("q1")]
    stage = Stage([*queues, node("n1"), job("new", cpu=1, memory="1Gi", queue="q1")], hierarchical=True)
    assert not stage.may_take("new-0")
    assert stage.said_of("new") == [
        'capacity: queue "q1" would go beyond its limit: memory (asked 1Gi, left 0Gi of 0Gi)'
    ]


def test_in_a_tree_what_a_queue_deserves_is_not_cut() -> None:
    queues = [queue("root"), queue("q1", deserved=cores(9), capability=cores(5))]
    capacity = Stage([*queues, node("n1", cpu=4)], hierarchical=True).capacity
    assert capacity.entitled.deserved[capacity.tree.row_of["q1"], 0] == 9000


BRANCHES = [
    *family(eng=cores(6), ops=cores(4), dev=cores(4), prod=cores(2)),
    node("n1", cpu=20),
    filled("dev", 2),
    filled("prod", 2),
    filled("ops", 1),
    job("new", cpu=1, queue="ops"),
]


def test_queues_of_different_branches_are_ordered_where_their_branches_part() -> None:
    stage = Stage(BRANCHES, hierarchical=True)
    shares = {"eng": 0.667, "ops": 0.25, "dev": 0.5, "prod": 1.0}
    assert stage.shares(*shares) == shares
    assert stage.in_order("dev", "ops") == "ops"
    assert stage.in_order("prod", "dev") == "dev"
    assert stage.in_order("eng", "prod") == "prod", "a queue without children goes before one with"


def test_the_share_of_a_branch_stays_what_it_was_when_the_session_opened() -> None:
    extra = job("more", tasks=4, cpu=1, queue="dev", running={"n1": 4})
    stage = Stage([*BRANCHES, extra], hierarchical=True)
    before = stage.shares("eng", "dev")
    for task in stage.tasks("more"):
        stage.session.start_release(task)
    assert before == {"eng": 1.333, "dev": 1.5}
    assert stage.shares("eng", "dev") == {"eng": 1.333, "dev": 0.5}
    assert stage.capacity.allocated[stage.capacity.tree.row_of["eng"], 0] == 4000


def test_the_closest_relatives_of_the_claiming_queue_are_evicted_first() -> None:
    stage = Stage(BRANCHES, hierarchical=True)
    queues = stage.session.queues
    assert victim_queue_goes_first(stage.session, queues["prod"], queues["ops"], queues["dev"])
    assert not victim_queue_goes_first(stage.session, queues["ops"], queues["prod"], queues["dev"])
    assert stage.session.ask(points.VICTIM_QUEUE_ORDER, queues["dev"], queues["prod"], queues["ops"]) == 0


def test_side_by_side_no_queue_is_a_closer_relative() -> None:
    assert not Stage(LENT).session.has_answer(points.VICTIM_QUEUE_ORDER)


TREE = ([GANG, plugin("capacity", enableHierarchy=True)], ["predicates"])
TREE_STORIES = [
    Story(
        "a branch has a limit for all its queues together",
        nodes=[node("n1", cpu=10)],
        queues=[queue("root"), queue("eng", capability=cores(3)), queue("dev", parent="eng")],
        jobs=[job("eager", tasks=5, cpu=1, min_available=1, queue="dev")],
        expect={"eager": {"n1": 3}},
    ),
    Story(
        "what a sibling holds of the branch is not there any more",
        nodes=[node("n1", cpu=10)],
        queues=[queue("root"), queue("eng", capability=cores(3)), *family()[3:]],
        jobs=[filled("prod", 2), job("eager", tasks=5, cpu=1, min_available=1, queue="dev")],
        expect={"of-prod": "running", "eager": {"n1": 1}},
    ),
]


@pytest.mark.parametrize("story", TREE_STORIES, ids=str)
def test_capacity_in_a_tree(story: Story) -> None:
    played = Story(**{**vars(story), "tiers": TREE, "plugins": [Capacity]}).play()
    assert played == story.expect


def test_jobs_admitted_to_one_queue_use_up_the_branch_for_the_others() -> None:
    story = Story(
        "enqueue",
        nodes=[node("n1", cpu=10)],
        queues=[queue("root"), queue("eng", capability=cores(3)), *family()[3:]],
        jobs=[
            job("first", cpu=2, min_resources=cores(2), queue="dev", phase="Pending"),
            job("second", cpu=2, min_resources=cores(2), queue="prod", phase="Pending"),
        ],
        actions="enqueue",
        tiers=TREE,
        plugins=[Capacity],
    )
    assert story.phases() == {"first": "Inqueue", "second": "Pending"}


FAULTS = [
    ([queue("q1")], 'there is no queue "root"'),
    (
        [queue("root"), queue("q1"), queue("lost", parent="gone")],
        'queue "lost" names parent "gone", which does not exist',
    ),
    (
        [queue("root"), queue("q1"), queue("hen", parent="egg"), queue("egg", parent="hen")],
        'queue "hen" is below itself, by way of its parent "egg"',
    ),
    (
        [queue("root"), queue("q1"), queue("child", parent="q1")],
        'job "default/new" is in queue "q1", which has child queues; move it to one of them',
    ),
]


@pytest.mark.parametrize(("queues", "fault"), FAULTS, ids=[fault for _, fault in FAULTS])
def test_while_the_queues_are_no_tree_everything_is_refused_and_everyone_is_told(
    queues: list[Queue], fault: str
) -> None:
    waiting = job("new", cpu=1, min_resources=cores(1), queue="q1", phase="Pending")
    other = job("other", tasks=1, cpu=1, queue=queues[-1].metadata.name, running={"n1": 1})
    jobs = [waiting] if "in queue" in fault else [waiting, other]
    stage = Stage([*queues, node("n1"), *jobs], hierarchical=True)
    session = stage.session
    assert not stage.may_take("new-0")
    assert not stage.may_claim("new-0")
    assert not session.is_enqueueable(session.jobs["default/new"])
    assert stage.victims("new-0", "other") == []
    context = EvictionContext(kind="gangreclaim", job=session.jobs["default/new"], domain="")
    assert session.ask(points.UNIFIED_EVICTABLE, context, stage.tasks("other")) == []
    assert not session.has_answer(points.QUEUE_ORDER)
    told = f"capacity: the queues are no tree, so nothing is given out: {fault}"
    assert stage.said_of("new") == [told]
    assert {str(note) for notes in session.trace.queues.values() for note in notes} == {told}


def test_a_queue_with_children_takes_no_job() -> None:
    stage = Stage([*BRANCHES], hierarchical=True)
    assert not stage.session.is_allocatable(stage.session.queues["eng"], stage.task("new-0"))
    assert stage.said_of("new") == ['capacity: queue "eng" has child queues, and only those take jobs']


# Reclaim in a tree


def cousins(level: int, *, eng_deserves: int) -> Stage:
    """dev holds four cores and deserves two; ops/web, a cousin of it, wants one."""
    queues = [
        *family(eng=cores(eng_deserves), ops=cores(4), dev=cores(2)),
        queue("web", parent="ops", deserved=cores(4)),
    ]
    parts = [*queues, node("n1", cpu=4), filled("dev", 4), job("claims", cpu=1, queue="web")]
    return Stage(parts, hierarchical=True, level=level)


def test_without_a_level_a_queue_beyond_its_due_gives_back_whatever_its_branch_is_due() -> None:
    assert cousins(0, eng_deserves=4).victims("claims-0", "of-dev") == ["of-dev-3", "of-dev-2"]


def test_at_level_one_cousins_give_back_only_what_their_parent_has_in_excess() -> None:
    assert cousins(1, eng_deserves=4).victims("claims-0", "of-dev") == []
    assert cousins(1, eng_deserves=3).victims("claims-0", "of-dev") == ["of-dev-3"]


def test_siblings_settle_it_between_themselves_whatever_their_parent_is_due() -> None:
    parts = [
        *family(eng=cores(9), dev=cores(2), prod=cores(4)),
        node("n1", cpu=4),
        filled("dev", 4),
        job("claims", cpu=1, queue="prod"),
    ]
    stage = Stage(parts, hierarchical=True, level=1)
    assert stage.victims("claims-0", "of-dev") == ["of-dev-3", "of-dev-2"]


@pytest.mark.parametrize(("level", "victims"), [(1, ["of-low-3", "of-low-2"]), (2, ["of-low-3"])])
def test_at_level_two_a_grandparent_of_another_branch_has_a_say_as_well(
    level: int, victims: list[str]
) -> None:
    parts = [
        queue("root"),
        queue("a", deserved=cores(3)),
        queue("b", deserved=cores(4)),
        queue("mid", parent="a", deserved=cores(2)),
        queue("other", parent="b", deserved=cores(4)),
        queue("low", parent="mid", deserved=cores(2)),
        queue("far", parent="other", deserved=cores(4)),
        node("n1", cpu=4),
        filled("low", 4),
        job("claims", cpu=1, queue="far"),
    ]
    assert Stage(parts, hierarchical=True, level=level).victims("claims-0", "of-low") == victims


@pytest.mark.parametrize(("level", "victims"), [(0, ["of-dev-1", "of-dev-0"]), (1, [])])
def test_relatives_that_deserve_nothing_take_nothing_from_each_other(level: int, victims: list[str]) -> None:
    parts = [*family(eng=cores(4)), node("n1", cpu=2), filled("dev", 2), job("claims", cpu=1, queue="prod")]
    assert Stage(parts, hierarchical=True, level=level).victims("claims-0", "of-dev") == victims


@pytest.mark.parametrize(("level", "may_claim"), [(0, False), (1, True)])
def test_a_queue_that_deserves_nothing_claims_what_its_branch_deserves(level: int, may_claim: bool) -> None:
    parts = [*family(eng=cores(4)), node("n1", cpu=2), job("claims", cpu=1, queue="dev")]
    assert Stage(parts, hierarchical=True, level=level).may_claim("claims-0") is may_claim


def test_what_the_root_deserves_is_no_queues_claim() -> None:
    parts = [queue("root", deserved=cores(9)), queue("q1"), node("n1"), job("claims", cpu=1, queue="q1")]
    assert not Stage(parts, hierarchical=True, level=5).may_claim("claims-0")


def test_victims_of_close_relatives_come_first_and_orphans_are_passed_over() -> None:
    parts = [
        *family(dev=cores(4)),
        node("n1", cpu=4),
        filled("prod", 1),
        filled("ops", 1),
        pod("orphan", cpu=1, on="n1"),
        job("claims", cpu=1, queue="dev"),
    ]
    stage = Stage(parts, hierarchical=True)
    assert stage.victims("claims-0", "orphan", "of-ops", "of-prod") == ["of-prod-0", "of-ops-0"]


def test_gang_preempt_may_evict_any_task_and_gang_reclaim_only_what_queues_hold_in_excess() -> None:
    stage = Stage([*LENT, node("n1", cpu=10), filled("q1", 6), job("claims", cpu=1, queue="q2")])
    tasks, initiator = stage.tasks("of-q1"), stage.session.jobs["default/claims"]

    def evictable(kind: str) -> list[str]:
        context = EvictionContext(kind=kind, job=initiator, domain="")
        return [task.name for task in stage.session.ask(points.UNIFIED_EVICTABLE, context, tasks)]

    assert evictable("gangpreempt") == [task.name for task in tasks]
    assert evictable("gangreclaim") == ["of-q1-0", "of-q1-1"]


@pytest.mark.parametrize("value", [-1, "1", 1.5])
def test_a_level_that_is_none_counts_as_zero(value: object) -> None:
    entry = plugin("capacity", {"ancestorReclaimLevel": value}, enableHierarchy=True)
    session = session_of(queue("root"), tiers=[[entry]], plugins=[Capacity])
    assert session.plugins[0].arguments.ancestor_reclaim_level == 0


@pytest.mark.parametrize("hierarchical", [False, True])
def test_capacity_keeps_the_contract_of_plugins(hierarchical: bool) -> None:
    check_plugin(Capacity, clusters=[_rooted(sample) for sample in samples()], hierarchical=hierarchical)


def test_capacity_keeps_the_contract_while_the_queues_are_no_tree() -> None:
    check_plugin(Capacity, hierarchical=True)


def _rooted(sample: Sample) -> Sample:
    return Sample(sample.title, sample.nodes, (queue("root"), *sample.others))
