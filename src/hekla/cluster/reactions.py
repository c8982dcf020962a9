"""Reactions: changes of the store go to the controllers, and their commands to an executor.

What a command changes is told before anything else that happened, as the controllers ask for. What has no
UID yet has been asked for and is not there: it counts, but nothing happens to it. What no policy of
a Job answers leads to a sync, so only the last of such changes is told: a gang of thousands would otherwise
be counted thousands of times.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Protocol

import msgspec
from msgspec.structs import replace

from hekla.cluster.store import Store
from hekla.controllers import Command, JobController, close_queue, open_queue, sync_queue
from hekla.controllers.policy import Event, PolicyRequest, events_of
from hekla.controllers.requests import follows, job_owner
from hekla.controllers.world import is_marked, is_terminating
from hekla.objects import Manifest, Pod, PodGroup, Queue, VolcanoCommand, VolcanoJob
from hekla.objects.scheduling import PodGroupStatus

QUEUE_ACTIONS = {"OpenQueue": open_queue, "CloseQueue": close_queue}
"""What queues can be ordered to do; anything else has them looked at."""


class ObjectChange(msgspec.Struct, frozen=True):
    """What an object was, and what it is."""

    before: Manifest | None
    after: Manifest | None

    @property
    def subject(self) -> Manifest:
        subject = self.after or self.before
        assert subject is not None
        return subject

    @property
    def is_end_of_group(self) -> bool:
        """A PodGroup is gone, which its Job waits for under that name."""
        return isinstance(self.before, PodGroup) and self.after is None


class CommandExecutor(Protocol):
    """Does what a controller wants done, so that the store shows it at once."""

    def carry_out(self, commands: Iterable[Command]) -> None: ...


class Reactions:
    """Drives the controllers of Jobs and queues; `now` tells the time."""

    def __init__(
        self, store: Store, executor: CommandExecutor, controller: JobController, now: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._executor = executor
        self._controller = controller
        self._now = now
        self._waiting: deque[ObjectChange] = deque()
        self._merged: dict[str, ObjectChange] = {}
        self._fresh: list[ObjectChange] = []
        self._groups_by_queue: Counter[str] = Counter()
        self._is_deaf = False

    def heed(self, before: Manifest | None, after: Manifest | None) -> None:
        if isinstance(before or after, PodGroup):
            self._count_group(before, after)
        before, after = made(before), made(after)
        if self._is_deaf or (before is None and after is None):
            return
        change = ObjectChange(before, after)
        if is_news(change):
            self._note(change)

    def _note(self, change: ObjectChange) -> None:
        subject = change.subject
        job = self._job_of(subject)
        if job is None or change.is_end_of_group or is_answered(change, job):
            self._fresh.append(change)
        else:
            # Taken out first: the newest change waits at the end.
            self._merged.pop(job.key, None)
            self._merged[job.key] = change

    def _job_of(self, manifest: Manifest) -> VolcanoJob | None:
        """The Job that looks after a pod or a PodGroup."""
        owner = job_owner(manifest)
        return self._store.job(f"{manifest.metadata.namespace}/{owner.name}") if owner else None

    def _count_group(self, before: Manifest | None, after: Manifest | None) -> None:
        if isinstance(before, PodGroup):
            self._groups_by_queue[before.spec.queue] -= 1
            if not self._groups_by_queue[before.spec.queue]:
                del self._groups_by_queue[before.spec.queue]
        if isinstance(after, PodGroup):
            self._groups_by_queue[after.spec.queue] += 1

    def drain(self, most: int | None = None) -> bool:
        """Let the controllers answer until nothing is left to say, or so often; whether something is left."""
        self._waiting.extend(self._fresh)
        self._fresh.clear()
        answered = 0
        while (self._waiting or self._merged) and answered != most:
            self._executor.carry_out(self._answers(self._next()))
            self._waiting.extendleft(reversed(self._fresh))
            self._fresh.clear()
            answered += 1
        return bool(self._waiting or self._merged)

    def _next(self) -> ObjectChange:
        if self._waiting:
            return self._waiting.popleft()
        return self._merged.pop(next(iter(self._merged)))

    def _answers(self, change: ObjectChange) -> Iterable[Command]:
        match change.before, change.after:
            case (Pod(), _) | (_, Pod()):
                return self._answers_to_pod(change)
            case (PodGroup(), _) | (_, PodGroup()):
                return self._answers_to_group(change)
            case VolcanoJob() as job, None:
                self._controller.job_deleted(job)
                return ()
            case (None | VolcanoJob()) as earlier, VolcanoJob() as job:
                return self._controller.job_changed(self._store, earlier, job, self._now())
            case ((None | Queue()), Queue() as queue):
                return sync_queue(queue.metadata.name, self._store.queues(), self._groups_by_queue)
            case None, VolcanoCommand() as command:
                return self._answers_to_command(command)
        return ()

    def _answers_to_pod(self, change: ObjectChange) -> Iterable[Command]:
        now, world, controller = self._now(), self._store, self._controller
        match change.before, change.after:
            case None, Pod() as pod:
                return controller.pod_added(world, pod, now)
            case Pod() as pod, None:
                return controller.pod_deleted(world, pod, now)
            case Pod() as before, Pod() as after:
                return controller.pod_changed(world, before, after, now)
        return ()

    def _answers_to_group(self, change: ObjectChange) -> Iterable[Command]:
        now, world, controller = self._now(), self._store, self._controller
        match change.before, change.after:
            case None, PodGroup() as group:
                blank = replace(group, status=PodGroupStatus())
                return controller.pod_group_changed(world, blank, group, now)
            case PodGroup() as group, None:
                deleted = controller.pod_group_deleted(world, group, now)
                return [*deleted, *self._settle_queue(group.spec.queue)]
            case PodGroup() as before, PodGroup() as after:
                return controller.pod_group_changed(world, before, after, now)
        return ()

    def _answers_to_command(self, command: VolcanoCommand) -> Iterable[Command]:
        """Carry out an object of kind Command, once."""
        self._store.remove(command)
        target, queues, groups = command.target, self._store.queues(), self._groups_by_queue
        match target.api_version.partition("/")[0], target.kind:
            case "batch.volcano.sh", "Job":
                key = f"{command.metadata.namespace}/{target.name}"
                return self._controller.command(self._store, key, command.action, self._now(), target.uid)
            case "scheduling.volcano.sh", "Queue" if target.name in queues:
                turn = QUEUE_ACTIONS.get(command.action, sync_queue)
                return turn(target.name, queues, groups)
        return ()

    def _settle_queue(self, name: str) -> Iterable[Command]:
        """A queue that is closing may be empty now."""
        queue = self._store.queue(name)
        if queue is None or queue.status.state != "Closing":
            return ()
        return sync_queue(name, self._store.queues(), self._groups_by_queue)

    def command_job(self, key: str, action: str, uid: str = "") -> None:
        self._executor.carry_out(self._controller.command(self._store, key, action, self._now(), uid))
        self.drain()

    def look_again(self, job: VolcanoJob) -> None:
        """Have the Job looked at as if it were new."""
        self._fresh.append(ObjectChange(None, job))

    def failed(self, key: str, request: PolicyRequest, undo: Callable[[], None]) -> None:
        """What the Job's request led to could not be done; `undo` takes it back, which is no news."""
        self.give_up(undo)
        self._executor.carry_out(self._controller.failed(self._store, key, self._now(), request))
        self.drain()

    def give_up(self, undo: Callable[[], None]) -> None:
        """What could not be done is taken back, and not tried again."""
        self._is_deaf = True
        undo()
        self._is_deaf = False

    def close_queue(self, name: str) -> None:
        self._executor.carry_out(close_queue(name, self._store.queues(), self._groups_by_queue))
        self.drain()

    def open_queue(self, name: str) -> None:
        self._executor.carry_out(open_queue(name, self._store.queues(), self._groups_by_queue))
        self.drain()

    def next_due(self) -> datetime | None:
        """When a timer of the job controller runs out."""
        return self._controller.next_due()

    def fire(self, due: datetime) -> None:
        """Do what the job controller has waited for; `due` is what it asked for."""
        self._executor.carry_out(self._controller.fire(self._store, max(due, self._now())))
        self.drain()


def is_news(change: ObjectChange) -> bool:
    """Whether a controller has anything to do with the change."""
    before, after = change.before, change.after
    match change.subject:
        case Pod() as pod:
            return follows(pod) and (
                not isinstance(before, Pod)
                or not isinstance(after, Pod)
                or signs_of(before) != signs_of(after)
            )
        case PodGroup():
            return _phase_of(before) != _phase_of(after) or after is None
        case VolcanoJob():
            return True
        case VolcanoCommand():
            return before is None
        case Queue() as queue:
            return after is not None and (
                not isinstance(before, Queue) or before.spec.parent != queue.spec.parent
            )
    return False


def signs_of(pod: Pod) -> tuple[object, ...]:
    """What a Job looks at: dependent tasks wait for readiness, and restarts in place may be too many."""
    containers = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    progress = [(each.ready, each.restart_count) for each in containers]
    return pod.status.phase, is_terminating(pod), progress


def _phase_of(group: Manifest | None) -> str:
    return group.status.phase if isinstance(group, PodGroup) else ""


def made(manifest: Manifest | None) -> Manifest | None:
    """The object, if it has been made: only then it has a UID."""
    return manifest if manifest is not None and manifest.metadata.uid else None


def is_answered(change: ObjectChange, job: VolcanoJob) -> bool:
    """Whether a policy of the Job may answer the change; its own deletions are answered by none."""
    policies = [*job.spec.policies, *(policy for task in job.spec.tasks for policy in task.policies)]
    subject = change.subject
    if not policies or (isinstance(subject, Pod) and is_marked(subject)):
        return False
    event = _event_of(change)
    if event is Event.POD_RUNNING:
        # No policy is about it, but it ends the wait of those that have a timeout.
        return any(policy.timeout for policy in policies)
    return any(
        event in events_of(policy)
        or Event.ANY in events_of(policy)
        or (policy.exit_code is not None and event is Event.POD_FAILED)
        for policy in policies
    )


def _event_of(change: ObjectChange) -> Event:
    """What the change is called, if it is called anything."""
    match change.before, change.after:
        case (_, PodGroup() as group):
            return Event.UNKNOWN if group.status.phase == "Unknown" else Event.OUT_OF_SYNC
        case None, Pod():
            return Event.POD_PENDING
        case Pod() as before, Pod() as after if not is_terminating(after):
            if before.status.phase == after.status.phase:
                return Event.TASK_FAILED
            return _EVENT_BY_PHASE.get(after.status.phase, Event.OUT_OF_SYNC)
        case Pod(), _:
            return Event.POD_EVICTED
    return Event.OUT_OF_SYNC


_EVENT_BY_PHASE = {
    "Pending": Event.POD_PENDING,
    "Running": Event.POD_RUNNING,
    "Failed": Event.POD_FAILED,
    "Succeeded": Event.TASK_COMPLETED,
}
