"""What queues would take while preemption is tried out: asked of the session as it stands."""

from __future__ import annotations

import pytest

from hekla.engine.framework import points
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.session import Session
from hekla.engine.plugins.capacity import Capacity
from hekla.engine.plugins.proportion import Proportion
from hekla.testing import job, node, queue, session_of


def would_take(session: Session) -> bool:
    task = next(task for task in session.tasks if task.name == "new-0")
    return bool(session.ask(points.SIMULATE_ALLOCATABLE, session.queues["q1"], task))


@pytest.mark.parametrize("plugin", [Capacity, Proportion])
@pytest.mark.parametrize("state", ["Open", "Closed"])
def test_a_full_queue_would_take_a_task_once_another_is_evicted_be_it_open_or_closed(
    plugin: type[Plugin], state: str
) -> None:
    session = session_of(
        node("n1", cpu=4),
        queue("q1", capability={"cpu": 2}, state=state),
        job("runs", tasks=2, cpu=1, queue="q1", running={"n1": 2}),
        job("new", cpu=1, queue="q1"),
        tiers=(plugin.name,),
        plugins=[plugin],
    )
    before = would_take(session)
    with session.statement() as statement:
        statement.evict(session.tasks[0], "preempt")
        during = would_take(session)
    assert (before, during, would_take(session)) == (False, True, False)
