"""Timers: actions that wait, requests that are tried again, and Jobs that expire.

All in memory only, as in Volcano: a controller that starts anew has forgotten them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

import msgspec

from hekla.controllers.phases import FINISHED, phase_of
from hekla.controllers.policy import Event, PolicyAction, PolicyRequest
from hekla.objects import VolcanoJob

FIRST_REPEAT = timedelta(milliseconds=5)


class Timer(msgspec.Struct, frozen=True):
    """An action that a policy wants done later."""

    due: datetime
    action: str
    request: PolicyRequest


class Timers:
    """The waiting actions, at most one per pod."""

    def __init__(self) -> None:
        self._by_pod: dict[tuple[str, str], Timer] = {}

    def __iter__(self) -> Iterator[Timer]:
        return iter(self._by_pod.values())

    def start(self, timer: Timer) -> bool:
        """Whether the timer was started; one for the same pod and action goes on, any other is replaced."""
        key = (timer.request.job, timer.request.pod)
        waiting = self._by_pod.get(key)
        if waiting is not None and waiting.action == timer.action:
            return False
        self._by_pod[key] = timer
        return True

    def remove(self, timer: Timer) -> None:
        self._by_pod.pop((timer.request.job, timer.request.pod), None)

    def forget_job(self, job_key: str) -> None:
        self._drop(timer for timer in self._by_pod.values() if timer.request.job == job_key)

    def drop_pointless(self, request: PolicyRequest) -> None:
        """Drop the timer that an event of its pod makes pointless."""
        waiting = self._by_pod.get((request.job, request.pod))
        if request.pod and waiting is not None and is_pointless(waiting, request):
            self.remove(waiting)

    def overtake(self, action: str, request: PolicyRequest) -> None:
        """Drop the timers of everything that the action has just dealt with."""
        self._drop(timer for timer in self._by_pod.values() if _is_covered(timer.request, action, request))

    def _drop(self, timers: Iterable[Timer]) -> None:
        for timer in list(timers):
            self.remove(timer)


def is_pointless(timer: Timer, request: PolicyRequest) -> bool:
    match timer.request.event:
        case Event.POD_PENDING:
            moved_on = request.event in (Event.POD_RUNNING, Event.POD_FAILED, Event.POD_EVICTED)
            return moved_on and request.pod_uid == timer.request.pod_uid
        case Event.POD_FAILED | Event.POD_EVICTED:
            return request.event == Event.POD_RUNNING
    return False


def _is_covered(waiting: PolicyRequest, action: str, request: PolicyRequest) -> bool:
    if waiting.job != request.job:
        return False
    match action:
        case PolicyAction.RESTART_TASK:
            return waiting.task == request.task
        case PolicyAction.RESTART_POD:
            return waiting.pod == request.pod
        case PolicyAction.RESTART_PARTITION:
            return (waiting.task, waiting.partition) == (request.task, request.partition)
    return True


class Repeat(msgspec.Struct, frozen=True):
    """A request that failed and will be served again."""

    due: datetime
    request: PolicyRequest


class ErrorBudget:
    """The patience with failing requests: each wait is twice as long as the one before, then none is left."""

    def __init__(self, repeats: int | None) -> None:
        self._repeats = repeats
        self._repeat_by_request: dict[PolicyRequest, Repeat] = {}
        self._failures: dict[PolicyRequest, int] = {}
        self._on_trial: set[PolicyRequest] = set()

    def __iter__(self) -> Iterator[Repeat]:
        return iter(self._repeat_by_request.values())

    def spend(self, request: PolicyRequest, now: datetime) -> bool:
        """Plan to serve the request again; False when patience has run out."""
        waiting = self._repeat_by_request.get(request)
        if waiting is not None and now < waiting.due:
            return True
        times = self._failures.get(request, 0) + 1
        if self._repeats is not None and times > self._repeats:
            self.forget(request)
            return False
        # Twenty doublings make more than an hour; a hundred would leave the calendar.
        wait = FIRST_REPEAT * 2 ** min(times - 1, 20)
        self._repeat_by_request[request] = Repeat(now + wait, request)
        self._failures[request] = times
        self._on_trial.discard(request)
        return True

    def take(self, repeat: Repeat) -> None:
        """The wait is over; how often the request has failed is still known."""
        self._repeat_by_request.pop(repeat.request, None)

    def served(self, request: PolicyRequest) -> None:
        """The request was answered; its failures are forgiven once it is answered again without a new one."""
        self._repeat_by_request.pop(request, None)
        if request in self._on_trial:
            self.forget(request)
        elif request in self._failures:
            self._on_trial.add(request)

    def forget(self, request: PolicyRequest) -> None:
        self._repeat_by_request.pop(request, None)
        self._failures.pop(request, None)
        self._on_trial.discard(request)

    def forget_job(self, job_key: str) -> None:
        for request in [request for request in self._failures if request.job == job_key]:
            self.forget(request)


class Expiry(msgspec.Struct, frozen=True):
    """When a finished Job may be deleted."""

    due: datetime
    job: str
    uid: str


def expiry_of(job: VolcanoJob) -> datetime | None:
    """When a finished Job has outlived itself; an aborted one never does, it may be resumed."""
    ttl = job.spec.ttl_seconds_after_finished
    ended = job.status.state.last_transition_time
    if ttl is None or ended is None or phase_of(job.status) not in FINISHED:
        return None
    return ended + timedelta(seconds=ttl)
