"""Backfill of reserved room: what is kept for jobs that cannot start goes to jobs that can.

The titles follow kube-batch's design of the backfill action, sentence by sentence.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from hekla.engine.framework.decisions import Evict
from hekla.engine.framework.plugin import Plugin
from hekla.engine.model.node import Shard
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.testing import PodRole, Story, job, node, pod, queue

GANG = ("priority, gang", "predicates")
HOLD = {"allocate": {"unreadyPolicy": "hold"}}
ON = {**HOLD, "backfill": {"kubeBatchBackfillEnable": True}}
ROUND_TWO = "allocate, backfill"
HIGH, LOW = 9, 1


def told(
    title: str,
    *jobs: object,
    expect: Mapping[str, object],
    cpu: int = 2,
    settings: Mapping[str, Mapping[str, object]] = ON,
    **more: object,
) -> Story:
    """One node of two cores, unless told otherwise; allocate first, then backfill."""
    changes = {"nodes": [node("n1", cpu=cpu)], "actions": ROUND_TWO, "tiers": GANG, **more}
    return Story(title, jobs=jobs, configurations=settings, expect=expect, **changes)


def holder(name: str = "a", *, tasks: int = 3, **more: object) -> object:
    """A gang that gets a part of its places, too few to start."""
    return job(name, tasks=tasks, cpu=1, **more)


HELD = {"held": {"n1": 2}}

STORIES = [
    told(
        "without holding, nothing is wasted: a gang that cannot start gives its places back",
        holder(),
        job("b", cpu=2),
        settings={},
        expect={"a": "pending", "b": {"n1": 1}},
    ),
    told(
        "pods that come first are allocated resources, but their job does not reach the running condition, "
        "so the pods that come later cannot be scheduled",
        holder(),
        job("b", cpu=2),
        settings=HOLD,
        expect={"a": HELD, "b": "pending"},
    ),
    told(
        "their resources are released, and the pods that satisfy the running condition are scheduled",
        holder(),
        job("b", cpu=2),
        expect={"a": "pending", "b": {"n1": 1}},
    ),
    told(
        "the first thing is to allocate resources for the best effort pods",
        job("a", tasks=1, best_effort=1, cpu=1),
        expect={"a": {"n1": 2}},
    ),
    told(
        "only a job with a pending pod needs to backfill: one that has all it needs takes nothing",
        holder(),
        job("b", cpu=1, running={"n1": 1}),
        cpu=3,
        expect={"a": HELD, "b": "running"},
    ),
    told(
        "a pod behind a gate is not one that can be scheduled",
        holder(),
        job("b", cpu=2, gates=["example.com/wait"]),
        expect={"a": HELD, "b": "pending"},
    ),
    told(
        "a job whose own places could be taken may take others, and then starts whole",
        job("c", tasks=2, cpu=3, priority=HIGH),
        job("a", tasks=3, cpu=1, priority=LOW),
        cpu=4,
        expect={"c": "pending", "a": {"n1": 3}},
    ),
    told(
        "a job that meets the running condition gives nothing",
        job("a", tasks=2, cpu=1),
        job("b", cpu=2),
        expect={"a": {"n1": 2}, "b": "pending"},
    ),
    told(
        "only pods that are allocated give: one that runs stays",
        job("a", tasks=3, cpu=1, running={"n1": 1}),
        job("b", cpu=2),
        expect={"a": {"held": {"n1": 1}}, "b": "pending"},
    ),
    told(
        "one that is only pipelined gives nothing either",
        pod("old", on="n1", cpu=2, is_leaving=True),
        job("a", tasks=2, cpu=1),
        job("b", cpu=2),
        expect={"a": {"pipelined": {"n1": 2}}, "b": "pending"},
    ),
    told(
        "a job backfills only jobs in the same queue",
        holder(queue="q1"),
        job("b", cpu=2, queue="q2"),
        expect={"a": HELD, "b": "pending"},
    ),
    told(
        "a task does not backfill other tasks of its own job",
        job("a", tasks=3, cpu=1),
        expect={"a": HELD},
    ),
    told(
        "it takes from jobs that matter more",
        holder(priority=HIGH),
        job("b", cpu=2, priority=LOW),
        expect={"a": "pending", "b": {"n1": 1}},
    ),
    told(
        "and from jobs that matter less",
        holder(priority=HIGH),
        job("c", cpu=2, priority=LOW, tasks=2),
        job("b", cpu=1, priority=LOW + 1),
        expect={"a": {"held": {"n1": 1}}, "c": "pending", "b": {"n1": 1}},
    ),
    told(
        "only as many are released as are needed; the rest keeps its places",
        holder(tasks=4),
        job("b", cpu=1),
        cpu=3,
        expect={"a": HELD, "b": {"n1": 1}},
    ),
    told(
        "idle room counts: what is missing is taken, not all that is asked for",
        job("a", tasks=2, cpu=2),
        job("b", cpu=3),
        cpu=3,
        expect={"a": "pending", "b": {"n1": 1}},
    ),
    told(
        "a node that does without releasing anything is selected before all others",
        job("a", tasks=3, cpu=2, node_selector={"disk": "ssd"}),
        job("b", tasks=2, cpu=2, min_available=2),
        nodes=[node("n1", cpu=4, labels={"disk": "ssd"}), node("n2", cpu=2)],
        expect={"a": {"held": {"n1": 1}}, "b": {"n1": 1, "n2": 1}},
    ),
    told(
        "the node must suit the pod in every other respect too",
        holder(),
        job("b", cpu=2, node_selector={"disk": "ssd"}),
        expect={"a": HELD, "b": "pending"},
    ),
    told(
        "if the job still does not satisfy the running condition, the victims get their places back",
        holder(),
        job("b", tasks=2, cpu=2),
        expect={"a": HELD, "b": "pending"},
    ),
    told(
        "an elastic job takes what it needs to start, and then goes on",
        holder(tasks=4),
        job("b", tasks=3, cpu=1, min_available=1),
        cpu=3,
        expect={"a": "pending", "b": {"n1": 3}},
    ),
    told(
        "a queue that has its share may exchange what it holds for what can start",
        job("large", tasks=3, cpu=1, priority=HIGH),
        job("small", cpu=1, priority=LOW),
        tiers=("priority, gang", "predicates, proportion"),
        expect={"large": {"held": {"n1": 1}}, "small": {"n1": 1}},
    ),
    told(
        "own shard first: idle room there is taken before idle room of others",
        job("b", cpu=1),
        nodes=[node("n2", cpu=1), node("n1", cpu=1)],
        shard=Shard("soft", frozenset({"n1"})),
        actions="backfill",
        expect={"b": {"n1": 1}},
    ),
    told(
        "own shard first: reserved room there is taken before reserved room of others",
        job("a", tasks=3, cpu=1),
        job("b", cpu=1),
        nodes=[node("n2", cpu=1), node("n1", cpu=1)],
        shard=Shard("soft", frozenset({"n1"})),
        expect={"a": {"held": {"n2": 1}}, "b": {"n1": 1}},
    ),
    told(
        "idle room of another shard is taken before reserved room of the own",
        job("a", tasks=2, cpu=1, node_selector={"kubernetes.io/hostname": "n1"}),
        job("b", cpu=1),
        nodes=[node("n2", cpu=1), node("n1", cpu=1, labels={"kubernetes.io/hostname": "n1"})],
        shard=Shard("soft", frozenset({"n1"})),
        actions="allocate, backfill",
        settings={**ON, "allocate": {"unreadyPolicy": "hold"}},
        expect={"a": {"held": {"n1": 1}}, "b": {"n2": 1}},
    ),
    told(
        "a nominated node is taken before better ones",
        job("b", cpu=1, nominated="n2"),
        nodes=[node("n1", cpu=1), node("n2", cpu=1)],
        actions="backfill",
        expect={"b": {"n2": 1}},
    ),
    told(
        "a queue that may take no more takes no reserved room either",
        holder(queue="q1"),
        job("b", cpu=2, queue="q1"),
        queues=[queue("q1", capability={"cpu": 1})],
        tiers=("priority, gang", "predicates, proportion"),
        expect={"a": {"held": {"n1": 1}}, "b": "pending"},
    ),
    told(
        "without holding, jobs that wait for releases give what they have been given",
        pod("old", on="n1", cpu=1, is_leaving=True),
        job("a", tasks=2, cpu=1),
        job("b", cpu=1),
        settings={"backfill": {"kubeBatchBackfillEnable": True}},
        expect={"a": {"pipelined": {"n1": 1}}, "b": {"n1": 1}},
    ),
    told(
        "the option is off unless asked for",
        pod("old", on="n1", cpu=1, is_leaving=True),
        job("a", tasks=2, cpu=1),
        job("b", cpu=1),
        settings={},
        expect={"a": {"held": {"n1": 1}, "pipelined": {"n1": 1}}, "b": "pending"},
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_reserved_room(story: Story) -> None:
    assert story.play() == story.expect


def test_no_task_is_evicted_for_it() -> None:
    story = told("a", holder(), job("b", cpu=2), expect={})
    assert not [d for d in story.cycle().decisions if isinstance(d, Evict)]


def test_when_the_taker_cannot_start_everything_is_as_it_was() -> None:
    gave = told("a", holder(), job("b", tasks=2, cpu=2), expect={})
    kept = told("a", holder(), job("b", tasks=2, cpu=2), expect={}, settings=HOLD)
    assert gave.cycle().session.fingerprint() == kept.cycle().session.fingerprint()


def test_the_last_task_of_a_job_gives_first() -> None:
    session = told("a", holder(tasks=4), job("b", cpu=1), cpu=3, expect={}).cycle().session
    held = session.jobs["default/a"].roster.having(Status.ALLOCATED).values()
    assert sorted(task.name for task in held) == ["a-0", "a-1"]


class ObjectsToTheFirst(Plugin):
    """Objects to every placement of one task."""

    name = "objects-to-the-first"

    def on_allocate(self, task: Task) -> str | None:
        return "not this one" if task.name == "b-x-0" else None


def test_places_are_given_back_where_a_plugin_objects_to_the_taker() -> None:
    story = told(
        "the job starts with its other task alone",
        job("a", tasks=5, cpu=1),
        job(
            "b",
            roles=[PodRole("x", 1), PodRole("y", 1, shape={"node_selector": {"disk": "ssd"}})],
            cpu=2,
            min_available=1,
        ),
        nodes=[node("n1", cpu=2), node("n2", cpu=2, labels={"disk": "ssd"})],
        tiers=("priority, gang", "predicates, objects-to-the-first"),
        plugins=[ObjectsToTheFirst],
        expect={"a": {"held": {"n1": 2}}, "b": {"n2": 1}},
    )
    assert story.play() == story.expect
