"""What "The pipeline of actions (Volcano)" says of reclaim and preempt."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest
from document_stage import (
    BY_PRIORITY,
    EVICTED,
    HIGH,
    LOW,
    MIDDLE,
    UNTOUCHED,
    contest,
    evictions_of,
    high,
    low,
    plugin_of,
)
from statements import holds, shows

from hekla.conf import read_conf
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import (
    PREEMPTIVE,
    RECLAIMABLE,
    SIMULATE_REMOVE,
    answers,
)
from hekla.engine.framework.registry import steps_of
from hekla.engine.model.queue import QueueInfo
from hekla.engine.model.task import Task
from hekla.scheduler.builtin import BUILTIN
from hekla.testing import JobObjects, Story, job, node, plugin, pod, queue

ANY_VICTIM = ("priority, conformance",)
FAIR = ("priority, gang, conformance, proportion",)


# Reclaim


class Unwilling(Plugin):
    """No queue may take room from others."""

    name = "unwilling"

    @answers(PREEMPTIVE)
    def never(self, queue: QueueInfo, tasks: Sequence[Task]) -> bool:
        return False


class NoughtAndThree(Plugin):
    """Gives up the tasks numbered 0 and 3."""

    name = "nought-and-three"
    numbers = "03"

    @answers(RECLAIMABLE)
    def of_these_numbers(self, task: Task, candidates: Sequence[Task]) -> list[Task]:
        return [victim for victim in candidates if victim.name[-1] in self.numbers]


class NoughtAndTwo(NoughtAndThree):
    name = "nought-and-two"
    numbers = "02"


def borrower(**changes: object) -> JobObjects:
    """A job of q2 that fills a node of two cores."""
    return job(
        "b", **{"tasks": 2, "cpu": 1, "min_available": 1, "running": {"n1": 2}, "queue": "q2", **changes}
    )


def starving(**changes: object) -> JobObjects:
    """A job of q1 that wants one of them."""
    return job("a", **{"cpu": 1, "queue": "q1", **changes})


def claim(
    owner: JobObjects | None = None, taker: JobObjects | None = None, **more: object
) -> dict[str, object]:
    return {
        "nodes": [node("n1", cpu=2)],
        "jobs": [owner or borrower(), taker or starving()],
        "actions": "reclaim",
        "tiers": ANY_VICTIM,
        **more,
    }


GIVEN_BACK = {"b": {"evicted": ["b-1"]}, "a": {"pipelined": {"n1": 1}}}
KEPT = {"b": "running", "a": "pending"}
FOUR = borrower(tasks=4, running={"n1": 4})

RECLAIM = [
    shows(
        "pipeline-39 pipeline-48",
        Story("a job that starves takes room back from another queue", **claim(), expect=GIVEN_BACK),
    ),
    shows(
        "pipeline-39",
        Story(
            "a queue gives back what it holds beyond its share",
            **claim(borrower(tasks=1, cpu=2, min_available=0, running={"n1": 1}), tiers=FAIR),
            expect={"b": {"evicted": ["b-0"]}, "a": {"pipelined": {"n1": 1}}},
        ),
    ),
    shows(
        "pipeline-39",
        Story(
            "a queue within its share gives nothing back, one beyond it does",
            nodes=[node("n1", cpu=1), node("n2", cpu=2)],
            jobs=[
                borrower(tasks=1, min_available=0, running={"n1": 1}),
                job("c", cpu=2, min_available=0, running={"n2": 1}, queue="q3"),
                starving(),
            ],
            actions="reclaim",
            tiers=FAIR,
            expect={"b": "running", "c": {"evicted": ["c-0"]}, "a": {"pipelined": {"n2": 1}}},
        ),
    ),
    shows(
        "pipeline-39",
        Story(
            "a job that has its minimum does not starve, and takes nothing",
            **claim(
                taker=starving(tasks=2, min_available=1, running={"n2": 1}),
                nodes=[node("n1", cpu=2), node("n2", cpu=1)],
                tiers=("priority, gang, conformance",),
            ),
            expect=KEPT,
        ),
    ),
    shows(
        "pipeline-40",
        Story(
            "a task with preemption policy Never takes nothing",
            **claim(taker=starving(preemption_policy="Never")),
            expect=KEPT,
        ),
    ),
    shows(
        "pipeline-41",
        Story(
            "a queue that may not take room from others takes nothing",
            **claim(tiers=("priority, conformance, unwilling",), plugins=[Unwilling]),
            expect=KEPT,
        ),
    ),
    shows(
        "pipeline-42",
        Story(
            "a node that the task may not run on for good is left alone",
            **claim(
                borrower(running={"n1": 1, "n2": 1}),
                starving(node_selector={"disk": "ssd"}),
                nodes=[node("n1", cpu=1), node("n2", cpu=1, labels={"disk": "ssd"})],
                tiers=("priority, conformance, predicates",),
            ),
            expect={"b": {"evicted": ["b-1"]}, "a": {"pipelined": {"n2": 1}}},
        ),
    ),
    shows(
        "pipeline-42",
        Story(
            "a node that refuses the task only as long as it is full of pods is not",
            **claim(nodes=[node("n1", cpu=9, pods=2)], tiers=("priority, conformance, predicates",)),
            expect=GIVEN_BACK,
        ),
    ),
    shows(
        "pipeline-43",
        Story(
            "plugins of one tier must agree on a victim",
            **claim(FOUR, nodes=[node("n1", cpu=4)], tiers=("priority, nought-and-three, nought-and-two",)),
            plugins=[NoughtAndThree, NoughtAndTwo],
            expect={"b": {"evicted": ["b-0"]}, "a": {"pipelined": {"n1": 1}}},
        ),
    ),
    shows(
        "pipeline-43",
        Story(
            "plugins of different tiers must agree as well, where that is asked for",
            **claim(FOUR, nodes=[node("n1", cpu=4)], tiers=("priority, nought-and-three", "nought-and-two")),
            plugins=[NoughtAndThree, NoughtAndTwo],
            configurations={"reclaim": {"victimMode": "intersectAll"}},
            expect={"b": {"evicted": ["b-0"]}, "a": {"pipelined": {"n1": 1}}},
        ),
    ),
    shows(
        "pipeline-43",
        Story(
            "otherwise the first tier decides",
            **claim(FOUR, nodes=[node("n1", cpu=4)], tiers=("priority, nought-and-three", "nought-and-two")),
            plugins=[NoughtAndThree, NoughtAndTwo],
            expect={"b": {"evicted": ["b-3"]}, "a": {"pipelined": {"n1": 1}}},
        ),
    ),
    shows(
        "pipeline-46",
        Story(
            "a gang for which not enough can be taken back evicts nothing",
            **claim(taker=starving(tasks=3), tiers=("priority, gang, conformance",)),
            expect=KEPT,
        ),
    ),
    shows(
        "pipeline-47",
        Story(
            "a pod that is bound but does not run yet is not reclaimed",
            **claim(borrower(running=None, bound={"n1": 2})),
            expect=KEPT,
        ),
    ),
    shows(
        "pipeline-47",
        Story(
            "a pod that is not preemptable is not reclaimed",
            **claim(borrower(preemptable=False)),
            expect=KEPT,
        ),
    ),
    shows(
        "pipeline-48",
        Story(
            "a queue that is not reclaimable gives nothing back",
            **claim(queues=[queue("q1"), queue("q2", reclaimable=False)]),
            expect=KEPT,
        ),
    ),
    shows(
        "pipeline-49",
        Story(
            "a less important job of the same queue gives nothing back",
            **claim(borrower(queue="q1", priority=LOW), starving(priority=HIGH)),
            expect=KEPT,
        ),
    ),
    shows(
        "pipeline-49",
        Story(
            "unless that is asked for",
            **claim(
                borrower(queue="q1", priority=LOW),
                starving(priority=HIGH),
                configurations={"reclaim": {"sameQueueLowerPriority": True}},
            ),
            expect=GIVEN_BACK,
        ),
    ),
]


@pytest.mark.parametrize("story", RECLAIM)
def test_reclaim(story: Story) -> None:
    assert story.play() == story.expect


@holds("pipeline-44")
def test_of_the_jobs_of_a_queue_the_least_important_is_reclaimed_whatever_its_name() -> None:
    for important in ("a-important", "z-important"):
        both = ((important, MIDDLE), ("m-expendable", LOW))
        surplus = {"tasks": 2, "cpu": 1, "min_available": 1, "running": {"n1": 2}, "queue": "q2"}
        jobs = [job(name, priority=priority, **surplus) for name, priority in both]
        story = Story("q2 holds all of it", **claim(nodes=[node("n1", cpu=4)], tiers=FAIR))
        (victim,) = evictions_of(replace(story, jobs=[*jobs, starving()]))
        assert victim.startswith("m-expendable")


@holds("pipeline-44")
def test_of_the_tasks_of_a_job_the_least_important_is_reclaimed() -> None:
    for priorities in ((9, 5, 1), (1, 5, 9), (5, 1, 9)):
        surplus = borrower(tasks=3, min_available=2, running={"n1": 3}, task_priorities=priorities)
        story = Story("one more than the gang needs", **claim(surplus, nodes=[node("n1", cpu=3)]))
        least = f"b-{priorities.index(1)}"
        assert evictions_of(replace(story, tiers=("priority, gang, conformance",))) == [least]


@holds("pipeline-44")
def test_victims_that_all_plugins_give_up_go_the_least_important_first() -> None:
    story = Story(
        "two of three must go",
        [node("n1", cpu=3)],
        [
            borrower(running={"n1": 1}, tasks=1, priority=HIGH),
            job("c", cpu=1, running={"n1": 1}, queue="q2", priority=LOW),
            job("d", cpu=1, running={"n1": 1}, queue="q2", priority=MIDDLE),
            starving(cpu=2),
        ],
        actions="reclaim",
        tiers=ANY_VICTIM,
    )
    assert evictions_of(story) == ["c-0", "d-0"]


@holds("pipeline-45")
def test_reclaim_evicts_for_a_gang_that_will_have_all_it_needs_though_it_is_not_ready_yet() -> None:
    tiers = (["priority", plugin("gang", enableReclaimable=False), "conformance"],)
    story = Story("a gang of two", **claim(taker=starving(tasks=2), tiers=tiers))
    session = story.cycle().session
    gang = session.jobs["default/a"]
    assert (session.is_ready(gang), session.is_pipelined(gang)) == (False, True)
    assert len(evictions_of(story)) == 2


# Preempt

SPARES_GANGS = ("priority, gang, conformance",)

PREEMPT = [
    shows(
        "pipeline-50",
        contest(
            "as soon as a job has been promised its minimum, no pod is evicted for it any more",
            low(tasks=2, running={"n1": 2}),
            high(tasks=2, min_available=1),
            cpu=2,
            expect={"low": {"evicted": ["low-1"]}, "high": {"pipelined": {"n1": 1}}},
        ),
    ),
    shows(
        "pipeline-50",
        contest(
            "a job that starves until all of its tasks have a node goes on",
            low(tasks=2, running={"n1": 2}),
            high(tasks=2, min_available=1),
            cpu=2,
            tiers=ANY_VICTIM,
            expect={"low": {"evicted": ["low-0", "low-1"]}, "high": {"pipelined": {"n1": 2}}},
        ),
    ),
    shows(
        "pipeline-50",
        contest(
            "a job that has its minimum evicts no pod",
            low(),
            high(tasks=2, min_available=1, running={"n2": 1}),
            nodes=[node("n1", cpu=1), node("n2", cpu=1)],
            expect=UNTOUCHED,
        ),
    ),
    shows(
        "pipeline-50",
        contest(
            "a less important job of another queue is not preempted",
            low(queue="other"),
            high(),
            expect=UNTOUCHED,
        ),
    ),
    shows(
        "pipeline-51",
        contest(
            "a node is taken where tasks may be preempted, not one where they may not",
            low("equal", priority=HIGH),
            low(running={"n2": 1}),
            high(),
            nodes=[node("n1", cpu=1), node("n2", cpu=1)],
            expect={"equal": "running", "low": {"evicted": ["low-0"]}, "high": {"pipelined": {"n2": 1}}},
        ),
    ),
    shows(
        "pipeline-51",
        contest(
            "nor one where all that may be preempted would not be room enough",
            pod("fixed", on="n1", cpu=1),
            low(tasks=2, running={"n1": 1, "n2": 1}),
            high(cpu=2),
            nodes=[node("n1", cpu=2), node("n2", cpu=2)],
            expect={"low": {"evicted": ["low-1"]}, "high": {"pipelined": {"n2": 1}}},
        ),
    ),
    shows(
        "pipeline-52",
        contest(
            "a task with preemption policy Never preempts nothing",
            low(),
            high(preemption_policy="Never"),
            expect=UNTOUCHED,
        ),
    ),
    shows(
        "pipeline-52",
        contest(
            "a gang that needs all of its tasks loses none",
            low(),
            high(),
            tiers=SPARES_GANGS,
            expect=UNTOUCHED,
        ),
    ),
    shows(
        "pipeline-52",
        contest(
            "a gang that has more than it needs does",
            low(min_available=0),
            high(),
            tiers=SPARES_GANGS,
            expect=EVICTED,
        ),
    ),
    shows(
        "pipeline-53",
        contest(
            "a pod is evicted for a job that will have all it needs, though it is not ready yet",
            low(),
            high(),
            expect=EVICTED,
        ),
    ),
    shows(
        "pipeline-53",
        contest(
            "or only for one that is ready already, which no eviction brings about at once",
            low(),
            high(),
            configurations={"preempt": {"commitOn": "ready"}},
            expect=UNTOUCHED,
        ),
    ),
]


@pytest.mark.parametrize("story", PREEMPT)
def test_preempt(story: Story) -> None:
    assert story.play() == story.expect


# Topology-aware preemption

AS_WRITTEN = """\
configurations:
  - name: preempt
    arguments:
      enableTopologyAwarePreemption: true
      topologyAwarePreemptWorkerNum: 16
      minCandidateNodesPercentage: 10
      maxCandidateNodesAbsolute: 100
"""
BEFORE_IT = """\
actions: "preempt"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
"""


class Threads(Plugin):
    """Notes in which thread each node is judged by whom it would lose."""

    name = "threads"

    def on_open(self) -> None:
        self.judged: list[tuple[str, threading.Thread]] = []

    @answers(SIMULATE_REMOVE)
    def note(self, task: Task, victim: Task) -> None:
        self.judged.append((victim.node_name, threading.current_thread()))


def compared(nodes: int, tiers: object = BY_PRIORITY, **arguments: object) -> Story:
    """Nodes with one victim each, whose priorities fall from the first node to the last."""
    victims = [
        pod(f"low-{at}", job="low", on=f"n{at}", cpu=1, pod_priority=nodes - at) for at in range(nodes)
    ]
    group = low(tasks=0, min_available=1, running=None, phase="Running")
    return Story(
        "which of the nodes?",
        [node(f"n{at}", cpu=1) for at in range(nodes)],
        [replace(group, pods=tuple(victims)), high(pod_priority=HIGH)],
        actions="preempt",
        tiers=tiers,
        configurations={"preempt": {"enableTopologyAwarePreemption": True, **arguments}},
        plugins=[Threads],
    )


@holds("pipeline-54")
def test_the_yaml_of_the_document_is_read_as_it_stands() -> None:
    conf, mistakes = read_conf(BEFORE_IT + AS_WRITTEN, "conf", BUILTIN.catalogue())
    ((_, _, arguments),) = steps_of(conf, BUILTIN)
    assert [mistake for mistake in mistakes if mistake.severity == "error"] == []
    assert arguments.is_topology_aware
    assert (arguments.workers, arguments.candidate_percentage, arguments.most_candidates) == (16, 10, 100)


@holds("pipeline-54", "pipeline-55", "pipeline-57")
def test_with_it_a_tenth_of_the_nodes_is_compared_by_what_they_would_lose() -> None:
    """Of twenty nodes two; of them the second loses the less important pod."""
    story = replace(compared(20), conf=BEFORE_IT + AS_WRITTEN, configurations=None)
    assert evictions_of(story) == ["low-1"]
    assert evictions_of(replace(story, conf=BEFORE_IT)) == ["low-0"]


@holds("pipeline-57")
@pytest.mark.parametrize(("percentage", "victim"), [(10, "low-1"), (50, "low-9"), (100, "low-19")])
def test_the_percentage_says_how_many_nodes_are_compared(percentage: int, victim: str) -> None:
    assert evictions_of(compared(20, minCandidateNodesPercentage=percentage)) == [victim]


@holds("pipeline-58")
@pytest.mark.parametrize(("most", "victim"), [(100, "low-19"), (3, "low-2")])
def test_the_absolute_maximum_bounds_it(most: int, victim: str) -> None:
    story = compared(20, minCandidateNodesPercentage=100, maxCandidateNodesAbsolute=most)
    assert evictions_of(story) == [victim]


@holds("pipeline-58")
def test_by_default_at_most_a_hundred_nodes_are_compared() -> None:
    assert evictions_of(compared(102, minCandidateNodesPercentage=100)) == ["low-99"]


@holds("pipeline-56", "pipeline-59")
@pytest.mark.parametrize("workers", [1, 16, 64])
def test_however_many_workers_are_named_nodes_are_compared_one_after_another(workers: int) -> None:
    story = compared(
        20, (*BY_PRIORITY, "threads"), minCandidateNodesPercentage=20, topologyAwarePreemptWorkerNum=workers
    )
    judged = plugin_of(story.cycle().session, "threads").judged
    assert judged == [(f"n{at}", threading.current_thread()) for at in range(4)]
    assert evictions_of(story) == ["low-3"]
