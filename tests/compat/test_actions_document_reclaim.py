"""What "Volcano's actions in detail" says of reclaim and shuffle, as short stories."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from document_stage import (
    BY_PRIORITY,
    EVICTED,
    FOREVER,
    HIGH,
    LOW,
    VirtualRun,
    contest,
    evictions_of,
    high,
    low,
    plugin_of,
    told_of,
)
from statements import holds, shows

from hekla.conf import PRESETS, read_conf
from hekla.engine.framework.decisions import Evict
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import OVERUSED, VICTIM_TASKS, answers, declared
from hekla.engine.model.queue import QueueInfo
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.objects import Node
from hekla.scheduler.builtin import BUILTIN
from hekla.testing import JobObjects, PodRole, Story, job, node, plugin, queue, session_of

# 5. reclaim

LENDING = (PodRole("kept", shape={"preemptable": False}), PodRole("lent"))


def borrower(**more: Any) -> JobObjects:
    """A job of q2 that holds both cores of n1, needs one of them and may lose the other."""
    held = {"roles": LENDING, "cpu": 1, "min_available": 1, "running": {"n1": 2}, "queue": "q2"}
    return job("borrower", **(held | more))


def claimer(**more: Any) -> JobObjects:
    return job("claimer", **({"cpu": 1, "queue": "q1"} | more))


def claim(title: str, *jobs: Any, expect: object = None, cpu: int = 2, **more: Any) -> Story:
    """One node, and reclaim alone; queues share by weight."""
    settings: dict[str, Any] = {
        "nodes": [node("n1", cpu=cpu)],
        "actions": "reclaim",
        "tiers": ("priority, gang, conformance, proportion",),
    }
    return Story(title, jobs=jobs, expect=expect, **(settings | more))


GIVEN_BACK = {"borrower": {"evicted": ["borrower-lent-0"]}, "claimer": {"pipelined": {"n1": 1}}}
KEPT = {"borrower": "running", "claimer": "pending"}

RECLAIM = [
    shows(
        "actions-70", claim("a queue above its share gives back", borrower(), claimer(), expect=GIVEN_BACK)
    ),
    shows(
        "actions-70",
        claim(
            "inside a queue nothing is reclaimed, even for a more important job",
            borrower(queue="q1", priority=LOW),
            claimer(priority=HIGH),
            expect=KEPT,
        ),
    ),
    shows(
        "actions-72",
        claim(
            "a queue that holds no more than its share keeps it",
            borrower(),
            claimer(tasks=2),
            cpu=3,
            queues=[queue("q1", weight=1), queue("q2", weight=2)],
            expect=KEPT,
        ),
    ),
    shows(
        "actions-72",
        claim(
            "and would have to give up some of it if shares did not count",
            borrower(),
            claimer(tasks=2),
            cpu=3,
            tiers=("priority, gang, conformance",),
            expect={"borrower": {"evicted": ["borrower-lent-0"]}, "claimer": {"pipelined": {"n1": 2}}},
        ),
    ),
    *(
        shows(
            "actions-74",
            claim(
                f"a queue with reclaimable {said} {'keeps' if said is False else 'gives back'} what it holds",
                borrower(),
                claimer(),
                queues=[queue("q1"), queue("q2", reclaimable=said)],
                expect=KEPT if said is False else GIVEN_BACK,
            ),
        )
        for said in (True, None, False)
    ),
    shows(
        "actions-75",
        claim(
            "a job that has its minimum does not reclaim for more",
            borrower(),
            claimer(tasks=2, min_available=1, running={"n1": 1}),
            cpu=3,
            expect=KEPT,
        ),
    ),
    shows(
        "actions-76",
        claim(
            "important tasks of a job do not reclaim from tasks of the same job",
            claimer(tasks=2, running={"n1": 1}, task_priorities=[LOW, HIGH]),
            cpu=1,
            expect={"claimer": "pending"},
        ),
    ),
    shows(
        "actions-76",
        contest(
            "where preempt lets them take their place",
            claimer(tasks=2, running={"n1": 1}, task_priorities=[LOW, HIGH]),
            expect={"claimer": {"evicted": ["claimer-0"], "pipelined": {"n1": 1}}},
        ),
    ),
    shows(
        "actions-76",
        contest(
            "inside a queue preempt serves the more important job, reclaimable or not",
            low(),
            high(),
            queues=[queue("default", reclaimable=False)],
            expect=EVICTED,
        ),
    ),
]


@pytest.mark.parametrize("story", RECLAIM)
def test_reclaim(story: Story) -> None:
    assert story.play() == story.expect


@holds("actions-71", "actions-72")
def test_shares_are_computed_from_weights_and_compared_with_what_queues_hold() -> None:
    weights, held = {"q1": 60, "q2": 30, "q3": 10}, {"q1": 2, "q2": 7, "q3": 1}
    session = session_of(
        node("n1", cpu=10, memory="10Gi", pods=10),
        *(queue(name, weight=weight) for name, weight in weights.items()),
        *(
            job(
                f"of-{name}", tasks=10, cpu=1, memory="1Gi", min_available=1, running={"n1": pods}, queue=name
            )
            for name, pods in held.items()
        ),
        tiers=("proportion",),
    )
    figures = plugin_of(session, "proportion").queue_figures()
    assert {name: one.deserved["cpu"] / 1000 for name, one in figures.items()} == {"q1": 6, "q2": 3, "q3": 1}
    assert {name: one.allocated["cpu"] / 1000 for name, one in figures.items()} == held
    assert [name for name in figures if session.is_overused(session.queues[name])] == ["q2", "q3"]


@holds("actions-73")
def test_tasks_of_the_queue_above_its_share_are_evicted_for_the_claimer() -> None:
    decisions = claim("a clash", borrower(), claimer()).cycle().decisions
    told = [(d.pod, d.reason, d.beneficiary) for d in decisions if isinstance(d, Evict)]
    assert told == [("default/borrower-lent-0", "reclaim", "default/claimer")]


class OverusedQ1(Plugin):
    """Says that q1 has had its share."""

    name = "overused-q1"

    @answers(OVERUSED)
    def is_q1(self, queue: QueueInfo) -> bool:
        return queue.name == "q1"


@holds("actions-75")
@pytest.mark.parametrize(
    ("says_overused", "action", "gone"),
    [
        (False, "reclaim", ["borrower-lent-0"]),
        (True, "reclaim", []),
        (False, "preempt", ["low-0"]),
        (True, "preempt", ["low-0"]),
    ],
)
def test_jobs_of_an_overused_queue_may_preempt_but_not_reclaim(
    says_overused: bool, action: str, gone: list[str]
) -> None:
    story = claim(
        "q1 has a job of low priority and one that starves",
        *(borrower(), low(queue="q1"), claimer(priority=HIGH)),
        cpu=3,
        actions=action,
        tiers=(*BY_PRIORITY, *(["overused-q1"] if says_overused else [])),
        plugins=[OverusedQ1],
    )
    assert evictions_of(story) == gone


@holds("actions-77")
def test_development_above_half_of_the_cluster_gives_back_to_production() -> None:
    weights = {"production": 60, "development": 30, "test": 10}
    story = Story(
        "development holds seven of ten cores, production wants three more",
        [node("n1", cpu=10)],
        [
            job("dev", tasks=7, cpu=1, min_available=1, running={"n1": 7}, queue="development"),
            job("test", tasks=1, cpu=1, running={"n1": 1}, queue="test"),
            job("prod", tasks=2, cpu=1, running={"n1": 2}, queue="production"),
            job("more", tasks=4, cpu=1, queue="production"),
        ],
        queues=[queue(name, weight=weight, reclaimable=True) for name, weight in weights.items()],
        conf=PRESETS["fair-sharing"].text,
    )
    outcome = story.play()
    assert (outcome["test"], outcome["prod"]) == ("running", "running")
    assert outcome["more"] == {"pipelined": {"n1": 4}}
    assert [name[:3] for name in evictions_of(story)] == ["dev"] * 4


def sharing(*jobs: Any) -> Story:
    """Ten cores, of which q1 deserves two and q2 eight."""
    return Story(
        "two queues", [node("n1", cpu=10)], jobs, queues=[queue("q1", weight=1), queue("q2", weight=4)]
    )


@holds("actions-78")
def test_a_queue_goes_beyond_its_share_while_others_ask_for_nothing() -> None:
    eager = job("eager", tasks=10, cpu=1, min_available=1, queue="q1")
    other = job("other", tasks=10, cpu=1, min_available=1, queue="q2")
    assert sharing(eager).play() == {"eager": {"n1": 10}}
    assert sharing(eager, other).play() == {"eager": {"n1": 2}, "other": {"n1": 8}}


@holds("actions-79", "actions-80")
def test_reclaim_takes_back_cycle_by_cycle_and_what_was_evicted_comes_back() -> None:
    """Two jobs of q2 come one after the other and run for three seconds; the pods of q1 do not end."""
    owners = [
        job(name, cpu=1, queue="q2", annotations={"hekla.dev/run-seconds": "3", "hekla.dev/arrives-at": at})
        for name, at in (("first", "1"), ("second", "2"))
    ]
    story = Story(
        "three cores, of which q2 deserves two",
        [node("n1", cpu=3)],
        [job("lent", tasks=3, cpu=1, min_available=1, queue="q1", annotations=FOREVER), *owners],
        queues=[queue("q1", weight=1), queue("q2", weight=2)],
        actions="enqueue, allocate, reclaim",
        tiers=("priority, gang, conformance, proportion",),
    )
    done = [[re.sub(r"-\d", "", each) for each in cycle] for cycle in VirtualRun(story).cycles(7)]
    assert done == [
        ["binds lent to n1"] * 3,
        ["evicts lent"],
        ["binds first to n1", "evicts lent"],
        ["binds second to n1"],
        [],
        ["binds lent to n1"],
        ["binds lent to n1"],
    ]


# 6. shuffle


class Mover(Plugin):
    """Names the running tasks on n1, and remembers whom it was offered."""

    name = "mover"

    @answers(VICTIM_TASKS)
    def tasks_on_n1(self, running: Sequence[Task]) -> list[Task]:
        self.offered = [task.name for task in running]
        return [task for task in running if task.node_name == "n1"]


SHUFFLED = Story(
    "tasks of all kinds on two nodes",
    [node("n1"), node("n2")],
    [
        job("a", tasks=3, cpu=1, min_available=1, running={"n1": 1, "n2": 1}),
        job("b", tasks=2, cpu=1, queue="other", bound={"n1": 1}, releasing={"n2": 1}),
        job("c", cpu=1, queue="other", running={"n1": 1}, preemptable=False),
    ],
    actions="shuffle",
    tiers=("gang, mover",),
    plugins=[Mover],
)


@holds("actions-81", "actions-82", "actions-83")
def test_shuffle_offers_all_running_tasks_and_evicts_those_that_plugins_choose() -> None:
    report = SHUFFLED.cycle()
    assert sorted(plugin_of(report.session, "mover").offered) == ["a-0", "a-1", "c-0"]
    assert told_of(report) == ["evicts a-0", "evicts c-0"]
    on_n1 = report.session.nodes.tasks_on[report.session.nodes.row_of["n1"]].values()
    assert sorted(task.name for task in on_n1 if task.status is Status.RELEASING) == ["a-0", "c-0"]


@holds("actions-84")
def test_what_shuffle_evicts_is_scheduled_again() -> None:
    story = Story(
        "a node that takes no more pods is emptied",
        [node("n1", unschedulable=True), node("n2")],
        [job("a", tasks=2, cpu=1, running={"n1": 2}, annotations=FOREVER)],
        actions="allocate, shuffle",
        tiers=("gang, predicates, mover",),
        plugins=[Mover],
    )
    run = VirtualRun(story)
    assert run.cycles(3) == [["evicts a-0", "evicts a-1"], ["binds a-0 to n2", "binds a-1 to n2"], []]
    assert run.nodes_of_pods() == {"a-0": "n2", "a-1": "n2"}


def loaded(name: str, percent: int) -> Node:
    usage = {"hekla.dev/cpu-usage": str(percent), "hekla.dev/memory-usage": "5"}
    return node(name, cpu=8, annotations=usage)


@holds("actions-85")
def test_a_task_of_a_busy_node_goes_and_comes_back_on_a_quiet_one() -> None:
    limits = {"thresholds": {"cpu": 20, "memory": 20}, "targetThresholds": {"cpu": 80, "memory": 80}}
    strategy = {"name": "lowNodeUtilization", "params": limits}
    story = Story(
        "one node has much to do, the other little",
        [loaded("busy", 95), loaded("quiet", 5)],
        [job("web", tasks=2, cpu=2, min_available=1, running={"busy": 2}, annotations=FOREVER)],
        actions="allocate, shuffle",
        tiers=(["gang", "usage", plugin("rescheduling", {"interval": "1s", "strategies": [strategy]})],),
    )
    assert VirtualRun(story).cycles(4) == [[], [], ["evicts web-0"], ["binds web-0 to quiet"]]


VICTIM_TASKS_CONF = """
actions: shuffle
tiers: [{plugins: [{name: victimtasks}]}]
"""


@holds("actions-86")
def test_shuffle_moves_nothing_without_a_plugin_that_names_victims_and_victimtasks_is_none() -> None:
    _, mistakes = read_conf(VICTIM_TASKS_CONF, catalogue=BUILTIN.catalogue())
    assert any(mistake.severity == "warning" and "victimtasks" in str(mistake) for mistake in mistakes)
    untouched = replace(SHUFFLED, plugins=[])
    assert evictions_of(replace(untouched, conf=VICTIM_TASKS_CONF)) == []
    assert evictions_of(replace(untouched, tiers=("priority, gang, conformance, predicates",))) == []


@holds("actions-86")
def test_the_plugins_that_name_victims_for_shuffle_are_pdb_rescheduling_and_tdm() -> None:
    points_of = {name: {point for _, point, _, _ in declared(each)} for name, each in BUILTIN.plugins.items()}
    naming = {name for name, points in points_of.items() if VICTIM_TASKS in points}
    assert naming == {"pdb", "rescheduling", "tdm"}


@holds("actions-87")
def test_with_respect_preemptable_an_annotation_protects_tasks_from_shuffle() -> None:
    assert evictions_of(SHUFFLED) == ["a-0", "c-0"]
    report = replace(SHUFFLED, configurations={"shuffle": {"respectPreemptable": True}}).cycle()
    assert sorted(plugin_of(report.session, "mover").offered) == ["a-0", "a-1"]
    assert told_of(report) == ["evicts a-0"]
