"""Whom the actions that evict gang by gang may take, by gang and by priority."""

from __future__ import annotations

import pytest

from hekla.engine.framework import points
from hekla.engine.framework.plugin import EvictionContext
from hekla.testing import job, node, session_of


@pytest.mark.parametrize(
    ("plugin", "kind", "evictable"),
    [
        ("gang", "gangpreempt", ["low-0", "equal-0", "high-0"]),
        ("gang", "gangreclaim", ["low-0", "equal-0", "high-0"]),
        ("priority", "gangpreempt", ["low-0"]),
        ("priority", "gangreclaim", ["low-0", "equal-0", "high-0"]),
    ],
    ids=[
        "gang protects no task from preemption: whole gangs are weighed by the action",
        "gang protects no task from reclaim",
        "priority lets jobs preempt only what matters less",
        "priority has no say between queues",
    ],
)
def test_unified_evictable(plugin: str, kind: str, evictable: list[str]) -> None:
    session = session_of(
        node("n1"),
        *(
            job(name, cpu=1, priority=value, running={"n1": 1})
            for name, value in (("low", 1), ("equal", 5), ("high", 10))
        ),
        job("initiator", cpu=1, priority=5),
        tiers=(plugin,),
    )
    context = EvictionContext(kind=kind, job=session.jobs["default/initiator"], domain="")
    candidates = [task for task in session.tasks if task.node_name]
    assert [t.name for t in session.ask(points.UNIFIED_EVICTABLE, context, candidates)] == evictable
