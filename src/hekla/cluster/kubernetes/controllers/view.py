"""View: what the controllers see: the facts, with everything laid over them that was sent and not seen yet.

The controllers ask that every command is carried out before the next event. A write takes its time; so its
outcome is shown at once, and taken back should it fail. What was asked for and is not there has no UID.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from hekla.cluster.kubernetes.assumptions import LONG_AGO
from hekla.cluster.kubernetes.controllers.admission import ReadAdmission
from hekla.cluster.store import Store
from hekla.controllers.requests import follows
from hekla.objects import (
    Manifest,
    PersistentVolumeClaim,
    Pod,
    PodGroup,
    PriorityClass,
    Queue,
    VolcanoJob,
)
from hekla.objects.batch import JobStatus
from hekla.objects.keys import CLOSED_BY_PARENT, DEFAULT_QUEUE, OUT_OF_SYNC
from hekla.objects.scheduling import PodGroupSpec

M = TypeVar("M", bound=Manifest)
Place = tuple[type[Manifest], str]

SHOWN: tuple[type[Manifest], ...] = (
    PriorityClass,
    Queue,
    PersistentVolumeClaim,
    VolcanoJob,
    PodGroup,
    Pod,
)
"""The kinds that controllers look at, in the order in which a new view is filled: Jobs before their pods."""


class ControllerView:
    """`store` is what the controllers are shown; the methods say what is expected, and what is no longer."""

    def __init__(self, facts: Store, admission: ReadAdmission) -> None:
        self.store = Store()
        self.facts = facts
        self._admission = admission
        self._asked_for: dict[Place, Manifest] = {}
        self._leaving: dict[Place, str] = {}
        self._status_by_job: dict[str, JobStatus] = {}
        self._spec_by_group: dict[str, PodGroupSpec] = {}
        self._queues: dict[str, Queue] = {}

    def places(self) -> list[Place]:
        """Where there is something to be shown, in the order in which a new view is filled."""
        return [(kind, key) for kind in SHOWN for key in self.facts.by_key(kind)]

    def show(self, kind: type[Manifest], key: str) -> None:
        """Bring the store up to date for one object."""
        known, view = self.store.get(kind, key), self._view(kind, key)
        if known is not None and (view is None or _is_another(known, view)):
            self.store.remove(known)
        if view is not None:
            self.store.put(view)

    def _view(self, kind: type[Manifest], key: str) -> Manifest | None:
        fact = self.facts.get(kind, key)
        if fact is None:
            self._forget(kind, key)
            return self._marked(self._asked_for.get((kind, key)))
        match fact:
            case Pod():
                return self._marked(fact) if follows(fact) else None
            case PodGroup():
                spec = self._spec_by_group.get(key, fact.spec)
                return self._marked(replace(fact, spec=replace(spec, queue=spec.queue or DEFAULT_QUEUE)))
            case VolcanoJob():
                job = self._admission.job(fact)
                return None if job is None else self._marked(self._with_status(job))
            case Queue():
                queue = self._admission.queue(fact)
                return None if queue is None else self._with_state(queue)
        return fact

    def _forget(self, kind: type[Manifest], key: str) -> None:
        """The object is gone, or not there yet; what was expected of an earlier one is void."""
        if (kind, key) not in self._asked_for:
            self._leaving.pop((kind, key), None)
        if kind is VolcanoJob:
            self._status_by_job.pop(key, None)
            self._admission.forget_job(key)
        elif kind is PodGroup:
            self._spec_by_group.pop(key, None)
        elif kind is Queue:
            self._queues.pop(key, None)
            self._admission.forget_queue(key)

    def _marked(self, manifest: M | None) -> M | None:
        """The object with a time of deletion, if it was told to go."""
        if manifest is None:
            return None
        uid = self._leaving.get((type(manifest), manifest.key))
        if uid is None or uid not in ("", manifest.metadata.uid):
            return manifest
        meta = manifest.metadata
        if meta.deletion_timestamp is None:
            meta = replace(meta, deletion_timestamp=LONG_AGO)
        if isinstance(manifest, Pod):
            meta = replace(meta, annotations=meta.annotations | {OUT_OF_SYNC: "true"})
        return replace(manifest, metadata=meta)

    def _with_status(self, job: VolcanoJob) -> VolcanoJob:
        status = self._status_by_job.get(job.key)
        return job if status is None else replace(job, status=status)

    def _with_state(self, queue: Queue) -> Queue:
        wanted = self._queues.get(queue.key)
        if wanted is None:
            return queue
        mark = wanted.metadata.annotations.get(CLOSED_BY_PARENT)
        annotations = queue.metadata.annotations | ({} if mark is None else {CLOSED_BY_PARENT: mark})
        return replace(
            queue,
            metadata=replace(queue.metadata, annotations=annotations),
            spec=replace(queue.spec, parent=wanted.spec.parent),
            status=replace(queue.status, state=wanted.status.state),
        )

    # What is expected

    def ask_for(self, manifest: Manifest) -> None:
        """The object is to be made."""
        meta = replace(manifest.metadata, uid="", resource_version="")
        self._asked_for[type(manifest), manifest.key] = replace(manifest, metadata=meta)
        self.show(type(manifest), manifest.key)

    def is_unwanted(self, kind: type[Manifest], key: str) -> bool:
        """Whether the object that is to be made has been told to go already."""
        return self._leaving.get((kind, key)) == ""

    def has_come(self, kind: type[Manifest], key: str) -> str | None:
        """The object was made, or never will be; the UID of one that has to go again at once."""
        self._asked_for.pop((kind, key), None)
        fact = self.facts.get(kind, key)
        if fact is not None and self._leaving.get((kind, key)) == "":
            self._leaving[kind, key] = fact.metadata.uid
            self.show(kind, key)
            return fact.metadata.uid
        self.show(kind, key)
        return None

    def send_away(self, kind: type[Manifest], key: str, uid: str) -> None:
        """The object of this UID is to be deleted; without a UID the one that is asked for."""
        self._leaving[kind, key] = uid
        self.show(kind, key)

    def keep(self, kind: type[Manifest], key: str) -> None:
        """The object could not be deleted after all."""
        self._leaving.pop((kind, key), None)
        self.show(kind, key)

    def status_of(self, job: str) -> JobStatus | None:
        """The status that is to be written, if there is one."""
        return self._status_by_job.get(job)

    def expect_status(self, job: str, status: JobStatus | None) -> None:
        if status is None:
            self._status_by_job.pop(job, None)
        else:
            self._status_by_job[job] = status
        self.show(VolcanoJob, job)

    def group_spec_of(self, key: str) -> PodGroupSpec | None:
        return self._spec_by_group.get(key)

    def expect_group(self, key: str, spec: PodGroupSpec | None) -> None:
        if spec is None:
            self._spec_by_group.pop(key, None)
        else:
            self._spec_by_group[key] = spec
        self.show(PodGroup, key)

    def queue_of(self, name: str) -> Queue | None:
        return self._queues.get(name)

    def expect_queue(self, name: str, queue: Queue | None) -> None:
        if queue is None:
            self._queues.pop(name, None)
        else:
            self._queues[name] = queue
        self.show(Queue, name)


def _is_another(known: Manifest, view: Manifest) -> bool:
    """Whether an object was replaced by one of the same name; one that was asked for became real."""
    return bool(known.metadata.uid) and known.metadata.uid != view.metadata.uid
