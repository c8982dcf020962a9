"""What PodGroups and pods are told of their scheduling is true, whatever kind of pods a job has."""

from __future__ import annotations

import pytest

from hekla.engine.explain.explanation import explain
from hekla.engine.framework.decisions import Tell, UpdatePodGroup
from hekla.engine.framework.plugin import Plugin
from hekla.engine.model.task import Task
from hekla.testing import JobObjects, Story, job, node, pod

TAINTED = node("n1", cpu=4, taints=["gpu=yes:NoSchedule"])
TIERS = ("gang, predicates",)


def conditions(story: Story) -> dict[str, str]:
    """By type, the message of every condition that is True."""
    [status] = [d.status for d in story.cycle().decisions if isinstance(d, UpdatePodGroup)]
    return {
        condition.type: condition.message for condition in status.conditions if condition.status == "True"
    }


def alone(built: JobObjects, actions: str = "enqueue, allocate, backfill") -> Story:
    return Story("", [TAINTED], [built], actions=actions, tiers=TIERS)


def test_a_best_effort_job_that_fits_nowhere_is_called_unschedulable_and_told_why() -> None:
    story = alone(job("a", tasks=0, best_effort=1))
    refused = "0/1 nodes are unavailable: 1 node(s) had untolerated taint(s)."
    line = (
        "pod group is not ready, 1 Pending, 1 minAvailable; Pending: 1 Unschedulable. "
        f"Origin reason is a-0: {refused}"
    )
    assert conditions(story) == {"Unschedulable": f"1/1 tasks in gang unschedulable: {line}"}
    assert [d.message for d in story.cycle().decisions if isinstance(d, Tell)] == [refused]


@pytest.mark.parametrize(
    ("built", "expected"),
    [
        (job("a", tasks=0, best_effort=2, min_available=1, running={"n1": 1}), "Scheduled"),
        (job("a", tasks=1, best_effort=1, cpu=1, running={"n1": 1}), "Unschedulable"),
        (job("a", tasks=1, best_effort=1, cpu=1, running={"n1": 1}, min_available=1), "Scheduled"),
        (job("a", tasks=0, best_effort=1, gates=["example.com/wait"]), "Unschedulable"),
        (job("a", tasks=1, cpu=1, gates=["example.com/wait"]), "Unschedulable"),
        (job("a", tasks=0, best_effort=1, min_available=2), None),
        (job("a", tasks=1, cpu=9, min_available=12), None),
        (job("a", tasks=2, cpu=9, min_available=3, running={"n1": 1}), "Unschedulable"),
        (job("a", tasks=0, min_available=1), None),
    ],
    ids=[
        "one that runs as far as it needs to is scheduled",
        "one that runs in part, and whose other part asks for nothing, is not",
        "unless it needs no more",
        "gates keep a pod from its place that asks for nothing",
        "as they do any other",
        "a job whose pods are still being made is told nothing",
        "whatever its pods ask for",
        "one that has lost a pod, and runs no longer whole, is",
        "a job without pods is told nothing",
    ],
)
def test_conditions(built: JobObjects, expected: str | None) -> None:
    updates = [d.status for d in alone(built).cycle().decisions if isinstance(d, UpdatePodGroup)]
    found = [condition.type for status in updates for condition in status.conditions]
    assert found == ([] if expected is None else [expected])


def test_what_is_told_of_a_best_effort_job_that_fits_nowhere_promises_nothing() -> None:
    session = alone(job("a", tasks=0, best_effort=1)).cycle().session
    never, gang, backfill = explain(session, session.jobs["default/a"]).reasons
    assert never == "never: it tolerates no node's taints: taint gpu=yes"
    assert gang == "gang: 0 of 1 tasks that start together have a place, short by 1"
    assert backfill.startswith("backfill: a-0: 0/1 nodes fit")


def test_a_best_effort_job_that_is_not_admitted_is_not_called_scheduled() -> None:
    waits = alone(job("a", tasks=0, best_effort=1, phase="Pending"), actions="allocate, backfill, enqueue")
    assert list(conditions(waits)) == ["Unschedulable"]


def test_a_condition_names_the_gates_that_hold_pods_back() -> None:
    gated = alone(job("a", tasks=2, cpu=1, gates=["example.com/wait"]))
    assert conditions(gated)["Unschedulable"].endswith("2 Unschedulable. 2 held back by example.com/wait")


def test_the_phase_counts_best_effort_pods_that_wait_as_volcano_does() -> None:
    in_part = job("a", tasks=1, best_effort=1, cpu=1, running={"n1": 1}, phase="Inqueue")
    assert alone(in_part).phases() == {"a": "Inqueue"}


class Licences(Plugin):
    """Has no licence for some nodes, and says so when a task is put there."""

    name = "licences"

    def on_allocate(self, task: Task) -> str | None:
        return "no licence left" if task.name.startswith("new") else None


WORDS = 'plugin "licences" objects to node "n1": no licence left'
LEAVING = pod("old", on="n1", is_leaving=True, cpu=1)
NEW, OLD = {"cpu": 2, "priority": 9}, {"cpu": 2, "running": {"n1": 1}, "priority": 1}
OBJECTIONS = [
    Story("allocate", [node("n1", cpu=2)], [job("new", cpu=2)]),
    Story("allocate, where room is promised", [node("n1", cpu=2)], [LEAVING, job("new", cpu=2)]),
    Story("allocate of a gang", [node("n1", cpu=8)], [job("new", tasks=3, cpu=2)]),
    Story("backfill", [node("n1", cpu=2)], [job("new", tasks=0, best_effort=1)]),
    Story("preempt", [node("n1", cpu=2)], [job("old", **OLD), job("new", **NEW)], actions="preempt"),
    Story(
        "reclaim",
        nodes=[node("n1", cpu=4)],
        jobs=[
            job("old", tasks=2, cpu=2, running={"n1": 2}, min_available=0, queue="rich"),
            job("new", cpu=2, queue="poor"),
        ],
        actions="reclaim",
    ),
    Story("gangpreempt", [node("n1", cpu=2)], [job("old", **OLD), job("new", **NEW)], actions="gangpreempt"),
]


@pytest.mark.parametrize("story", OBJECTIONS, ids=str)
def test_who_objects_to_a_placement_is_told_everywhere(story: Story) -> None:
    tiers = ["priority, licences", "gang, predicates, proportion"]
    report = Story(**{**vars(story), "plugins": [Licences], "tiers": tiers}).cycle()
    told = {d.pod: (d.reason, d.message) for d in report.decisions if isinstance(d, Tell)}
    assert set(told.values()) == {("Unschedulable", WORDS)}
    [status] = [
        d.status for d in report.decisions if isinstance(d, UpdatePodGroup) and d.pod_group == "default/new"
    ]
    assert [condition.message[-len(WORDS) :] for condition in status.conditions] == [WORDS]
    assert WORDS in str(explain(report.session, report.session.jobs["default/new"]))
