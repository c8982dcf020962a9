"""Gang: a job starts whole or not at all, and is not broken once it runs."""

from __future__ import annotations

import pytest

from hekla.engine.framework.decisions import UpdatePodGroup
from hekla.engine.framework.points import JOB_VALID
from hekla.objects.scheduling import SubGroupPolicy
from hekla.testing import PodRole, Story, job, node, plugin, pod, session_of

GANG = ("gang",)
ROLES = [PodRole("ps", 1, 1, {"cpu": 1}), PodRole("worker", 3, 2, {"cpu": 1})]
# The server, for which there is no room, is tried when the agents alone make up the gang's minimum.
SERVER_LAST = job(
    "train",
    roles=[PodRole("agent", 3, 2, {"cpu": 1}), PodRole("server", 1, 1, {"cpu": 9})],
    min_available=3,
    task_priorities=[1, 1, 1, 0],
)

STORIES = [
    Story(
        "a gang whose roles have their minimum starts",
        nodes=[node("n1", cpu=3)],
        jobs=[job("train", roles=ROLES, min_available=3)],
        tiers=GANG,
        expect={"train": {"n1": 3}},
    ),
    Story(
        "a gang with pods enough but none of a role that it needs does not start",
        nodes=[node("n1", cpu=3)],
        jobs=[SERVER_LAST],
        tiers=("priority", "gang"),
        expect={"train": "pending"},
    ),
    Story(
        "nor does it hold on to room that is promised to the wrong roles",
        nodes=[node("n1", cpu=3)],
        jobs=[
            pod("old", on="n1", is_leaving=True, cpu=1),
            SERVER_LAST,
            job("small", tasks=1, cpu=1),
        ],
        tiers=("priority", "gang"),
        expect={"train": "pending", "small": {"n1": 1}},
    ),
    Story(
        "role minimums do not bind where they add up to more than the gang's own minimum",
        nodes=[node("n1", cpu=1)],
        jobs=[job("train", roles=ROLES, min_available=1)],
        tiers=GANG,
        expect={"train": {"n1": 1}},
    ),
    Story(
        "a job that is not ready goes before one that is",
        nodes=[node("n1", cpu=2)],
        jobs=[
            job("elastic", tasks=2, cpu=1, min_available=1, running={"n1": 1}),
            job("whole", tasks=1, cpu=1),
        ],
        tiers=GANG,
        expect={"elastic": "pending", "whole": {"n1": 1}},
    ),
    Story(
        "a pending best-effort task counts towards the minimum before it runs",
        nodes=[node("n1", cpu=1)],
        jobs=[job("a", tasks=2, best_effort=1, cpu=1, min_available=2)],
        actions="allocate",
        tiers=GANG,
        expect={"a": {"n1": 1}},
    ),
    Story(
        "finished tasks count towards the minimum",
        nodes=[node("n1", cpu=1)],
        jobs=[job("a", tasks=3, cpu=1, min_available=2, succeeded=1)],
        tiers=GANG,
        expect={"a": {"n1": 1}},
    ),
    Story(
        "failed tasks do not",
        nodes=[node("n1", cpu=1)],
        jobs=[job("a", tasks=3, cpu=1, min_available=2, failed=1)],
        tiers=GANG,
        expect={"a": "pending"},
    ),
    Story(
        "with the readiness switch off a gang may start in part",
        nodes=[node("n1", cpu=1)],
        jobs=[job("a", tasks=2, cpu=1)],
        tiers=[[plugin("gang", enableJobReady=False)]],
        expect={"a": {"n1": 1}},
    ),
    Story(
        "a gang that is promised the rest of what it needs holds on to it",
        nodes=[node("n1", cpu=2)],
        jobs=[pod("old", on="n1", is_leaving=True, cpu=1), job("a", tasks=2, cpu=1)],
        tiers=GANG,
        expect={"a": {"held": {"n1": 1}, "pipelined": {"n1": 1}}},
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_gang(story: Story) -> None:
    assert story.play() == story.expect


def test_of_five_running_tasks_with_a_minimum_of_three_the_first_two_may_go() -> None:
    session = session_of(
        node("n1", cpu=8),
        job("a", tasks=5, cpu=1, min_available=3, running={"n1": 5}),
        job("b", tasks=1, cpu=1),
        tiers=GANG,
    )
    candidates, initiator = session.tasks[:5], session.tasks[5]
    assert [t.name for t in session.preemptable(initiator, candidates)] == ["a-0", "a-1"]
    assert [t.name for t in session.reclaimable(initiator, candidates)] == ["a-0", "a-1"]


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (job("a", tasks=2, cpu=1, min_available=3), "NotEnoughTasks"),
        (job("a", tasks=3, cpu=1, failed=1), "NotEnoughTasks"),
        (job("a", roles=[PodRole("ps", 0, 1), PodRole("w", 3, 1)], cpu=1), "NotEnoughPodsOfTask"),
        (
            job(
                "a",
                tasks=2,
                cpu=1,
                sub_groups=[SubGroupPolicy(name="g", match_label_keys=("rank",), min_sub_groups=1)],
            ),
            "NotEnoughPodsOfTask",
        ),
    ],
)
def test_a_job_that_can_never_be_complete_is_not_valid(broken: object, reason: str) -> None:
    session = session_of(node("n1"), broken, tiers=GANG)
    objection = session.ask(JOB_VALID, session.jobs["default/a"])
    assert objection.reason == reason


def test_a_gang_on_two_of_three_cores_reads_why_it_waits() -> None:
    story = Story(
        "a gang of three on two cores",
        nodes=[node("n1", cpu=2)],
        jobs=[
            job("a", tasks=0, min_available=3),
            *(pod(f"a-w-{at}", job="a", cpu=1) for at in range(3)),
        ],
        actions="allocate",
        tiers=GANG,
    )
    [written] = [d.status for d in story.cycle().decisions if isinstance(d, UpdatePodGroup)]
    [condition] = written.conditions
    line = (
        "pod group is not ready, 3 Pending, 3 minAvailable; Pending: 1 Unschedulable, 2 Schedulable. "
        "Origin reason is a-w-2: 0/1 nodes are unavailable: 1 Insufficient cpu."
    )
    assert (condition.type, condition.status, condition.reason) == (
        "Unschedulable",
        "True",
        "NotEnoughResources",
    )
    assert condition.message == f"1/3 tasks in gang unschedulable: {line}"


def test_a_gang_that_starts_reads_so_too() -> None:
    story = Story("a gang that fits", [node("n1")], [job("a", tasks=2, cpu=1)], tiers=GANG)
    [written] = [d.status for d in story.cycle().decisions if isinstance(d, UpdatePodGroup)]
    assert [(c.type, c.status) for c in written.conditions] == [("Scheduled", "True")]


def test_a_gang_that_only_waits_for_its_own_leavers_is_not_called_unschedulable() -> None:
    story = Story(
        "a gang being taken down",
        [node("n1")],
        [job("a", tasks=2, cpu=1, running={"n1": 1}, releasing={"n1": 1})],
        tiers=GANG,
    )
    written = [d.status for d in story.cycle().decisions if isinstance(d, UpdatePodGroup)]
    assert all(not status.conditions for status in written)
