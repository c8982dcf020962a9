"""Reactions: changes of the store go to the controllers, and their commands back into the store.

What a command changes is told before anything else that happened, as the controllers ask for.
A Job without policies answers every event with a sync, so only the last of its pods' changes is
told: a gang of thousands would otherwise be counted thousands of times.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from hekla.cluster.embedded.commands import Commands
from hekla.cluster.embedded.kubelet import is_terminating
from hekla.cluster.embedded.timeline import Timeline
from hekla.cluster.store import Store
from hekla.controllers import Command, JobController, close_queue, open_queue, sync_queue
from hekla.controllers.requests import follows, job_owner
from hekla.objects import Manifest, Pod, PodGroup, Queue, VolcanoJob


@dataclass(frozen=True)
class Change:
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


class Reactions:
    """Drives the controllers of Jobs and queues."""

    def __init__(
        self,
        store: Store,
        timeline: Timeline,
        commands: Commands,
        controller: JobController,
    ) -> None:
        self._store = store
        self._timeline = timeline
        self._commands = commands
        self._controller = controller
        self._waiting: deque[Change] = deque()
        self._merged: dict[str, Change] = {}
        self._fresh: list[Change] = []
        self._groups_by_queue: Counter[str] = Counter()

    def heed(self, before: Manifest | None, after: Manifest | None) -> None:
        change = Change(before, after)
        subject = change.subject
        if isinstance(subject, PodGroup):
            self._count_group(before, after)
        if not is_news(change):
            return
        job = self._job_of(subject)
        if job is None or has_policies(job) or change.is_end_of_group:
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
        if isinstance(after, PodGroup):
            self._groups_by_queue[after.spec.queue] += 1

    def drain(self) -> None:
        """Let the controllers answer until nothing is left to say."""
        self._waiting.extend(self._fresh)
        self._fresh.clear()
        while self._waiting or self._merged:
            self._commands.carry_out(self._answers(self._next()))
            self._waiting.extendleft(reversed(self._fresh))
            self._fresh.clear()

    def _next(self) -> Change:
        if self._waiting:
            return self._waiting.popleft()
        return self._merged.pop(next(iter(self._merged)))

    def _answers(self, change: Change) -> Iterable[Command]:
        now, world, controller = self._timeline.moment, self._store, self._controller
        match change.before, change.after:
            case None, Pod() as pod:
                return controller.pod_added(world, pod, now)
            case Pod() as pod, None:
                return controller.pod_deleted(world, pod, now)
            case Pod() as before, Pod() as after:
                return controller.pod_changed(world, before, after, now)
            case VolcanoJob() as job, None:
                controller.job_deleted(job)
                return ()
            case (None | VolcanoJob()) as earlier, VolcanoJob() as job:
                return controller.job_changed(world, earlier, job, now)
            case PodGroup() as group, None:
                return [
                    *controller.pod_group_deleted(world, group, now),
                    *self._settle_queue(group.spec.queue),
                ]
            case PodGroup() as before, PodGroup() as after:
                return controller.pod_group_changed(world, before, after, now)
            case None, Queue() as queue:
                return sync_queue(queue.metadata.name, world.queues(), self._groups_by_queue)
        return ()

    def _settle_queue(self, name: str) -> Iterable[Command]:
        """A queue that is closing may be empty now."""
        queue = self._store.queue(name)
        if queue is None or queue.status.state != "Closing":
            return ()
        return sync_queue(name, self._store.queues(), self._groups_by_queue)

    def command_job(self, key: str, action: str) -> None:
        self._commands.carry_out(self._controller.command(self._store, key, action, self._timeline.moment))
        self.drain()

    def close_queue(self, name: str) -> None:
        self._commands.carry_out(close_queue(name, self._store.queues(), self._groups_by_queue))
        self.drain()

    def open_queue(self, name: str) -> None:
        self._commands.carry_out(open_queue(name, self._store.queues(), self._groups_by_queue))
        self.drain()

    def next_due(self) -> datetime | None:
        """When a timer of the job controller runs out."""
        return self._controller.next_due()

    def fire(self, due: datetime) -> None:
        """Do what the job controller has waited for; `due` is what it asked for."""
        self._commands.carry_out(self._controller.fire(self._store, max(due, self._timeline.moment)))
        self.drain()


def is_news(change: Change) -> bool:
    """Whether a controller has anything to do with the change."""
    before, after = change.before, change.after
    match change.subject:
        case Pod() as pod:
            return follows(pod) and (
                not isinstance(before, Pod)
                or not isinstance(after, Pod)
                or before.status.phase != after.status.phase
                or is_terminating(before) != is_terminating(after)
            )
        case PodGroup():
            return isinstance(before, PodGroup) and (
                not isinstance(after, PodGroup) or before.status.phase != after.status.phase
            )
        case VolcanoJob():
            return True
        case Queue():
            return before is None
    return False


def has_policies(job: VolcanoJob) -> bool:
    return bool(job.spec.policies) or any(task.policies for task in job.spec.tasks)
