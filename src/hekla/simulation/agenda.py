"""Agenda: what time it is on the cluster, what is due, and whether that is reason enough to go on."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from hekla.cluster.embedded.timeline import Timeline
from hekla.simulation.jobs import SimPod
from hekla.simulation.run import NOTHING


class AgendaPlan(NamedTuple):
    """Something that will happen; to a pod only as long as its count of plans is the same."""

    act: Callable[[Any], None]
    subject: Any
    plans: int = NOTHING
    is_background: bool = False
    """It alone is no reason to go on."""

    @property
    def still_holds(self) -> bool:
        concerns_a_pod = self.plans != NOTHING
        return not concerns_a_pod or self.plans == self.subject.plans


class Agenda:
    """Plans in order of time. Times are seconds since the start, which is at `origin` seconds since 1970."""

    def __init__(self, origin: float) -> None:
        self._timeline: Timeline[AgendaPlan] = Timeline(0.0, origin=origin)
        self.now = self._timeline.now
        self._busy = 0
        """Pods for which something is planned."""
        self._foreseen = 0
        """Plans that concern no pod and are reason enough to go on."""

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
        self._foreseen += not is_background
        self._timeline.plan(at, AgendaPlan(act, subject, is_background=is_background))

    def plan_for(self, pod: SimPod, span: float, act: Callable[[SimPod], None]) -> None:
        """Let it happen to the pod after that time, instead of all that was planned before."""
        self._busy += not pod.is_busy
        pod.is_busy = True
        pod.plans += 1
        self._timeline.plan(self.now + span, AgendaPlan(act, pod, pod.plans))

    def drop(self, pod: SimPod) -> None:
        """What was planned for the pod no longer holds."""
        self._busy -= pod.is_busy
        pod.is_busy = False
        pod.plans += 1

    @property
    def has_reason_to_go_on(self) -> bool:
        return bool(self._busy or self._foreseen)

    def next_due(self) -> float:
        """When the next plan is due; infinite where there is none."""
        while (first := self._timeline.first()) is not None:
            if first[1].still_holds:
                return first[0]
            self._timeline.pop()
        return math.inf

    def happen(self) -> None:
        """Carry out all plans of this moment: what pods come to first, then what happens to nodes."""
        others: list[AgendaPlan] = []
        while self.next_due() <= self.now:
            plan = self._timeline.pop()
            if plan.plans == NOTHING:
                self._foreseen -= not plan.is_background
                others.append(plan)
            else:
                plan.act(plan.subject)
        for plan in others:
            plan.act(plan.subject)
