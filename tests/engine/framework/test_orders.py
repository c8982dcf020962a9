"""Who goes first, and who is evicted first."""

from __future__ import annotations

import pytest

from hekla.engine.framework.orders import (
    queue_goes_first,
    task_goes_first,
    tasks_in_order,
    victims_in_order,
)
from hekla.engine.framework.session import Session
from hekla.engine.model.task import Task
from hekla.testing import job, node, pod, queue, session_of


def named(tasks: object) -> list[str]:
    return [task.name for task in tasks]


def evicted(session: Session, victims: list[Task], preemptor: Task) -> list[str]:
    heap = victims_in_order(session, victims, preemptor)
    return [heap.pop().name for _ in range(len(heap))]


def pods_of_a(*names: str) -> Session:
    return session_of(
        node("n1"), job("a", tasks=0, min_available=0), *(pod(name, job="a", cpu=1) for name in names)
    )


@pytest.mark.parametrize(
    ("written", "ordered"),
    [
        (["a-w-2", "a-w-10", "a-w-1"], ["a-w-1", "a-w-2", "a-w-10"]),
        (["a-2", "a-1"], ["a-2", "a-1"]),
        (["a-w-x", "a-w-b"], ["a-w-x", "a-w-b"]),
        (["a-v-1", "a-w-1"], ["a-v-1", "a-w-1"]),
    ],
    ids=[
        "by the number at the end of the name",
        "a name of two parts has no number: then by creation time",
        "nor has one that ends in letters",
        "equal numbers: by creation time",
    ],
)
def test_tasks(written: list[str], ordered: list[str]) -> None:
    session = pods_of_a(*written)
    assert named(tasks_in_order(session, session.tasks)) == ordered


def test_tasks_that_nothing_tells_apart_stay_in_the_order_in_which_they_are_given() -> None:
    """In files pods have no UIDs of their own: `a-b/c` and `a/b-c` come to the same one."""
    session = pods_of_a("a-w-1", "a-v-1")
    first, second = session.tasks
    second.uid, second.created = first.uid, first.created
    for given in ([first, second], [second, first]):
        assert named(tasks_in_order(session, given)) == named(given)


def test_names_with_and_without_a_number_are_compared_by_creation_time() -> None:
    session = pods_of_a("a-w-9", "plain", "a-w-1")
    nine, plain, one = session.tasks
    assert task_goes_first(session, nine, plain)
    assert task_goes_first(session, plain, one)
    # Which makes the order cyclic; every task still comes out once.
    assert task_goes_first(session, one, nine)
    assert sorted(named(tasks_in_order(session, session.tasks))) == ["a-w-1", "a-w-9", "plain"]


def test_task_priority_comes_before_the_number() -> None:
    session = session_of(node("n1"), job("a", tasks=3, cpu=1, task_priorities=[1, 5, 3]), tiers=("priority",))
    assert named(tasks_in_order(session, session.tasks)) == ["a-1", "a-2", "a-0"]


def test_queues_without_an_opinion_go_by_creation_time_then_name() -> None:
    session = session_of(queue("z"), queue("a"))
    assert queue_goes_first(session, session.queues["z"], session.queues["a"])
    session.queues["a"].created = session.queues["z"].created
    assert queue_goes_first(session, session.queues["a"], session.queues["z"])


def test_inside_a_job_the_last_task_is_evicted_first() -> None:
    session = session_of(
        node("n1", cpu=8),
        job("v", tasks=3, cpu=1, running={"n1": 3}, task_priorities=[5, 1, 1]),
        job("p", cpu=1),
        tiers=("priority",),
    )
    *victims, preemptor = session.tasks
    assert evicted(session, victims, preemptor) == ["v-2", "v-1", "v-0"]


def test_a_task_without_a_job_is_evicted_before_all_others() -> None:
    session = session_of(
        node("n1", cpu=8),
        job("v", cpu=1, running={"n1": 1}, priority=-5),
        pod("orphan", on="n1", cpu=1),
        job("p", cpu=1),
        tiers=("priority",),
    )
    first, orphan, preemptor = session.tasks
    assert evicted(session, [first, orphan], preemptor) == ["orphan", "v-0"]


def test_between_jobs_the_one_that_goes_last_is_evicted_first() -> None:
    session = session_of(
        node("n1", cpu=8),
        job("low", cpu=1, running={"n1": 1}, priority=1),
        job("high", cpu=1, running={"n1": 1}, priority=5),
        job("p", cpu=1, priority=9),
        tiers=("priority",),
    )
    low, high, preemptor = session.tasks
    assert evicted(session, [high, low], preemptor) == ["low-0", "high-0"]


def test_between_equal_jobs_the_tasks_are_compared_not_the_jobs_ages() -> None:
    session = session_of(
        node("n1", cpu=8),
        job("old", cpu=1, running={"n1": 1}, task_priorities=[1]),
        job("young", cpu=1, running={"n1": 1}, task_priorities=[5]),
        job("p", cpu=1),
        tiers=("priority",),
    )
    old, young, preemptor = session.tasks
    assert evicted(session, [young, old], preemptor) == ["old-0", "young-0"]


def test_between_queues_the_one_that_goes_last_gives_up_first() -> None:
    session = session_of(
        node("n1", cpu=8),
        queue("q1", priority=9),
        queue("q2"),
        queue("q3"),
        job("a", cpu=1, queue="q1", running={"n1": 1}, priority=1),
        job("b", cpu=1, queue="q2", running={"n1": 1}, priority=9),
        job("p", cpu=1, queue="q3"),
        tiers=("priority", "proportion"),
    )
    a, b, preemptor = session.tasks
    assert evicted(session, [a, b], preemptor) == ["b-0", "a-0"]
