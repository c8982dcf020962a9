"""Preempt: inside a queue less important tasks make room for jobs that starve."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hekla.engine.framework.decisions import Evict, Nominate
from hekla.objects import ObjectMeta
from hekla.testing import Story, job, node, plugin, pod, queue

LOW, HIGH = 1, 10
SPARES_GANGS = ("priority, gang, conformance",)
BREAKS_GANGS = (["priority", plugin("gang", enablePreemptable=False), "conformance"],)

TWO_VICTIM_JOBS = {
    "nodes": [node("n1", cpu=3), node("n2", cpu=2)],
    "jobs": [
        job("b", tasks=3, cpu=1, min_available=1, running={"n1": 3}, priority=LOW),
        job("c", tasks=2, cpu=1, min_available=2, running={"n2": 2}, priority=LOW),
        job("a", tasks=2, cpu=2, min_available=2, priority=HIGH),
    ],
    "actions": "preempt",
}


def duel(**victim: object) -> dict[str, object]:
    """A full node with one low job on it, and a high job that wants the place."""
    shape = {"tasks": 1, "cpu": 1, "running": {"n1": 1}, "priority": LOW, **victim}
    return {"nodes": [node("n1", cpu=1)], "jobs": [job("low", **shape), job("high", cpu=1, priority=HIGH)]}


EVICTED = {"low": {"evicted": ["low-0"]}, "high": {"pipelined": {"n1": 1}}}
UNTOUCHED = {"low": "running", "high": "pending"}

STORIES = [
    Story(
        "the urgent job takes the place of whole gangs where gang does not object",
        **TWO_VICTIM_JOBS,
        tiers=BREAKS_GANGS,
        expect={
            "b": {"evicted": ["b-1", "b-2"]},
            "c": {"evicted": ["c-0", "c-1"]},
            "a": {"pipelined": {"n1": 1, "n2": 1}},
        },
    ),
    Story(
        "only the surplus of gangs may go; since that is not enough, no task is evicted",
        **TWO_VICTIM_JOBS,
        tiers=SPARES_GANGS,
        expect={"b": "running", "c": "running", "a": "pending"},
    ),
    Story("a lower job makes way for a higher one", **duel(), tiers=BREAKS_GANGS, expect=EVICTED),
    Story(
        "a job of the same priority is safe",
        **duel(priority=HIGH),
        tiers=BREAKS_GANGS,
        expect=UNTOUCHED,
    ),
    Story(
        "a task that says it is not preemptable is safe",
        **duel(preemptable=False),
        tiers=BREAKS_GANGS,
        expect=UNTOUCHED,
    ),
    Story(
        "a bound task that does not run yet may be evicted too",
        **duel(running=None, bound={"n1": 1}),
        tiers=BREAKS_GANGS,
        expect=EVICTED,
    ),
    Story(
        "a job of another queue is none of our business",
        **duel(queue="other"),
        tiers=BREAKS_GANGS,
        expect=UNTOUCHED,
    ),
    Story(
        "a task with policy Never preempts no task",
        nodes=[node("n1", cpu=1)],
        jobs=[
            job("low", tasks=1, cpu=1, running={"n1": 1}, priority=LOW),
            job("high", cpu=1, priority=HIGH, preemption_policy="Never"),
        ],
        tiers=BREAKS_GANGS,
        expect=UNTOUCHED,
    ),
    Story(
        "where no plugin has an opinion on starving, no job preempts",
        **duel(),
        tiers=("conformance",),
        expect=UNTOUCHED,
    ),
    Story(
        "no more are evicted than needed, the youngest of the job first",
        nodes=[node("n1", cpu=3)],
        jobs=[
            job("low", tasks=3, cpu=1, min_available=1, running={"n1": 3}, priority=LOW),
            job("high", cpu=1, priority=HIGH),
        ],
        tiers=BREAKS_GANGS,
        expect={"low": {"evicted": ["low-2"]}, "high": {"pipelined": {"n1": 1}}},
    ),
    Story(
        "the lowest job goes first",
        nodes=[node("n1", cpu=2)],
        jobs=[
            job("lowest", cpu=1, running={"n1": 1}, priority=LOW),
            job("low", cpu=1, running={"n1": 1}, priority=LOW + 1),
            job("high", cpu=1, priority=HIGH),
        ],
        tiers=BREAKS_GANGS,
        expect={"lowest": {"evicted": ["lowest-0"]}, "low": "running", "high": {"pipelined": {"n1": 1}}},
    ),
    Story(
        "inside a job an important task takes the place of a less important one",
        nodes=[node("n1", cpu=1)],
        jobs=[job("a", tasks=2, cpu=1, min_available=2, running={"n1": 1}, task_priorities=[1, 5])],
        tiers=(["priority", plugin("gang", enablePreemptable=False)],),
        expect={"a": {"evicted": ["a-0"], "pipelined": {"n1": 1}}},
    ),
    Story(
        "a task that asks for nothing evicts no task that does",
        nodes=[node("n1", cpu=1, pods=1)],
        jobs=[
            job("low", cpu=1, running={"n1": 1}, priority=LOW),
            job("high", tasks=0, best_effort=1, priority=HIGH),
        ],
        tiers=BREAKS_GANGS,
        expect=UNTOUCHED,
    ),
    Story(
        "a task that asks for nothing may take the place of its like",
        nodes=[node("n1", cpu=1, pods=1)],
        jobs=[
            job("low", tasks=0, best_effort=1, running={"n1": 1}, priority=LOW),
            job("high", tasks=0, best_effort=1, priority=HIGH),
        ],
        tiers=BREAKS_GANGS,
        expect=EVICTED,
    ),
    Story(
        "a gang that cannot be completed still promises its first task free room, as Volcano does",
        nodes=[node("n1", cpu=2)],
        jobs=[job("a", tasks=2, cpu=2, priority=HIGH)],
        tiers=BREAKS_GANGS,
        expect={"a": {"pipelined": {"n1": 1}}},
    ),
    Story(
        "a queue that may take no more does not preempt for it",
        nodes=[node("n1", cpu=2)],
        queues=[queue("default", capability={"cpu": 1})],
        jobs=[
            job("low", tasks=1, cpu=1, running={"n1": 1}, priority=LOW, preemptable=False),
            job("high", cpu=1, priority=HIGH),
        ],
        tiers=(["priority", plugin("gang", enablePreemptable=False), "proportion"],),
        expect=UNTOUCHED,
    ),
    Story(
        "system pods are spared",
        nodes=[node("n1", cpu=1)],
        jobs=[
            job("low", cpu=1, running={"n1": 1}, priority=LOW, pod_priority_class="system-node-critical"),
            job("high", cpu=1, priority=HIGH),
        ],
        tiers=BREAKS_GANGS,
        expect=UNTOUCHED,
    ),
    Story(
        "a task that was promised a node where it may run waits for it",
        nodes=[node("n1", cpu=1)],
        jobs=[
            job("low", cpu=1, running={"n1": 1}, priority=LOW),
            job("high", cpu=1, priority=HIGH, nominated="n1"),
        ],
        tiers=BREAKS_GANGS,
        expect=UNTOUCHED,
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_preempt(story: Story) -> None:
    assert replace(story, actions="preempt").play() == story.expect


def test_evictions_name_whom_they_are_for_and_the_place_is_promised() -> None:
    story = Story("a duel", **duel(), actions="preempt", tiers=BREAKS_GANGS)
    decisions = story.cycle().decisions
    evictions = [d for d in decisions if isinstance(d, Evict)]
    assert evictions == [Evict("default/low-0", "default-low-0", "n1", "preempt", "default/high")]
    assert [d for d in decisions if isinstance(d, Nominate)] == [
        Nominate("default/high-0", "default-high-0", "n1")
    ]


def test_an_undone_preemption_promises_nothing() -> None:
    story = Story("two victim jobs", **TWO_VICTIM_JOBS, tiers=SPARES_GANGS)
    assert not [d for d in story.cycle().decisions if isinstance(d, Nominate | Evict)]


def test_a_stray_pod_without_a_job_is_never_a_victim() -> None:
    stray = pod("stray", on="n1", cpu=1)
    assert isinstance(stray.metadata, ObjectMeta)
    story = Story(
        "a stray pod",
        nodes=[node("n1", cpu=1)],
        jobs=[stray, job("high", cpu=1, priority=HIGH)],
        actions="preempt",
        tiers=BREAKS_GANGS,
    )
    assert story.play() == {"high": "pending"}
