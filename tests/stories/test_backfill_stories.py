"""Backfill: tasks that ask for nothing go wherever one pod more is welcome."""

from __future__ import annotations

import pytest

from hekla.engine.actions.backfill import in_order
from hekla.testing import Story, job, node, queue, session_of

GANG = ("priority, gang",)

STORIES = [
    Story(
        "a task that asks for nothing runs on a node without a core to spare",
        nodes=[node("n1", cpu=1)],
        jobs=[job("busy", tasks=1, cpu=1, running={"n1": 1}), job("idle", tasks=0, best_effort=2)],
        tiers=GANG,
        expect={"busy": "running", "idle": {"n1": 2}},
    ),
    Story(
        "a task that asks for something is not backfilled",
        nodes=[node("n1", cpu=4)],
        jobs=[job("small", tasks=1, cpu="1m")],
        actions="backfill",
        tiers=GANG,
        expect={"small": "pending"},
    ),
    Story(
        "a gated task stays where it is",
        nodes=[node("n1", cpu=4)],
        jobs=[job("gated", tasks=0, best_effort=1, gates=["example.com/wait"])],
        tiers=GANG,
        expect={"gated": "pending"},
    ),
    Story(
        "a job that is not admitted is not backfilled",
        nodes=[node("n1", cpu=4)],
        jobs=[job("new", tasks=0, best_effort=1, phase="Pending")],
        actions="backfill",
        tiers=GANG,
        expect={"new": "pending"},
    ),
    Story(
        "a queue that has had its share still gets its best-effort tasks",
        nodes=[node("n1", cpu=2)],
        queues=[queue("q", capability={"cpu": 1})],
        jobs=[
            job("busy", tasks=1, cpu=1, running={"n1": 1}, queue="q"),
            job("idle", tasks=0, best_effort=1, queue="q"),
        ],
        tiers=("gang, proportion",),
        expect={"busy": "running", "idle": {"n1": 1}},
    ),
    Story(
        "a gang that cannot start keeps its best-effort task unbound",
        nodes=[node("n1", cpu=1)],
        jobs=[job("gang", tasks=2, cpu=1, best_effort=1, min_available=3)],
        tiers=GANG,
        expect={"gang": {"held": {"n1": 1}}},
    ),
    Story(
        "tasks with requests do not wait for one that fits nowhere, though the gang needs it",
        nodes=[node("n1", cpu=4, pods=1)],
        jobs=[job("mixed", tasks=1, best_effort=1, cpu=1)],
        tiers=["priority, gang, predicates"],
        expect={"mixed": {"n1": 1}},
    ),
    Story(
        "tasks of a job that asks for nothing are bound one by one, whatever its minimum",
        nodes=[node("n1", cpu=4, pods=2)],
        jobs=[job("idle", tasks=0, best_effort=3)],
        tiers=["priority, gang, predicates"],
        expect={"idle": {"n1": 2}},
    ),
    Story(
        "each task is on its own: without gang one failure stops no other task",
        nodes=[node("n1", cpu=1)],
        jobs=[job("a", tasks=0, best_effort=1), job("b", tasks=1, cpu=4)],
        tiers=("priority",),
        expect={"a": {"n1": 1}, "b": "pending"},
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_backfill(story: Story) -> None:
    assert story.play() == story.expect


def test_the_order_is_queue_job_task_and_a_promised_place_is_given_back_first() -> None:
    session = session_of(
        node("n1"),
        job("pg1", tasks=0, best_effort=4, priority=1, task_priorities=[1, 2, 3, 4], queue="q1"),
        job("pg2", tasks=0, best_effort=4, priority=2, task_priorities=[1, 2, 3, 4], queue="q1"),
        tiers=("priority",),
    )
    statement = session.statement()
    for task in session.tasks:
        if task.priority in (2, 4):
            statement.pipeline(task, 0)
    assert session.nodes.pipelined[0, session.axis.pods] == 4
    ordered = [(task.job.removeprefix("default/"), task.priority) for task in in_order(session)]
    assert ordered == [(job, priority) for job in ("pg2", "pg1") for priority in (4, 3, 2, 1)]
    assert not session.nodes.pipelined.any()
