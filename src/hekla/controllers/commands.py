"""What a controller wants done: plain values, carried out in the order given.

The caller that carries them out assigns UIDs and times, and tells the controller of every change that follows
before it hands over the next event.
"""

from __future__ import annotations

from dataclasses import dataclass

from hekla.objects import PersistentVolumeClaim, Pod, PodGroup, Queue
from hekla.objects.batch import JobStatus


@dataclass(frozen=True)
class CreatePod:
    """Make the pod; a pod of that name that exists already is left alone."""

    pod: Pod


@dataclass(frozen=True)
class DeletePod:
    """Delete the pod if it still has this UID, marked first as out of sync so that no policy answers."""

    key: str
    uid: str
    out_of_sync: bool = True


@dataclass(frozen=True)
class PutPodGroup:
    """Make the PodGroup, or write it over the one of that name."""

    pod_group: PodGroup


@dataclass(frozen=True)
class DeletePodGroup:
    key: str


@dataclass(frozen=True)
class CreateClaim:
    """Make the claim of a volume that the Job describes itself."""

    claim: PersistentVolumeClaim


@dataclass(frozen=True)
class PutJobStatus:
    key: str
    status: JobStatus


@dataclass(frozen=True)
class DeleteJob:
    """Delete the Job, and all it owns, if it still has this UID."""

    key: str
    uid: str


@dataclass(frozen=True)
class PutQueue:
    """Write parent, annotations and state of the queue."""

    queue: Queue


@dataclass(frozen=True)
class RecordEvent:
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
