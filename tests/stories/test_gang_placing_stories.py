"""Gangs of tasks that look alike are placed at once, where one after another would put them."""

from __future__ import annotations

import pytest

from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import ALLOCATABLE, answers
from hekla.engine.framework.statement import Statement
from hekla.engine.model.queue import QueueInfo
from hekla.engine.model.task import Task
from hekla.testing import JobObjects, PodRole, Story, job, node, plugin, pod, queue

SPREAD = ("priority, gang", "drf, predicates, proportion, nodeorder")
PACK = ("priority, gang", "predicates, binpack")
ROOMY = [node(f"n{at}", cpu=8, memory="32Gi") for at in (1, 2, 3)]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tasks were placed at once, run by run."""
    sizes: list[int] = []
    place = Statement.allocate_all

    def count(self: Statement, tasks: list[Task], nodes: list[int]) -> int:
        placed = place(self, tasks, nodes)
        sizes.append(placed)
        return placed

    monkeypatch.setattr(Statement, "allocate_all", count)
    return sizes


STORIES = [
    Story(
        "a gang that spreads goes round the nodes",
        nodes=ROOMY,
        jobs=[job("j", tasks=7, cpu=1, memory="1Gi")],
        tiers=SPREAD,
        expect={"j": {"n1": 3, "n2": 2, "n3": 2}},
    ),
    Story(
        "a gang that packs fills one node after another",
        nodes=ROOMY,
        jobs=[job("j", tasks=11, cpu=1, memory="1Gi")],
        tiers=PACK,
        expect={"j": {"n1": 8, "n2": 3}},
    ),
    Story(
        "a node that fills up leaves the rest to the others",
        nodes=[node("n1", cpu=2, memory="64Gi"), node("n2", cpu=9, memory="9Gi")],
        jobs=[job("j", tasks=8, cpu=1, memory="1Gi")],
        tiers=SPREAD,
        expect={"j": {"n1": 2, "n2": 6}},
    ),
    Story(
        "a node takes as many pods as it may",
        nodes=[node("n1", cpu=8, memory="32Gi", pods=2), node("n2", cpu=8, memory="32Gi")],
        jobs=[job("j", tasks=7, cpu=1, memory="1Gi")],
        tiers=PACK,
        expect={"j": {"n1": 2, "n2": 5}},
    ),
    Story(
        "a gang beyond its queue's limit takes nothing, and leaves the room to another",
        nodes=ROOMY,
        queues=[queue("small", capability={"cpu": 6}), queue("other")],
        jobs=[
            job("j", tasks=8, cpu=1, memory="1Gi", queue="small"),
            job("k", tasks=1, cpu=8, memory="1Gi", queue="other"),
        ],
        tiers=("priority, gang", "capacity, predicates, nodeorder"),
        expect={"j": "pending", "k": {"n1": 1}},
    ),
    Story(
        "an elastic gang starts with its minimum and grows up to its queue's limit",
        nodes=ROOMY,
        queues=[queue("small", capability={"cpu": 7})],
        jobs=[job("j", tasks=12, cpu=1, memory="1Gi", min_available=5, queue="small")],
        tiers=("priority, gang", "capacity, predicates, nodeorder"),
        expect={"j": {"n1": 3, "n2": 2, "n3": 2}},
    ),
    Story(
        "of two roles both get their minimum",
        nodes=ROOMY,
        jobs=[
            job(
                "j",
                roles=[PodRole("a", 1, 1, {"cpu": 2}), PodRole("b", 9, 6, {"cpu": 1})],
                min_available=7,
                memory="1Gi",
            )
        ],
        tiers=PACK,
        expect={"j": {"n1": 7, "n2": 3}},
    ),
    Story(
        "where idle room ends within a gang, the rest is promised what is being released",
        nodes=[node("n1", cpu=4), node("n2", cpu=4)],
        jobs=[
            job("gone", tasks=2, cpu=1, releasing={"n2": 2}, min_available=0),
            job("j", tasks=8, cpu=1),
        ],
        tiers=PACK,
        expect={"gone": "running", "j": {"held": {"n1": 4, "n2": 2}, "pipelined": {"n2": 2}}},
    ),
    Story(
        "a gang that is one task short gives everything back",
        nodes=[node("n1", cpu=4), node("n2", cpu=3)],
        jobs=[job("j", tasks=8, cpu=1, priority=9), job("k", tasks=7, cpu=1, priority=1)],
        tiers=PACK,
        expect={"j": "pending", "k": {"n1": 4, "n2": 3}},
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_gangs(story: Story, runs: list[int]) -> None:
    assert story.play() == story.expect
    assert max(runs) > 1


def places(story: Story) -> dict[str, str]:
    return {task.name: task.node_name for task in story.cycle().session.tasks if task.node_name}


def test_the_first_node_goes_first_among_equals(runs: list[int]) -> None:
    story = Story("ties", nodes=ROOMY, jobs=[job("j", tasks=5, cpu=1, memory="1Gi")], tiers=SPREAD)
    assert list(places(story).values()) == ["n1", "n2", "n3", "n1", "n2"]
    assert runs == [5]


def test_a_node_full_for_large_tasks_takes_no_small_ones_of_their_role(runs: list[int]) -> None:
    sizes = (2, 2, 2, 2, 2, 1)
    pods = tuple(pod(f"j-x-{at}", job="j", role="x", cpu=cpu) for at, cpu in enumerate(sizes))
    group = job("j", tasks=1, min_available=len(sizes)).pod_group
    story = Story(
        "five large and a small one",
        nodes=[node("n1", cpu=5), node("n2", cpu=9)],
        jobs=[JobObjects(group, pods, None)],
        tiers=PACK,
    )
    assert places(story)["j-x-5"] == "n2"
    assert runs == [5]


class Picky(Plugin):
    """Objects to one task of a gang."""

    name = "picky"

    def on_allocate(self, task: Task) -> str | None:
        return "not that one" if task.name == "j-2" else None


def test_an_objection_ends_the_run_and_the_others_go_on(runs: list[int]) -> None:
    story = Story(
        "an objection",
        nodes=ROOMY,
        jobs=[job("j", tasks=8, min_available=7, cpu=1, memory="1Gi")],
        tiers=("priority, gang", ["predicates", "nodeorder", plugin("picky")]),
        plugins=[Picky],
    )
    assert list(places(story).values()) == ["n1", "n2", "n3", "n1", "n2", "n3", "n1"]
    assert runs == [2, 5]


class Counting(Plugin):
    """Knows whether a queue may take the next task, not how many."""

    name = "counting"

    def on_open(self) -> None:
        self.asked = 0

    @answers(ALLOCATABLE)
    def allows_six(self, queue: QueueInfo, task: Task) -> bool:
        self.asked += 1
        return self.asked <= 6


def test_a_plugin_that_is_asked_for_every_task_is_asked_for_every_task(runs: list[int]) -> None:
    story = Story(
        "six times yes",
        nodes=ROOMY,
        jobs=[job("j", tasks=8, min_available=6, cpu=1, memory="1Gi")],
        tiers=("priority, gang", ["predicates", "nodeorder", plugin("counting")]),
        plugins=[Counting],
    )
    assert len(places(story)) == 6
    assert runs == []
