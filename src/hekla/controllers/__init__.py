"""Controllers: one reaction to one event. Events in, commands out; no clock, no threads, no I/O.

expand, usage    the PodGroup and the pods a Job stands for, and what it needs to start
job              Jobs through their phases: sync, kill, policies, timers
podgroup         a PodGroup for pods that bring none
queue            queues open, closing, closed, down the tree
"""

from __future__ import annotations

from hekla.controllers.commands import (
    Command,
    CreateClaim,
    CreatePod,
    DeleteJob,
    DeletePod,
    DeletePodGroup,
    JobCommand,
    PutJobStatus,
    PutPodGroup,
    PutQueue,
    QueueCommand,
    RecordEvent,
)
from hekla.controllers.expand import pod_group_of, pods_of
from hekla.controllers.job import JobController, JobOptions
from hekla.controllers.podgroup import pod_group_for
from hekla.controllers.policy import Event, PolicyAction
from hekla.controllers.queue import close_queue, loaded_queue, open_queue, standing_queues, sync_queue
from hekla.controllers.usage import min_resources, usage_of
from hekla.controllers.world import World

__all__ = [
    "Command",
    "CreateClaim",
    "CreatePod",
    "DeleteJob",
    "DeletePod",
    "DeletePodGroup",
    "Event",
    "JobCommand",
    "JobController",
    "JobOptions",
    "PolicyAction",
    "PutJobStatus",
    "PutPodGroup",
    "PutQueue",
    "QueueCommand",
    "RecordEvent",
    "World",
    "close_queue",
    "loaded_queue",
    "min_resources",
    "open_queue",
    "pod_group_for",
    "pod_group_of",
    "pods_of",
    "standing_queues",
    "sync_queue",
    "usage_of",
]
