"""Closing: phases, messages and queue totals become decisions, where they are news."""

from __future__ import annotations

import pytest

from hekla.engine.framework.decisions import Tell, UpdateQueue
from hekla.testing import JobObjects, Story, job, node, pod, queue

TIERS = ("gang",)


@pytest.mark.parametrize(
    ("written", "phase"),
    [
        (job("a", tasks=2, cpu=1, running={"n1": 2}), "Running"),
        (job("a", tasks=2, cpu=1, bound={"n1": 2}), "Running"),
        (job("a", tasks=2, cpu=1), "Inqueue"),
        (job("a", tasks=2, cpu=9), "Inqueue"),
        (job("a", tasks=2, cpu=9, running={"n1": 1}, phase="Running"), "Unknown"),
        (job("a", tasks=2, cpu=1, succeeded=2, phase="Running"), "Completed"),
        (job("a", tasks=2, cpu=1, succeeded=1, failed=1, phase="Running"), "Completed"),
        (job("a", tasks=2, cpu=9, succeeded=1, phase="Running"), "Pending"),
        (job("a", tasks=2, cpu=1, running={"n1": 1}, releasing={"n1": 1}), "Running"),
        (job("a", tasks=0, min_available=0, phase="Pending"), "Completed"),
        (job("a", tasks=1, min_available=2, cpu=1, phase="Running"), "Pending"),
    ],
    ids=[
        "a gang that runs is Running",
        "a bound gang counts as running",
        "a gang that was only just placed stays Inqueue until its pods are bound",
        "a gang that found no place stays Inqueue",
        "a broken gang with a running task is Unknown",
        "a gang that is done is Completed",
        "however it ended",
        "a gang that fell below its minimum is Pending again",
        "a leaving pod still counts",
        "a job that needs nothing and has nothing is Completed",
        "a job that lost its pods is Pending again",
    ],
)
def test_phases(written: JobObjects, phase: str) -> None:
    story = Story("phases", [node("n1", cpu=4)], [written], actions="allocate", tiers=TIERS)
    assert story.phases() == {"a": phase}


def test_every_waiting_pod_is_told_where_it_stands() -> None:
    story = Story(
        "three outcomes",
        nodes=[node("n1", cpu=2)],
        jobs=[
            pod("old", on="n1", is_leaving=True, cpu=1),
            job("held", tasks=2, cpu=1),
            job("refused", tasks=1, cpu=8),
        ],
        actions="allocate",
        tiers=TIERS,
    )
    told = {d.pod: (d.reason, d.message) for d in story.cycle().decisions if isinstance(d, Tell)}
    assert told == {
        "default/held-0": (
            "Schedulable",
            "pod default/held-0 can possibly be assigned to n1, once minAvailable is satisfied",
        ),
        "default/held-1": (
            "Unschedulable",
            "pod default/held-1 can possibly be assigned to n1, "
            "once resource is released and minAvailable is satisfied",
        ),
        "default/refused-0": ("Unschedulable", "0/1 nodes are unavailable: 1 Insufficient cpu."),
    }


def test_a_gated_pod_is_not_told_anything() -> None:
    story = Story(
        "a gate", [node("n1")], [job("a", tasks=1, cpu=1, gates=["x"])], actions="allocate", tiers=TIERS
    )
    assert not [d for d in story.cycle().decisions if isinstance(d, Tell)]


def test_what_a_queue_holds_counts_for_its_ancestors_once() -> None:
    story = Story(
        "a tree of queues",
        nodes=[node("n1", cpu=8)],
        queues=[queue("root"), queue("team", parent="dept"), queue("dept"), queue("lost", parent="nowhere")],
        jobs=[
            job("a", tasks=1, cpu=1, queue="team"),
            job("b", tasks=1, cpu=2, queue="root"),
            job("c", tasks=1, cpu=4, queue="lost"),
        ],
        actions="allocate",
        tiers=TIERS,
    )
    held = {d.queue: d.allocated for d in story.cycle().decisions if isinstance(d, UpdateQueue)}
    assert {name: amounts["cpu"] for name, amounts in held.items()} == {
        "root": 3000,
        "team": 1000,
        "dept": 1000,
        "lost": 4000,
    }
