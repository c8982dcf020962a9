"""Controllers: one reaction to one event. Events in, commands out; no clock, no threads, no I/O.

admission        what is filled in, and what is refused, before an object enters
expand, usage    the PodGroup and the pods a Job stands for, and what it needs to start
job              Jobs through their phases: sync, kill, policies, timers
podgroup         a PodGroup for pods that bring none
queue            queues open, closing, closed, down the tree
"""

from __future__ import annotations

from hekla.controllers.admission import (
    ResourceGroup,
    default_pod,
    default_pod_group,
    problems_of_hyper_node,
    problems_of_pod,
    problems_of_pod_group,
    warnings_of_hyper_node,
)
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
from hekla.controllers.job_admission import default_job, problems_of_job
from hekla.controllers.job_update_admission import problems_of_job_update
from hekla.controllers.job_warnings import warnings_of_job
from hekla.controllers.podgroup import pod_group_for
from hekla.controllers.policy import Action, Event
from hekla.controllers.problems import Problem
from hekla.controllers.queue import close_queue, loaded_queue, open_queue, standing_queues, sync_queue
from hekla.controllers.queue_admission import default_queue, problems_of_queue, problems_of_queue_deletion
from hekla.controllers.usage import min_resources, usage_of
from hekla.controllers.world import World

__all__ = [
    "Action",
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
    "Problem",
    "PutJobStatus",
    "PutPodGroup",
    "PutQueue",
    "QueueCommand",
    "RecordEvent",
    "ResourceGroup",
    "World",
    "close_queue",
    "default_job",
    "default_pod",
    "default_pod_group",
    "default_queue",
    "loaded_queue",
    "min_resources",
    "open_queue",
    "pod_group_for",
    "pod_group_of",
    "pods_of",
    "problems_of_hyper_node",
    "problems_of_job",
    "problems_of_job_update",
    "problems_of_pod",
    "problems_of_pod_group",
    "problems_of_queue",
    "problems_of_queue_deletion",
    "standing_queues",
    "sync_queue",
    "usage_of",
    "warnings_of_hyper_node",
    "warnings_of_job",
]
