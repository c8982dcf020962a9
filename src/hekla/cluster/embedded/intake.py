"""Intake: objects enter the cluster as an API server and its controllers would let them in.

Defaults are filled in, what must be refused is refused with a complaint, and the rest goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from hekla.cluster import volumes
from hekla.cluster.admission import (
    Problem,
    admitted_pod,
    admitted_queues,
    default_job,
    default_pod_group,
    made_up_uid,
    problems_of_hyper_node,
    problems_of_job,
    problems_of_pod,
    problems_of_pod_group,
    warnings_of_hyper_node,
    warnings_of_job,
)
from hekla.cluster.embedded.options import Options, read_seconds
from hekla.cluster.embedded.timeline import Arrival, Due, EventLog, Timeline, called
from hekla.cluster.store import Store
from hekla.controllers import pod_group_for
from hekla.errors import InputError
from hekla.objects import (
    HyperNode,
    Manifest,
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodGroup,
    PriorityClass,
    Queue,
    StorageClass,
    VolcanoJob,
)
from hekla.objects.complaint import Complaint
from hekla.objects.keys import ARRIVES_AT, GROUP_NAME
from hekla.objects.pod import PodStatus

MOST_REPLICAS = 100_000
"""Pods of one Job; more would fill the memory before the first of them is scheduled."""

_FIRST: tuple[type[Manifest], ...] = (Namespace, PriorityClass, StorageClass, PersistentVolume)
_LAST: tuple[type[Manifest], ...] = (PodGroup, VolcanoJob, Pod)

M = TypeVar("M", bound=Manifest)


class Intake:
    """Lets objects in; remembers every UID, so that no two objects share one."""

    def __init__(self, store: Store, timeline: Timeline[Due], log: EventLog, options: Options) -> None:
        self._store = store
        self._timeline = timeline
        self._log = log
        self._options = options
        self._key_by_uid: dict[tuple[type[Manifest], str], str] = {}

    def submit(self, objects: Iterable[Manifest]) -> None:
        """Take objects in now, or when they say that they arrive."""
        arrived = []
        for manifest in objects:
            due = self._arrival_of(manifest)
            if due > self._timeline.now:
                self._timeline.plan(due, Arrival(manifest))
            else:
                arrived.append(manifest)
        self.take(arrived)

    def _arrival_of(self, manifest: Manifest) -> float:
        text = manifest.metadata.annotations.get(ARRIVES_AT)
        if text is None:
            return self._timeline.now
        try:
            return self._timeline.start + read_seconds(text)
        except InputError as error:
            path = f'metadata.annotations["{ARRIVES_AT}"]'
            self._complain(manifest, f"{path}: {error}; it arrives at once")
            return self._timeline.now

    def take(self, objects: Iterable[Manifest]) -> None:
        """Let all in, those first that others refer to; creation times keep the order given."""
        # Given UIDs first: one made up for an earlier object must not take that of a later one.
        owning = [self._with_own_uid(manifest) for manifest in objects if self._is_new(manifest)]
        fresh = [self._stamped(manifest) for manifest in owning]
        for manifest in fresh:
            if isinstance(manifest, _FIRST):
                self._store.put(manifest)
        self._take_queues([manifest for manifest in fresh if isinstance(manifest, Queue)])
        for manifest in fresh:
            if not isinstance(manifest, (*_FIRST, *_LAST, Queue)):
                self._take_other(manifest)
        for kind in _LAST:
            for manifest in fresh:
                if isinstance(manifest, kind):
                    self._take_work(manifest)

    def _is_new(self, manifest: Manifest) -> bool:
        known = self._store.get(type(manifest), manifest.key)
        if known is not None:
            self._complain(manifest, "left out: an object of this kind and name exists already")
        return known is None

    def _take_queues(self, given: Sequence[Queue]) -> None:
        admitted = admitted_queues(given, self._store.queues(), is_strict=self._options.admission)
        for queue in admitted.queues:
            self._store.put(self._stamped(queue))
        for queue, message in admitted.refusals:
            self._complain(queue, message)

    def _take_other(self, manifest: Manifest) -> None:
        if isinstance(manifest, HyperNode):
            if self._is_refused(manifest, problems_of_hyper_node(manifest)):
                return
            self._warn(manifest, warnings_of_hyper_node(manifest))
        self._store.put(manifest)
        if isinstance(manifest, PersistentVolumeClaim):
            volumes.bind_at_once(self._store, manifest)

    def _take_work(self, manifest: Manifest) -> None:
        match manifest:
            case PodGroup():
                self.pod_group(manifest)
            case VolcanoJob():
                self._take_job(manifest)
            case Pod():
                self._take_pod(manifest)

    def _take_job(self, job: VolcanoJob) -> None:
        job = default_job(job, self._options.scheduler_names[0])
        replicas = sum(max(task.replicas, 0) for task in job.spec.tasks)
        if replicas > MOST_REPLICAS:
            limit = f'"{replicas}" replicas are too many; at most "{MOST_REPLICAS}" are taken'
            self._complain(job, f"left out: spec.tasks: {limit}")
        elif not self._is_refused(job, problems_of_job(job, self._store.queues())):
            self._warn(job, warnings_of_job(job))
            self._store.put(job)

    def _take_pod(self, pod: Pod) -> None:
        if self._is_refused(pod, problems_of_pod(pod, self._options.scheduler_names)):
            return
        if not pod.spec.scheduler_name and not pod.metadata.annotations.get(GROUP_NAME):
            served = self._options.scheduler_names[0]
            self._complain(
                pod, f'spec.schedulerName: names no scheduler; write "{served}" to have it scheduled'
            )
        self.pod(pod)

    def pod(self, pod: Pod) -> None:
        """Take in a pod that is known to be sound, with a PodGroup if it has none."""
        pod, problem = admitted_pod(self._stamped(pod), self._store.all_of(PriorityClass))
        if problem:
            self._complain(pod, problem)
        existing = self._store.by_key(PodGroup)
        group, pod = pod_group_for(pod, existing, scheduler_names=self._options.scheduler_names)
        if group is not None:
            self.pod_group(group)
        self._store.put(pod)

    def again(self, pod: Pod) -> None:
        """A pod that was evicted comes back: same name, new UID, pending."""
        meta = replace(
            pod.metadata,
            uid="",
            creation_timestamp=None,
            deletion_timestamp=None,
            deletion_grace_period_seconds=None,
        )
        spec = replace(pod.spec, node_name="")
        self._store.put(self._stamped(replace(pod, metadata=meta, spec=spec, status=PodStatus())))

    def pod_group(self, pod_group: PodGroup) -> None:
        """Take in a PodGroup.

        One in a queue that is missing or closed comes in all the same: its pods wait, and the
        queue may still come.
        """
        pod_group = default_pod_group(self._stamped(pod_group), self._store.by_key(Namespace))
        problems = problems_of_pod_group(pod_group, self._store.queues())
        if not self._is_refused(pod_group, [each for each in problems if each.path != "spec.queue"]):
            self._store.put(pod_group)

    def claim(self, claim: PersistentVolumeClaim) -> None:
        self._take_other(self._stamped(claim))

    def _is_refused(self, manifest: Manifest, problems: Iterable[Problem]) -> bool:
        if not self._options.admission:
            return False
        found = [f"left out: {problem}" for problem in problems]
        for message in found:
            self._complain(manifest, message)
        return bool(found)

    def _warn(self, manifest: Manifest, warnings: Iterable[Problem]) -> None:
        for warning in warnings:
            self._complain(manifest, str(warning))

    def _complain(self, manifest: Manifest, message: str) -> None:
        self._log.complain(Complaint(called(manifest), message))

    def _stamped(self, manifest: M) -> M:
        """The object with the UID and the creation time that it lacks."""
        meta = manifest.metadata
        if meta.uid and meta.creation_timestamp is not None:
            return manifest
        stamped = replace(
            meta,
            uid=meta.uid or self._new_uid(manifest),
            creation_timestamp=meta.creation_timestamp or self._timeline.stamp(),
        )
        return replace(manifest, metadata=stamped)

    def _new_uid(self, manifest: Manifest) -> str:
        """A UID made from the name: the same in every run, and never the same twice in one."""
        uid = base = made_up_uid(manifest)
        number = 1
        while (type(manifest), uid) in self._key_by_uid:
            number += 1
            uid = f"{base}~{number}"
        self._key_by_uid[type(manifest), uid] = manifest.key
        return uid

    def _with_own_uid(self, manifest: M) -> M:
        """The object as it is, unless it claims the UID of another one of its kind."""
        uid = manifest.metadata.uid
        if not uid:
            return manifest
        owner = self._key_by_uid.setdefault((type(manifest), uid), manifest.key)
        if owner == manifest.key:
            return manifest
        self._complain(manifest, f'metadata.uid: "{uid}" belongs to {owner}; it gets one of its own')
        return replace(manifest, metadata=replace(manifest.metadata, uid=""))
