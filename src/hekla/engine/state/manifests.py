"""Manifests: the latest of every object, in order of arrival, and the jobs, tasks and so on they describe.

What cannot be read is left out, with a complaint that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import groupby
from typing import TypeVar, cast

from hekla.engine.model.job import Job, job_of
from hekla.engine.model.node import NodeInfo, node_of
from hekla.engine.model.queue import QueueInfo, queue_of
from hekla.engine.model.requests import STORAGE, VolumeRequests, has_claims
from hekla.engine.model.task import Task, moved_on, task_of, twin_of
from hekla.engine.state.index import JobIndex
from hekla.errors import said_by
from hekla.objects import CSINode, Manifest, Node, Pod, PodGroup, PriorityClass, Queue
from hekla.objects.complaint import Complaint, known_ones

M = TypeVar("M", bound=Manifest)
Model = TypeVar("Model")
Changes = dict[str, Manifest | None]
"""By key what an object is now; None where it is gone."""
Noted = Mapping[type[Manifest], Changes]


class Manifests:
    """An object that is gone and comes again stands last, be it under its old UID."""

    def __init__(self) -> None:
        self.by_kind: dict[type[Manifest], dict[str, Manifest]] = {}
        self.number_of: dict[type[Manifest], dict[str, int]] = {}
        """By kind and key the place in the order of arrival."""
        self._arrived = 0
        self._noted: list[dict[type[Manifest], Changes]] = [{}]
        """In order; only where a UID is gone and comes again, one step of it cannot hold both."""

    def find(self, kind: type[M], key: str) -> M | None:
        """The latest manifest of this kind and key."""
        return cast("M | None", self.by_kind.get(kind, {}).get(key))

    def all_of(self, kind: type[M]) -> Mapping[str, M]:
        return cast("Mapping[str, M]", self.by_kind.get(kind, {}))

    @property
    def noted(self) -> int:
        """How many changes wait."""
        return sum([len(changes) for step in self._noted for changes in step.values()])

    def note(self, manifests: Iterable[Manifest]) -> None:
        """The objects are new, or look like this now."""
        for kind, alike in groupby(manifests, key=type):
            changes = self._noted[-1].setdefault(kind, {})
            for manifest in alike:
                key = manifest.key
                if key in changes:
                    before = changes[key]
                    if before is None or before.metadata.uid != manifest.metadata.uid:
                        changes = self._make_room_for(manifest)
                changes[key] = manifest

    def _make_room_for(self, manifest: Manifest) -> Changes:
        """For an object that is gone and comes again, a place after all that came before."""
        kind, key, uid = type(manifest), manifest.key, manifest.metadata.uid
        changes = self._noted[-1][kind]
        del changes[key]
        known = [self.by_kind.get(kind, {}).get(key)]
        known += [step[kind].get(key) for step in self._noted[:-1] if kind in step]
        if any(one is not None and one.metadata.uid == uid for one in known):
            changes[key] = None
            self._noted.append({kind: {}})
        return self._noted[-1][kind]

    def lose(self, kind: type[Manifest], keys: Iterable[str]) -> None:
        """Objects of one kind are gone; one that comes later under the name of one stands last."""
        changes = self._noted[-1].setdefault(kind, {})
        for key in keys:
            changes.pop(key, None)
            changes[key] = None

    def take(self) -> Iterator[Noted]:
        """Step by step what was noted, once each has become part of what is known."""
        steps, self._noted = self._noted, [{}]
        for noted in steps:
            for kind, changes in noted.items():
                self._file(kind, changes)
            yield noted

    def _file(self, kind: type[Manifest], changes: Changes) -> None:
        known = self.by_kind.setdefault(kind, {})
        numbers = self.number_of.setdefault(kind, {})
        for key, manifest in changes.items():
            before = known.get(key)
            if before is not None and (manifest is None or manifest.metadata.uid != before.metadata.uid):
                del known[key], numbers[key]
                before = None
            if manifest is not None:
                known[key] = manifest
                if before is None:
                    self._arrived += 1
                    numbers[key] = self._arrived


class Reader:
    """Reads what has changed; jobs and tasks of which little is new are made from those in the index."""

    def __init__(
        self, manifests: Manifests, index: JobIndex, default_queue: str, ignored_provisioners: Collection[str]
    ) -> None:
        self.faults: dict[tuple[type[Manifest], str], Complaint] = {}
        self._manifests = manifests
        self._index = index
        self._default_queue = default_queue
        self._volumes = VolumeRequests(manifests.find, ignored_provisioners)
        self._value_of_class: dict[str, int] = {}
        self._usual_priority = 0
        self._newest: Task | None = None
        """The first task of the template that was read last."""

    def read(
        self, kind: type[M], changes: Mapping[str, Manifest | None], read: Callable[[str, M], Model]
    ) -> dict[str, Model | None]:
        """The changed objects of a kind as the engine knows them; None where gone, or where unusable."""
        found: dict[str, Model | None] = {}
        for key, manifest in changes.items():
            if self.faults:
                self.faults.pop((kind, key), None)
            found[key] = None
            if isinstance(manifest, kind):
                try:
                    found[key] = read(key, manifest)
                except Exception as error:
                    # Whatever is wrong with one object, the others are read.
                    self.complain(kind, key, f"left out: {said_by(error)}")
        return found

    def complain(self, kind: type[Manifest], key: str, message: str) -> None:
        self.faults[kind, key] = Complaint(f"{kind.__name__.lower()} {key}", message)

    # Nodes

    def nodes(self, noted: Noted) -> dict[str, NodeInfo | None]:
        """Nodes that are new, different or gone, and those whose drivers are."""
        if Node not in noted and CSINode not in noted:
            return {}
        known = self._manifests.all_of(Node)
        limited = {name: known[name] for name in noted.get(CSINode, {}) if name in known}
        nodes = self.read(Node, {**noted.get(Node, {}), **limited}, self._node_of)
        for name, node in nodes.items():
            if node is not None and not node.reported:
                self.complain(Node, name, "status.allocatable: missing; nothing can be placed there")
        return nodes

    def _node_of(self, name: str, manifest: Node) -> NodeInfo:
        return node_of(manifest, self._manifests.find(CSINode, name))

    # Queues and jobs

    def queues(self, noted: Noted) -> dict[str, QueueInfo | None]:
        return self.read(Queue, noted[Queue], lambda _, queue: queue_of(queue)) if Queue in noted else {}

    def jobs(self, changes: Changes) -> dict[str, Job | None]:
        return self.read(PodGroup, changes, self._job_of)

    def jobs_again(self, queues: Collection[str]) -> dict[str, Job | None]:
        """The jobs that ask for one of these queues, and those left out before."""
        asking = [job.uid for job in self._index.jobs.values() if job.queue in queues]
        left_out = [key for kind, key in self.faults if kind is PodGroup]
        groups = self._manifests.all_of(PodGroup)
        return self.jobs({key: groups[key] for key in (*asking, *left_out) if key in groups})

    def has_queue(self, job: Job, queues: Mapping[str, QueueInfo]) -> bool:
        if job.queue in queues:
            return True
        known = known_ones(job.queue, queues, "queues")
        message = f'spec.queue: asks for queue "{job.queue}", which does not exist{known}'
        self.complain(PodGroup, job.uid, message)
        return False

    def _job_of(self, key: str, group: PodGroup) -> Job:
        number = self._manifests.number_of[PodGroup][key]
        known = self._index.job(key)
        if known is not None and known.number == number and known.says_the_same_as(group):
            known.pod_group, known.phase = group, group.status.phase
            return known
        job = job_of(group, self._priority_of(group), self._default_queue)
        job.number = number
        return job

    def learn_priorities(self) -> Iterable[Job]:
        """Priority classes have changed; the jobs that have another priority now."""
        classes = self._manifests.all_of(PriorityClass).values()
        self._value_of_class = {one.metadata.name: one.value for one in classes}
        self._usual_priority = next((one.value for one in classes if one.global_default), 0)
        for job in self._index.jobs.values():
            priority = self._priority_of(job.pod_group)
            if priority != job.priority:
                job.priority = priority
                yield job

    def _priority_of(self, group: PodGroup) -> int:
        return self._value_of_class.get(group.spec.priority_class_name, self._usual_priority)

    # Tasks

    def tasks(self, noted: Noted, followed: Collection[str]) -> dict[str, Task | None]:
        """Tasks of pods, but for those followed, that are new, different or gone, or whose storage is."""
        pods = {key: pod for key, pod in noted.get(Pod, {}).items() if key not in followed}
        known = self._manifests.all_of(Pod)
        for kind in STORAGE:
            if kind in noted:
                pods.update(
                    (key, known[key]) for key in self._volumes.pods_of(kind, noted[kind]) if key in known
                )
        tasks = self.read(Pod, pods, self._task_of)
        self._volumes.forget([key for key, task in tasks.items() if task is None])
        return tasks

    def _task_of(self, key: str, pod: Pod) -> Task:
        known, newest = self._index.tasks.by_key.get(key), self._newest
        # Mostly pods come with their like.
        task = twin_of(newest, pod) if known is None and newest is not None else None
        if task is None:
            task = self._read_by_itself(pod, known)
        task.number = self._manifests.number_of[Pod][key]
        return task

    def _read_by_itself(self, pod: Pod, known: Task | None) -> Task:
        """A pod that is known has mostly got a node or another status, so that there is little to read."""
        if has_claims(pod):
            return task_of(pod, self._volumes.request_of(pod))
        if known is not None:
            return moved_on(known, pod) or task_of(pod)
        self._newest = task_of(pod)
        return self._newest
