"""Plan: would a job start now, where, by which evictions; and if not, what holds it back and what would help.

Nothing is changed: the job is tried out on a copy of the facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hekla.cluster.admission import default_queue
from hekla.conf import Conf
from hekla.controllers import loaded_queue
from hekla.engine.framework.registry import Registry
from hekla.engine.model.node import Shard
from hekla.engine.model.wait_reason import Verdict, WaitReason
from hekla.insight.plan.intake import SCHEDULER_NAMES, PlanIntake, moment_after
from hekla.insight.plan.request import PlanRequest, pods_of_request
from hekla.insight.plan.search import Found, OnTry, Search
from hekla.insight.plan.trial import Loser, PlannedStart, Shortage, Trial, bound_without, try_out
from hekla.insight.plan.waiting import WaitingJob, job_name_of, waiting_job
from hekla.insight.plan.whatif import Setting, WhatIfCluster
from hekla.objects import Manifest, Pod, PodGroup, Queue, VolcanoJob
from hekla.objects.complaint import Complaint
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.left_out import explain_left_out

TRIES = 100
"""How many changes are tried out at most, unless the caller says otherwise."""


@dataclass(frozen=True)
class Delay:
    """A job that waits and would get more pods started if the planned one were not there."""

    job: str
    queue: str
    pods_without: int
    pods_with: int

    def as_data(self) -> dict[str, object]:
        return {
            "job": self.job,
            "queue": self.queue,
            "podsWithout": self.pods_without,
            "podsWith": self.pods_with,
        }


@dataclass(frozen=True)
class Suggestion:
    """A change with which the job would start, as it was tried out."""

    kind: str
    change: str
    start: PlannedStart
    pods: int
    """How many of its pods would start."""
    losers: tuple[Loser, ...] = ()

    def as_data(self) -> dict[str, object]:
        return {
            "kind": self.kind,
            "change": self.change,
            "start": self.start.value,
            "pods": self.pods,
            "evicts": [loser.as_data() for loser in self.losers],
        }


@dataclass(frozen=True)
class Plan:
    """The answer for one job."""

    job: str
    queue: str
    pods: int
    minimum: int
    start: PlannedStart
    cycles: int
    placements: Mapping[str, str]
    """Node by pod."""
    losers: tuple[Loser, ...]
    leaving: int
    """How many pods are on their way out already; they are gone by the second cycle."""
    delays: tuple[Delay, ...]
    headline: str
    reasons: tuple[str, ...]
    code: WaitReason | None
    """What keeps it, or the rest of it, from starting now; None where nothing does."""
    verdict: Verdict | None
    """Whether that passes."""
    why: str
    """The same in a sentence."""
    shortages: tuple[Shortage, ...]
    suggestions: tuple[Suggestion, ...] = ()
    tries: int = 0
    is_complete: bool = True
    """Every single change was tried; otherwise the tries ran out, or the search was stopped."""
    is_there: bool = False
    """It waits in the cluster already: with a change it is submitted anew."""

    @property
    def starts(self) -> bool:
        return self.start is not PlannedStart.NOT

    @property
    def nodes(self) -> dict[str, int]:
        """How many pods would start on each node."""
        counts: dict[str, int] = {}
        for node in self.placements.values():
            counts[node] = counts.get(node, 0) + 1
        return dict(sorted(counts.items()))

    def as_data(self) -> dict[str, object]:
        """The shape that scripts read."""
        return {
            "job": self.job,
            "queue": self.queue,
            "pods": self.pods,
            "minimum": self.minimum,
            "start": self.start.value,
            "cycles": self.cycles,
            "placements": dict(self.placements),
            "evicts": [loser.as_data() for loser in self.losers],
            "leaving": self.leaving,
            "delays": [delay.as_data() for delay in self.delays],
            "headline": self.headline,
            "reasons": list(self.reasons),
            "code": None if self.code is None else self.code.value,
            "verdict": None if self.verdict is None else self.verdict.value,
            "why": self.why,
            "shortages": [shortage.as_data() for shortage in self.shortages],
            "suggestions": [suggestion.as_data() for suggestion in self.suggestions],
            "tries": self.tries,
            "complete": self.is_complete,
            "inCluster": self.is_there,
        }

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        from hekla.insight.plan.notebook import plan_html  # noqa: PLC0415 - which knows this class

        return plan_html(self)


class Planner:
    """Plans jobs on the state of a cluster, one after another."""

    def __init__(
        self,
        objects: Iterable[Manifest],
        conf: Conf,
        *,
        registry: Registry = BUILTIN,
        now: float | None = None,
        memory: Mapping[str, float] | None = None,
        shard: Shard | None = None,
        scheduler_names: Sequence[str] = SCHEDULER_NAMES,
    ) -> None:
        known = list(objects)
        moment = moment_after(known) if now is None else now
        self._cluster = WhatIfCluster(known, Setting(conf, moment, registry, shard or Shard(), memory or {}))
        self._names = scheduler_names

    @property
    def complaints(self) -> list[Complaint]:
        """What of the state cannot be used as it is."""
        return self._cluster.complaints

    def plan(
        self,
        manifests: Iterable[Manifest],
        *,
        together: bool = False,
        tries: int = TRIES,
        on_try: OnTry | None = None,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> list[Plan]:
        """The answer for every job among the manifests; what comes with them is supposed to be there, too.

        Each job is planned by itself; `together` lets each find the ones before it in place. Stopped, no more
        changes are tried out.
        """
        given = list(manifests)
        for manifest in given:
            if not isinstance(manifest, (VolcanoJob, PodGroup, Pod)):
                self._cluster.put(_at_load(manifest))
        self._cluster.keep()
        intake = PlanIntake(self._cluster, self._names)
        return [
            self._planned(
                intake, request, Search(self._cluster, intake, tries, on_try, is_stopped), together=together
            )
            for request in intake.requests_in(given)
        ]

    def _planned(self, intake: PlanIntake, request: PlanRequest, search: Search, *, together: bool) -> Plan:
        objects, uid = intake.objects_of(request)
        trial = try_out(self._cluster, objects, uid)
        found = [] if trial.starts else search.smallest(request)
        delays = self._delays(trial) if trial.starts else ()
        if together:
            try_out(self._cluster, objects, uid, keep=True)
        subject = _Subject(request.title, request.queue, pods_of_request(request), request.minimum)
        return _plan(subject, trial, delays, found, search)

    def plan_waiting(
        self,
        names: Iterable[str],
        *,
        written: Iterable[VolcanoJob] = (),
        tries: int = TRIES,
        on_try: OnTry | None = None,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> list[Plan]:
        """The answer for jobs of these names that wait in the cluster, as they stand there.

        A change is decided as if the job were submitted anew with it: it goes to the end of its queue.
        `written` are Jobs as their users wrote them, before defaults were filled in.
        """
        intake, known, plans = PlanIntake(self._cluster, self._names), list(written), list[Plan]()
        for name in names:
            waiting, request = waiting_job(name, self._cluster, intake, known)
            there = waiting.objects
            search = Search(self._cluster, intake, tries, on_try, is_stopped, instead_of=there)
            plans.append(self._planned_waiting(waiting, request, self._as_it_stands(waiting, known), search))
        return plans

    def _as_it_stands(self, waiting: WaitingJob, written: Sequence[VolcanoJob]) -> Trial:
        """What becomes of the job without a change; nothing does of one without a PodGroup."""
        if waiting.group is not None:
            return try_out(self._cluster, (), waiting.uid)
        session = self._cluster.cycle(1, self._cluster.fresh_memory()).session
        told = explain_left_out(session, waiting.name, written)
        assert told is not None, f"{waiting.name} is among the jobs"
        return Trial(PlannedStart.NOT, 1, {}, told)

    def _planned_waiting(
        self, waiting: WaitingJob, request: PlanRequest | None, trial: Trial, search: Search
    ) -> Plan:
        found = list[Found]()
        if request is not None and not trial.starts:
            found = search.smallest(request, waiting.resumed(request))
        delays = self._delays(trial, waiting.objects) if trial.starts else ()
        pods = len(waiting.pods) if request is None else pods_of_request(request)
        minimum = waiting.minimum if request is None else request.minimum
        subject = _Subject(waiting.title, waiting.queue, pods, minimum, is_there=True)
        return _plan(subject, trial, delays, found, search)

    def _delays(self, trial: Trial, there: Sequence[Manifest] = ()) -> tuple[Delay, ...]:
        """Jobs that would get more pods started in as many cycles without the job and its objects."""
        without = bound_without(self._cluster, trial.cycles, there)
        groups = self._cluster.by_key(PodGroup)
        return tuple(
            Delay(_title(groups, uid), groups[uid].spec.queue, count, trial.bound_of_others.get(uid, 0))
            for uid, count in sorted(without.items())
            if uid in groups and count > trial.bound_of_others.get(uid, 0)
        )


class _Subject(NamedTuple):
    """What is planned."""

    title: str
    queue: str
    pods: int
    minimum: int
    is_there: bool = False


def _plan(
    subject: _Subject, trial: Trial, delays: tuple[Delay, ...], found: Sequence[Found], search: Search
) -> Plan:
    told = trial.explanation
    return Plan(
        job=subject.title,
        queue=subject.queue,
        pods=subject.pods,
        minimum=subject.minimum,
        start=trial.start,
        cycles=trial.cycles,
        placements=trial.placements,
        losers=trial.losers,
        leaving=trial.leaving,
        delays=delays,
        headline=told.headline,
        reasons=told.reasons,
        code=told.code,
        verdict=told.verdict,
        why=told.why,
        shortages=trial.shortages,
        suggestions=tuple(map(_suggestion, found)),
        tries=search.tries,
        is_complete=search.is_complete,
        is_there=subject.is_there,
    )


def plan(
    objects: Iterable[Manifest],
    job: Iterable[Manifest],
    conf: Conf,
    *,
    registry: Registry = BUILTIN,
    now: float | None = None,
    memory: Mapping[str, float] | None = None,
    shard: Shard | None = None,
    together: bool = False,
    tries: int = TRIES,
    on_try: OnTry | None = None,
) -> list[Plan]:
    """Would the jobs start on a cluster of these objects; one answer for each."""
    planner = Planner(objects, conf, registry=registry, now=now, memory=memory, shard=shard)
    return planner.plan(job, together=together, tries=tries, on_try=on_try)


def _at_load(manifest: Manifest) -> Manifest:
    """A queue that comes with a job is open, below root, and has its defaults."""
    return loaded_queue(default_queue(manifest)) if isinstance(manifest, Queue) else manifest


def _title(groups: Mapping[str, PodGroup], uid: str) -> str:
    meta = groups[uid].metadata
    return f"{meta.namespace}/{job_name_of(groups[uid]) or meta.name}"


def _suggestion(found: Found) -> Suggestion:
    trial, change = found.trial, found.change
    return Suggestion(change.kind, change.line, trial.start, len(trial.placements), trial.losers)
