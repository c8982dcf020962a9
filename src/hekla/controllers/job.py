"""The job controller: events of Jobs, pods and PodGroups in, commands out.

Every method answers one event on the world of that moment. Carry the commands out, and report what they
changed, before the next event is handed in. Nothing polls: the caller calls `fire` once
`next_due` has come.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec

from hekla.controllers.commands import DeleteJob, DeletePodGroup, JobCommand, RecordEvent
from hekla.controllers.kill import kill, targets_of
from hekla.controllers.phases import END_OF, FINISHED, Phase, PodScope, phase_of, plan_for
from hekla.controllers.policy import TARGETED, Event, PolicyAction, PolicyRequest, answer_to
from hekla.controllers.requests import (
    event_of_change,
    follows,
    job_owner,
    request_of_job,
    request_of_pod,
    request_of_pod_group,
)
from hekla.controllers.sync import obstacle_to, sync
from hekla.controllers.timers import ErrorBudget, Expiry, Repeat, Timer, Timers, expiry_of
from hekla.controllers.world import Scene, World, is_terminating, scene_of
from hekla.objects import Pod, PodGroup, VolcanoJob
from hekla.objects.quantity import write_duration


class JobOptions(msgspec.Struct, frozen=True):
    """Where Volcano's behaviour is a matter of taste."""

    zero_counters_after_kill: bool = False
    """Finished Jobs show no pods, as Volcano's do, instead of those that ended."""
    resume_is_retry: bool = True
    """A resumed Job has used up one of its retries."""
    requests_from_limits: bool = False
    """A template that gives limits only counts them as requests when the Job is admitted."""
    repeats: int | None = 15
    """How often a failing Job is tried again before it is terminated; none: for ever."""


class JobController:
    """Drives Jobs through their phases; remembers timers, repeats and what it has just deleted."""

    def __init__(self, options: JobOptions | None = None) -> None:
        self._options = options or JobOptions()
        self._timers = Timers()
        self._budget = ErrorBudget(self._options.repeats)
        self._expiry_by_job: dict[str, Expiry] = {}
        self._leaving_group_by_job: dict[str, str] = {}
        self._served_by_job: dict[str, PolicyRequest] = {}
        self._evicted: set[str] = set()

    def job_changed(
        self, world: World, before: VolcanoJob | None, after: VolcanoJob, now: datetime
    ) -> list[JobCommand]:
        """A Job appeared, or was changed; only its spec and phase matter."""
        self._note_expiry(after)
        if before is not None and (before.spec, before.status.state.phase) == (
            after.spec,
            after.status.state.phase,
        ):
            return []
        return self._serve(world, request_of_job(after), now)

    def job_deleted(self, job: VolcanoJob) -> None:
        """A Job is gone; what it owned goes with it."""
        self._timers.forget_job(job.key)
        self._budget.forget_job(job.key)
        for memory in (self._expiry_by_job, self._leaving_group_by_job, self._served_by_job):
            memory.pop(job.key, None)

    def pod_added(self, world: World, pod: Pod, now: datetime) -> list[JobCommand]:
        if not follows(pod) or is_terminating(pod):
            return []
        # Running pods are seen for the first time at start-up; they are not pending, whatever Volcano says.
        is_pending = pod.status.phase == "Pending"
        return self._serve(
            world, request_of_pod(pod, Event.POD_PENDING if is_pending else Event.OUT_OF_SYNC), now
        )

    def pod_changed(self, world: World, before: Pod, after: Pod, now: datetime) -> list[JobCommand]:
        if not follows(after):
            return []
        if is_terminating(after):
            return [] if is_terminating(before) else self._evict(world, after, now)
        request = request_of_pod(after, Event.OUT_OF_SYNC)
        job = world.job(request.job)
        if job is None:
            return []
        event = event_of_change(before, after, job, world.pods(job))
        return self._serve(world, request_of_pod(after, event), now)

    def pod_deleted(self, world: World, pod: Pod, now: datetime) -> list[JobCommand]:
        """A pod is gone; if it did not start to terminate first, it was evicted this moment."""
        if not follows(pod):
            return []
        if pod.metadata.uid in self._evicted:
            self._evicted.discard(pod.metadata.uid)
            return self._serve(world, request_of_pod(pod, Event.OUT_OF_SYNC), now)
        return self._serve(world, request_of_pod(pod, Event.POD_EVICTED), now)

    def _evict(self, world: World, pod: Pod, now: datetime) -> list[JobCommand]:
        self._evicted.add(pod.metadata.uid)
        return self._serve(world, request_of_pod(pod, Event.POD_EVICTED), now)

    def pod_group_changed(
        self, world: World, before: PodGroup, after: PodGroup, now: datetime
    ) -> list[JobCommand]:
        """The scheduler moved a PodGroup to another phase."""
        job = _job_of(world, after)
        if job is None or before.status.phase == after.status.phase:
            return []
        return self._serve(world, request_of_pod_group(after, job), now)

    def pod_group_deleted(self, world: World, pod_group: PodGroup, now: datetime) -> list[JobCommand]:
        """A PodGroup is gone: a Job that still wants to run may take its name again."""
        job = _job_of(world, pod_group)
        if job is None:
            return []
        self._leaving_group_by_job.pop(job.key, None)
        return self._serve(world, request_of_job(job), now) if wants_to_run(job) else []

    def command(
        self, world: World, job_key: str, action: str, now: datetime, uid: str = ""
    ) -> list[JobCommand]:
        """A command for the Job; one that makes no sense is refused, and the refusal told."""
        job = world.job(job_key)
        if job is None:
            return []
        if refusal := refusal_of(job, action, uid):
            return [RecordEvent(job_key, "Warning", "CommandIssued", refusal)]
        taken = RecordEvent(job_key, "Normal", "CommandIssued", f'command "{action}" taken')
        return [taken, *self._serve(world, request_of_job(job, action), now)]

    def last_request(self, job_key: str) -> PolicyRequest | None:
        """What the commands given last for the Job answer."""
        return self._served_by_job.get(job_key)

    def failed(
        self, world: World, job_key: str, now: datetime, request: PolicyRequest | None = None
    ) -> list[JobCommand]:
        """The commands that answer the request, by default those given last, could not be carried out."""
        job, request = world.job(job_key), request or self._served_by_job.get(job_key)
        return self._try_again(world, job, request, now) if job is not None and request is not None else []

    def next_due(self) -> datetime | None:
        """When `fire` wants to be called, if nothing happens before."""
        return min((waiting.due for waiting in self._waiting()), default=None)

    def fire(self, world: World, now: datetime) -> list[JobCommand]:
        """Do the one thing that is due most; call again while `next_due` is not after now."""
        waiting = min(self._waiting(), key=lambda waiting: waiting.due, default=None)
        if waiting is None or waiting.due > now:
            return []
        match waiting:
            case Timer():
                return self._fire_timer(world, waiting, now)
            case Repeat():
                return self._repeat(world, waiting, now)
            case Expiry():
                return self._expire(world, waiting, now)

    def _waiting(self) -> Iterator[Timer | Repeat | Expiry]:
        yield from self._timers
        yield from self._budget
        yield from self._expiry_by_job.values()

    def _fire_timer(self, world: World, timer: Timer, now: datetime) -> list[JobCommand]:
        self._timers.remove(timer)
        job = world.job(timer.request.job)
        if job is None or is_over(timer, job, world):
            return []
        return [_start_of(job, timer.action), *self._execute(world, job, timer.action, timer.request, now)]

    def _repeat(self, world: World, repeat: Repeat, now: datetime) -> list[JobCommand]:
        self._budget.take(repeat)
        return self._serve(world, repeat.request, now)

    def _expire(self, world: World, expiry: Expiry, now: datetime) -> list[JobCommand]:
        del self._expiry_by_job[expiry.job]
        job = world.job(expiry.job)
        if job is None or job.metadata.uid != expiry.uid or job.metadata.deletion_timestamp is not None:
            return []
        due = expiry_of(job)
        return [DeleteJob(job.key, job.metadata.uid)] if due is not None and due <= now else []

    def _note_expiry(self, job: VolcanoJob) -> None:
        self._expiry_by_job.pop(job.key, None)
        due = expiry_of(job)
        if due is not None:
            self._expiry_by_job[job.key] = Expiry(due, job.key, job.metadata.uid)

    def _serve(self, world: World, request: PolicyRequest, now: datetime) -> list[JobCommand]:
        job = world.job(request.job)
        if job is None or job.metadata.deletion_timestamp is not None:
            return []
        self._timers.drop_pointless(request)
        answer = answer_to(job, request)
        if answer.delay > timedelta(0):
            return self._wait(job, Timer(now + answer.delay, answer.action, request), answer.delay)
        executed = self._execute(world, job, answer.action, request, now)
        return executed if answer.action == PolicyAction.SYNC else [_start_of(job, answer.action), *executed]

    def _wait(self, job: VolcanoJob, timer: Timer, delay: timedelta) -> list[JobCommand]:
        """Start the timer and do nothing else: a sync might end the Job before its policy had a say."""
        if not self._timers.start(timer):
            return []
        message = f'action "{timer.action}" will start after {write_duration(delay)}'
        return [RecordEvent(job.key, "Normal", "ExecuteAction", message)]

    def _execute(
        self, world: World, job: VolcanoJob, action: str, request: PolicyRequest, now: datetime
    ) -> list[JobCommand]:
        self._served_by_job[job.key] = request
        if action != PolicyAction.SYNC:
            self._timers.overtake(action, request)
        scene = scene_of(world, job, self._leaving_group_by_job.get(job.key, ""))
        options = self._options
        plan = plan_for(job, action, resume_is_retry=options.resume_is_retry)
        if plan.scope is PodScope.NONE:
            if obstacle := obstacle_to(world, job):
                return [obstacle, *self._try_again(world, job, request, now)]
            commands = sync(world, scene, plan.rule, now, requests_from_limits=options.requests_from_limits)
        else:
            targets = targets_of(scene, action if plan.scope is PodScope.TARGETS else "", request)
            zero = options.zero_counters_after_kill
            commands = kill(scene, plan, targets, now, zero_counters=zero)
        self._budget.served(request)
        self._note_leaving_group(scene, commands)
        return commands

    def _note_leaving_group(self, scene: Scene, commands: list[JobCommand]) -> None:
        """Remember the PodGroup until it is really gone: pods of the next run must not join it."""
        group = scene.pod_group
        if group is not None and group.metadata.uid and DeletePodGroup(group.key) in commands:
            self._leaving_group_by_job[scene.job.key] = group.metadata.uid

    def _try_again(
        self, world: World, job: VolcanoJob, request: PolicyRequest, now: datetime
    ) -> list[JobCommand]:
        """Wait and repeat; a Job that fails too often is terminated, although a cure may still come."""
        if self._budget.spend(request, now):
            return []
        given_up = RecordEvent(job.key, "Warning", "ExecuteAction", "retry limit reached: job is terminated")
        return [given_up, *self._execute(world, job, PolicyAction.TERMINATE, request, now)]


def _start_of(job: VolcanoJob, action: str) -> RecordEvent:
    return RecordEvent(job.key, "Normal", "ExecuteAction", f'start of action "{action}"')


def _job_of(world: World, pod_group: PodGroup) -> VolcanoJob | None:
    owner = job_owner(pod_group)
    if owner is None:
        return None
    job = world.job(f"{pod_group.metadata.namespace}/{owner.name}")
    return job if job is not None and job.metadata.uid == owner.uid else None


def wants_to_run(job: VolcanoJob) -> bool:
    phase = phase_of(job.status)
    return phase not in FINISHED and phase not in END_OF and phase != Phase.ABORTED


def refusal_of(job: VolcanoJob, action: str, uid: str) -> str:
    """Why a command cannot be taken, or nothing."""
    if uid and uid != job.metadata.uid:
        return f'command "{action}" is meant for the job of uid "{uid}", which is gone'
    if action in TARGETED:
        return f'command "{action}" names no target; restart the whole job with "{PolicyAction.RESTART}"'
    if action not in frozenset(PolicyAction):
        known = ", ".join(sorted(action for action in PolicyAction if action not in TARGETED))
        return f'no action "{action}"; known actions: {known}'
    return ""


def is_over(timer: Timer, job: VolcanoJob, world: World) -> bool:
    """Whether what the timer waited for has passed: another Job, or a pod that is pending no longer."""
    if timer.request.job_uid != job.metadata.uid or job.metadata.deletion_timestamp is not None:
        return True
    if timer.request.event is not Event.POD_PENDING:
        return False
    still_pending = (
        pod.metadata.uid == timer.request.pod_uid and pod.status.phase == "Pending" for pod in world.pods(job)
    )
    return not any(still_pending)
