"""What plugins say of victims lasts as they promise: while room is made for a job, they only harden."""

from __future__ import annotations

from collections.abc import Sequence

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


@pytest.mark.parametrize("name", OPINIONATED)
@given(
    cluster=clusters(most_jobs=7, places=(*CROWDED, "pending")),
    chosen=st.lists(st.integers(0, 20), min_size=1),
)
def test_plugins_are_as_firm_about_victims_as_they_say(
    name: str, cluster: RandomCluster, chosen: Sequence[int]
) -> None:
    session = cluster.session(alone(name))
    waiting = [task for task in session.tasks if task.status is Status.PENDING and task.job in session.jobs]
    if not waiting:
        return
    task, resolve = waiting[0], session.plugins[0].resolve
    offered = {point: candidates(session, point, task) for point in ABOUT_VICTIMS}
    before = {point: set(ask(session, task, offered[point])) for point, ask in ABOUT_VICTIMS.items()}
    go_on(session, task, chosen)
    for point, ask in ABOUT_VICTIMS.items():
        now = set(ask(session, task, offered[point]))
        assert resolve is not Resolve.HARDENING or now <= before[point]
        assert resolve is Resolve.NONE or before[point] or not now


@given(session=sessions())
def test_victims_of_one_job_come_as_from_a_heap(session: Session) -> None:
    for job in session.all_jobs:
        victims = sorted(job.tasks.values(), key=lambda task: task.name[::-1])
        heap = Heap(lambda left, right: not task_goes_first(session, left, right), victims)
        waiting = victims_in_order(session, victims, victims[0]) if victims else []
        assert [waiting.pop() for _ in victims] == [heap.pop() for _ in victims]
