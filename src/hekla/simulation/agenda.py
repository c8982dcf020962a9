"""Agenda: what time it is on the cluster, what is due, and whether that is reason enough to go on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hekla.cluster.embedded.timeline import Timeline

if TYPE_CHECKING:
    from hekla.simulation.jobs import SimPod


class AgendaPlan(Struct, eq=False):
    """Something that will happen."""

    act: Callable[[Any], None]
    subject: Any
    is_background: bool = False
    """It alone is no reason to go on."""
    holds_for: int = 1
    """Nothing makes it void."""


class PodPlan(Struct, eq=False):
    """Something that will happen to pods, but for those of which something else became meanwhile."""

    act: Callable[[Iterator[SimPod]], None]
    pods: Sequence[SimPod]
    holds_for: int
    """How many of them it still concerns."""

    def still_concerned(self) -> Iterator[SimPod]:
        """One by one: what happens to a pod may be the end of what was planned for the next."""
        return (pod for pod in self.pods if pod.plan is self)


class Agenda:
    """Plans in order of time. Times are seconds since the start, which is at `origin` seconds since 1970."""

    def __init__(self, origin: float) -> None:
        self._timeline: Timeline[AgendaPlan | PodPlan] = Timeline(0.0, origin=origin)
        self.now = self._timeline.now
        self._awaited = 0
        """Pods for which something is planned, and plans that concern no pod and are reason to go on."""

    @property
    def moment(self) -> datetime:
        return self._timeline.moment

    def stamp(self) -> datetime:
        """A creation time, later than all before."""
        return self._timeline.stamp()

    def move_to(self, time: float) -> None:
        self._timeline.move_to(time)
        self.now = self._timeline.now

    def plan(
        self, at: float, act: Callable[[Any], None], subject: object, *, is_background: bool = False
    ) -> None:
        """Let something happen at that time; mere background does not keep time going."""
        self._awaited += not is_background
        self._timeline.plan(at, AgendaPlan(act, subject, is_background=is_background))

    def plan_for(self, pods: Sequence[SimPod], span: float, act: Callable[[Iterator[SimPod]], None]) -> None:
        """Let it happen to these pods after that time, instead of all that was planned before."""
        self.drop(pods)
        plan = PodPlan(act, pods, len(pods))
        for pod in pods:
            pod.plan = plan
        self._awaited += len(pods)
        self._timeline.plan(self.now + span, plan)

    def drop(self, pods: Iterable[SimPod]) -> None:
        """What was planned for these pods no longer holds."""
        for pod in pods:
            if pod.plan is not None:
                pod.plan.holds_for -= 1
                pod.plan = None
                self._awaited -= 1

    @property
    def has_reason_to_go_on(self) -> bool:
        return self._awaited > 0

    def next_due(self) -> float:
        """When the next plan is due; infinite where there is none."""
        while (first := self._timeline.first()) is not None:
            if first[1].holds_for:
                return first[0]
            self._timeline.pop()
        return math.inf

    def happen(self) -> None:
        """Carry out all plans of this moment: what pods come to first, then what happens to nodes."""
        others: list[AgendaPlan] = []
        while (plan := self._timeline.pop_due()) is not None:
            if isinstance(plan, AgendaPlan):
                self._awaited -= not plan.is_background
                others.append(plan)
            elif plan.holds_for:
                plan.act(plan.still_concerned())
        for plan in others:
            plan.act(plan.subject)
