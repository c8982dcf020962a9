"""What the job controller may look at: the state of the moment, read-only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from hekla.controllers.expand import pod_group_key
from hekla.objects import Pod, PodGroup, Queue, VolcanoJob, keys


class World(Protocol):
    """The cluster as it is now, with every command carried out that was handed over before."""

    def job(self, key: str) -> VolcanoJob | None: ...

    def pods(self, job: VolcanoJob) -> Sequence[Pod]:
        """The pods whose controller is this Job (by UID), terminating ones included."""

    def pod_group(self, key: str) -> PodGroup | None: ...

    def queue(self, name: str) -> Queue | None: ...

    def has_claim(self, key: str) -> bool: ...

    def priority_by_class(self) -> Mapping[str, int]:
        """The value of every PriorityClass."""


class Scene(msgspec.Struct, frozen=True):
    """A Job with all that belongs to it."""

    job: VolcanoJob
    pods: tuple[Pod, ...]
    pod_group: PodGroup | None
    """The PodGroup that stands, whatever its phase."""
    is_group_leaving: bool = False
    """A PodGroup of an earlier run is still to be seen; nothing may join it or take its name."""


def scene_of(world: World, job: VolcanoJob, leaving_uid: str = "") -> Scene:
    """The Job and its own; `leaving_uid` is the PodGroup that was deleted last."""
    pod_group = world.pod_group(pod_group_key(job)) or _old_pod_group(world, job)
    pods = tuple(world.pods(job))
    if pod_group is None:
        return Scene(job, pods, None)
    meta = pod_group.metadata
    is_leaving = meta.deletion_timestamp is not None or bool(leaving_uid and meta.uid == leaving_uid)
    return Scene(job, pods, None if is_leaving else pod_group, is_leaving)


def _old_pod_group(world: World, job: VolcanoJob) -> PodGroup | None:
    """A PodGroup named like the Job, as Volcano made them before release 1.5."""
    pod_group = world.pod_group(job.key)
    if pod_group is None:
        return None
    owners = pod_group.metadata.owner_references
    return pod_group if any(owner.uid == job.metadata.uid for owner in owners) else None


def is_terminating(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None


def is_marked(pod: Pod) -> bool:
    """Whether the controller deletes the pod itself, so that no policy applies to it."""
    return pod.metadata.annotations.get(keys.OUT_OF_SYNC) == "true"
