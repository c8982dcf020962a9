"""The least important goes first: that is the order in which plugins are offered candidates for eviction."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given

from hekla.engine.framework.orders import by_name, least_important_first
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import RECLAIMABLE, TASK_ORDER, answers
from hekla.engine.framework.session import Session
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.objects import LabelSelector, ObjectMeta, PodDisruptionBudget
from hekla.objects.storage import PodDisruptionBudgetSpec, PodDisruptionBudgetStatus
from hekla.testing import Story, job, node, plugin, queue
from hekla.testing.strategies import sessions

FAIR = ("priority, gang, conformance, proportion", "drf, predicates, nodeorder")
NAMES = pytest.mark.parametrize("names", [("a", "z"), ("z", "a")], ids="-".join)


class LetsOneGo(Plugin):
    """Lets go of the first task it is offered, and of no other."""

    name = "lets-one-go"

    @answers(RECLAIMABLE)
    def first_of_all(self, _initiator: Task, candidates: Sequence[Task]) -> list[Task]:
        return list(candidates[:1])


def evicted(story: Story) -> dict[str, int]:
    """How many tasks each job loses."""
    outcomes = story.play().items()
    return {
        name: len(told["evicted"]) for name, told in outcomes if isinstance(told, dict) and "evicted" in told
    }


@NAMES
def test_reclaim_takes_from_the_job_of_low_priority_whatever_its_name(names: tuple[str, str]) -> None:
    important, junk = names
    story = Story(
        "production claims its share",
        nodes=[node("n1", cpu=10)],
        queues=[queue("production", weight=60), queue("development", weight=30)],
        jobs=[
            job(name, tasks=4, cpu=1, priority=rank, running={"n1": 4}, min_available=1, queue="development")
            for name, rank in ((important, 5), (junk, 1))
        ]
        + [
            job("base", tasks=2, cpu=1, running={"n1": 2}, queue="production"),
            job("claim", tasks=2, cpu=1, queue="production"),
        ],
        actions="reclaim",
        tiers=FAIR,
    )
    assert evicted(story) == {junk: 2}


@NAMES
def test_reclaim_takes_from_the_queue_that_gives_first_whatever_its_name(names: tuple[str, str]) -> None:
    greedy, modest = names
    story = Story(
        "both hold as much, and one deserves less",
        nodes=[node("n1", cpu=4)],
        queues=[queue(greedy, weight=1), queue(modest, weight=3), queue("claimer", weight=4)],
        jobs=[
            job(f"{name}-job", tasks=2, cpu=1, running={"n1": 2}, min_available=1, queue=name)
            for name in names
        ]
        + [job("claim", tasks=1, cpu=1, queue="claimer")],
        actions="reclaim",
        tiers=(["lets-one-go"], ["gang", plugin("proportion", enableReclaimable=False)]),
        plugins=[LetsOneGo],
    )
    assert evicted(story) == {f"{greedy}-job": 1}


@pytest.mark.parametrize(
    ("priorities", "victim"), [((9, 5, 1), "low-2"), ((1, 5, 9), "low-0"), ((5, 1, 9), "low-1")]
)
def test_of_one_gang_the_task_of_low_priority_goes(priorities: tuple[int, ...], victim: str) -> None:
    story = Story(
        "one of three is more than the gang needs",
        nodes=[node("n1", cpu=3)],
        jobs=[
            job(
                "low",
                tasks=3,
                cpu=1,
                priority=1,
                min_available=2,
                running={"n1": 3},
                task_priorities=priorities,
            ),
            job("high", tasks=1, cpu=1, priority=9),
        ],
        actions="preempt",
        tiers=("priority, gang, conformance", "predicates"),
    )
    assert story.play() == {"low": {"evicted": [victim]}, "high": {"pipelined": {"n1": 1}}}


@NAMES
def test_a_budget_is_spent_on_the_least_important_when_tasks_are_shuffled(names: tuple[str, str]) -> None:
    important, junk = names
    budget = PodDisruptionBudget(
        metadata=ObjectMeta(name="one", namespace="default"),
        spec=PodDisruptionBudgetSpec(selector=LabelSelector(match_labels={"app": "web"})),
        status=PodDisruptionBudgetStatus(disruptions_allowed=1),
    )
    story = Story(
        "one disruption is allowed",
        nodes=[node("n1", cpu=2)],
        jobs=[
            job(name, tasks=1, cpu=1, priority=rank, running={"n1": 1}, labels={"app": "web"})
            for name, rank in ((important, 5), (junk, 1))
        ],
        actions="shuffle",
        tiers=("priority, pdb",),
        objects=[budget],
    )
    assert evicted(story) == {junk: 1}


@pytest.mark.parametrize(("priorities", "victim"), [((9, 1), "spot-1"), ((1, 9), "spot-0")])
def test_the_least_important_leave_a_closed_zone_first(priorities: tuple[int, ...], victim: str) -> None:
    story = Story(
        "one of the job's tasks may leave at a time",
        nodes=[node("n1", cpu=2, labels={"volcano.sh/revocable-zone": "night"})],
        jobs=[
            job(
                "spot",
                tasks=2,
                cpu=1,
                running={"n1": 2},
                min_available=1,
                task_priorities=priorities,
                annotations={"volcano.sh/preemptable": "true", "volcano.sh/jdb-min-available": "1"},
            )
        ],
        actions="shuffle",
        tiers=(["priority", plugin("tdm", {"tdm.revocable-zone.night": "never"})],),
    )
    assert story.play() == {"spot": {"evicted": [victim]}}


@given(session=sessions())
def test_no_candidate_is_offered_before_a_less_important_one_of_its_queue(session: Session) -> None:
    jobs = session.jobs
    running = [task for task in session.tasks if task.status is Status.RUNNING and task.job in jobs]
    offered = least_important_first(session, by_name(running))
    assert sorted(offered, key=lambda task: task.uid) == sorted(running, key=lambda task: task.uid)
    for first, second in pairwise(offered):
        if jobs[first.job].queue == jobs[second.job].queue:
            mine, theirs = (importance(session, task) for task in (first, second))
            assert mine > theirs or (mine == theirs and first.key < second.key)


def importance(session: Session, task: Task) -> tuple[object, ...]:
    """The smaller, the more it matters."""
    job = session.jobs[task.job]
    return session.job_order(job), job.created, session.ask(TASK_ORDER, task)


@NAMES
def test_of_jobs_of_equal_priority_the_younger_one_goes(names: tuple[str, str]) -> None:
    old, young = names
    story = Story(
        "one pod is more than the queue deserves",
        nodes=[node("n1", cpu=8)],
        queues=[queue("rich", weight=7), queue("poor", weight=1)],
        jobs=[
            job(name, tasks=4, cpu=1, running={"n1": 4}, min_available=1, queue="rich")
            for name in (old, young)
        ]
        + [job("claim", tasks=1, cpu=1, queue="poor")],
        actions="reclaim",
        tiers=FAIR,
    )
    assert evicted(story) == {young: 1}


@pytest.mark.parametrize(("priorities", "victim"), [((9, 1), "spot-1"), ((1, 9), "spot-0")])
def test_nodes_of_a_closed_zone_are_looked_at_together(priorities: tuple[int, ...], victim: str) -> None:
    zone = {"volcano.sh/revocable-zone": "night"}
    story = Story(
        "one task at a time may leave two nodes",
        nodes=[node("n1", labels=zone), node("n2", labels=zone)],
        jobs=[
            job(
                "spot",
                tasks=2,
                cpu=1,
                running={"n1": 1, "n2": 1},
                min_available=1,
                task_priorities=priorities,
                annotations={"volcano.sh/preemptable": "true", "volcano.sh/jdb-max-unavailable": "1"},
            )
        ],
        actions="shuffle",
        tiers=(["priority", plugin("tdm", {"tdm.revocable-zone.night": "never"})],),
    )
    assert story.play() == {"spot": {"evicted": [victim]}}
