"""What plugins say of victims lasts as they promise: to tasks of one class they let go fewer and fewer."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekla.conf import Conf, PluginEntry, Tier
from hekla.engine.framework.heap import Heap
from hekla.engine.framework.orders import by_name, least_important_first, task_goes_first, victims_in_order
from hekla.engine.framework.plugin import Resolve
from hekla.engine.framework.points import PREEMPTABLE, RECLAIMABLE, Point, declared
from hekla.engine.framework.session import Session
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.scheduler.builtin import BUILTIN
from hekla.testing.strategies import CROWDED, RandomCluster, clusters, sessions
from hekla.testing.victim_strategies import full_clusters

ABOUT_VICTIMS = {PREEMPTABLE: Session.preemptable, RECLAIMABLE: Session.reclaimable}
EVICTABLE = (Status.BOUND, Status.RUNNING)
OPINIONATED = sorted(
    name
    for name, plugin in BUILTIN.plugins.items()
    if any(point in ABOUT_VICTIMS for _, point, _, _ in declared(plugin))
)


def alone(name: str) -> Conf:
    return Conf((), (Tier((PluginEntry(name),)),))


def others_than(session: Session, job: str) -> list[Task]:
    """Tasks of other jobs that might be evicted."""
    return [t for t in session.tasks if t.status in EVICTABLE and t.job in session.jobs and t.job != job]


def candidates(session: Session, point: Point, task: Task) -> list[Task]:
    """On the first node, as plugins are offered them; what is reclaimed is of other queues, too."""
    jobs = session.jobs
    found = [
        other
        for other in others_than(session, task.job)
        if other.node == 0 and (point is PREEMPTABLE or jobs[other.job].queue != jobs[task.job].queue)
    ]
    return least_important_first(session, by_name(found), jobs[task.job])


def go_on(session: Session, initiator: Task, chosen: Sequence[int]) -> None:
    """Other jobs lose tasks on other nodes, and the rest of the job is pipelined."""
    statement = session.statement()
    leaving = [task for task in others_than(session, initiator.job) if task.node != 0]
    for at in {number % len(leaving) for number in chosen if leaving}:
        statement.evict(leaving[at], "make room")
    for task in session.jobs[initiator.job].tasks.values():
        if task.status is Status.PENDING and task is not initiator:
            statement.pipeline(task, len(session.nodes) - 1)


def class_of(session: Session, task: Task) -> tuple[object, ...]:
    job = session.jobs[task.job]
    wanted = tuple(column for column, _ in task.shape.wanted)
    return job.queue, job.priority, task.priority, task.asked, wanted, task.is_best_effort


def wants(session: Session, task: Task) -> list[float]:
    asked = [float(task.vector[column]) for column in task.asked]
    return [*asked, session.plugins[0].preemptor_rank(task)]


def of_each_queue(session: Session, offered: Sequence[Task]) -> list[list[Task]]:
    queues = dict.fromkeys(session.jobs[one.job].queue for one in offered)
    return [[one for one in offered if session.jobs[one.job].queue == name] for name in queues]


def named(session: Session, point: Point, task: Task, offered: Sequence[Task]) -> set[Task]:
    return set(ABOUT_VICTIMS[point](session, task, offered))


def named_at_most(session: Session, point: Point, task: Task, offered: Sequence[Task]) -> set[Task]:
    """What is named of each queue's tasks alone."""
    return set().union(*(named(session, point, task, some) for some in of_each_queue(session, offered)))


@pytest.mark.parametrize("name", OPINIONATED)
@given(cluster=full_clusters() | clusters(most_jobs=7, places=(*CROWDED, "pending")), data=st.data())
def test_plugins_are_as_firm_about_victims_as_they_say(
    name: str, cluster: RandomCluster, data: st.DataObject
) -> None:
    session = cluster.session(alone(name))
    waiting = [task for task in session.tasks if task.status is Status.PENDING and task.job in session.jobs]
    if not waiting:
        return
    task, resolve = data.draw(st.sampled_from(waiting)), session.plugins[0].resolve
    offered = {point: candidates(session, point, task) for point in ABOUT_VICTIMS}
    before = {point: named_at_most(session, point, task, offered[point]) for point in ABOUT_VICTIMS}
    wanted = wants(session, task)
    like_it = [one for one in waiting if class_of(session, one) == class_of(session, task)]
    go_on(session, task, data.draw(st.lists(st.integers(0, 20))))
    for point, one in product(ABOUT_VICTIMS, like_it):
        asks_less = any(map(operator.lt, wants(session, one), wanted))
        if asks_less or any(other.job == one.job for other in offered[point]):
            continue
        now = named(session, point, one, offered[point])
        assert resolve is not Resolve.HARDENING or now <= before[point]
        assert resolve is Resolve.NONE or before[point] or not now


@given(session=sessions())
def test_victims_of_one_job_come_as_from_a_heap(session: Session) -> None:
    for job in session.all_jobs:
        victims = sorted(job.tasks.values(), key=lambda task: task.name[::-1])
        heap = Heap(lambda left, right: not task_goes_first(session, left, right), victims)
        waiting = victims_in_order(session, victims, victims[0]) if victims else []
        assert [waiting.pop() for _ in victims] == [heap.pop() for _ in victims]
