"""Eviction plans: for preempt's topology-aware mode, compare nodes by the victims they would lose.

On a few nodes all victims are taken away, then given back one by one as long as the preemptor
still fits, the most important first. The node whose remaining victims matter least is taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hekla.engine.actions.victim_search import would_run
from hekla.engine.framework import points
from hekla.engine.framework.orders import victims_in_order
from hekla.engine.framework.session import Session
from hekla.engine.model.task import Task
from hekla.objects import seconds


@dataclass(frozen=True)
class EvictionPlan:
    """A node, and the victims it would take there, the most important first."""

    row: int
    victims: tuple[Task, ...]


def plan_on(
    session: Session, task: Task, row: int, candidates: list[Task], reason: str
) -> EvictionPlan | None:
    """The fewest victims that will do on this node; None where no task needs to go, or all would not do."""
    heap = victims_in_order(session, candidates, task)
    # The order is that of now: supposing that tasks were gone does not change which goes next.
    waiting = [heap.pop() for _ in range(len(heap))]
    with session.statement() as supposition:
        gone: list[Task] = []
        for victim in waiting:
            supposition.evict(victim, reason)
            session.ask(points.SIMULATE_REMOVE, task, victim)
            gone.append(victim)
            if would_run(session, task, row, is_simulated=True):
                break
        if not gone or not session.would_suit(task, row):
            return None
    # Only those of the victims are needed that cannot stay, trying the most important first.
    needed: list[Task] = []
    for at in reversed(range(len(gone))):
        with session.statement() as supposition:
            for victim in (*gone[:at], *needed):
                supposition.evict(victim, reason)
            session.ask(points.SIMULATE_ADD, task, gone[at])
            if not would_run(session, task, row, is_simulated=True):
                needed.append(gone[at])
    return EvictionPlan(row, tuple(needed)) if needed else None


def least_harmful(plans: Iterable[EvictionPlan], now: float) -> EvictionPlan:
    """By the most important victim, then by all, then by their number, then by how long they ran."""
    return min(plans, key=lambda plan: _harm(plan, now))


def _harm(plan: EvictionPlan, now: float) -> tuple[float, ...]:
    priorities = [priority_of(victim) for victim in plan.victims]
    top = [one for one in plan.victims if priority_of(one) == max(priorities)]
    earliest = min([seconds(one.pod.status.start_time) or now for one in top])
    # Younger pods have less to lose: the node whose most important victims started last comes first.
    return priorities[0], sum(priority + 2**31 for priority in priorities), len(priorities), -earliest


def priority_of(task: Task) -> int:
    """The pod's own priority; the annotation that overrides it elsewhere does not count here."""
    return task.pod.spec.priority or 0
