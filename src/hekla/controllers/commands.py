"""What a controller wants done: plain values, carried out in the order given.

The caller that carries them out assigns UIDs and times, and tells the controller of every change that follows
before it hands over the next event.
"""

from __future__ import annotations

import msgspec

from hekla.objects import PersistentVolumeClaim, Pod, PodGroup, Queue
from hekla.objects.batch import JobStatus


class CreatePod(msgspec.Struct, frozen=True):
    """Make the pod; a pod of that name that exists already is left alone."""

    pod: Pod


class DeletePod(msgspec.Struct, frozen=True):
    """Delete the pod if it still has this UID, marked first as out of sync so that no policy answers."""

    key: str
    uid: str
    out_of_sync: bool = True


class PutPodGroup(msgspec.Struct, frozen=True):
    """Make the PodGroup, or write it over the one of that name."""

    pod_group: PodGroup


class DeletePodGroup(msgspec.Struct, frozen=True):
    key: str


class CreateClaim(msgspec.Struct, frozen=True):
    """Make the claim of a volume that the Job describes itself."""

    claim: PersistentVolumeClaim


class PutJobStatus(msgspec.Struct, frozen=True):
    key: str
    status: JobStatus


class DeleteJob(msgspec.Struct, frozen=True):
    """Delete the Job, and all it owns, if it still has this UID."""

    key: str
    uid: str


class PutQueue(msgspec.Struct, frozen=True):
    """Write parent, annotations and state of the queue."""

    queue: Queue


class RecordEvent(msgspec.Struct, frozen=True):
    """Tell people what happened to an object; `type` is Normal or Warning."""

    key: str
    type: str
    reason: str
    message: str


JobCommand = (
    CreatePod
    | DeletePod
    | PutPodGroup
    | DeletePodGroup
    | CreateClaim
    | PutJobStatus
    | DeleteJob
    | RecordEvent
)
QueueCommand = PutQueue | RecordEvent
Command = JobCommand | PutQueue
