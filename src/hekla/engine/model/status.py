"""Task statuses, and which of them count as what."""

from __future__ import annotations

from enum import IntEnum

from hekla.objects.pod import Pod


class Status(IntEnum):
    """Where a task stands. Allocated, Pipelined and Binding are the scheduler's own words."""

    PENDING = 0
    ALLOCATED = 1
    PIPELINED = 2
    BINDING = 3
    BOUND = 4
    RUNNING = 5
    RELEASING = 6
    SUCCEEDED = 7
    FAILED = 8
    UNKNOWN = 9


ALLOCATED_SET = (Status.ALLOCATED, Status.BINDING, Status.BOUND, Status.RUNNING)
"""Holds resources that count for its job and queue."""

READY_SET = (*ALLOCATED_SET, Status.SUCCEEDED)
"""Counts towards a gang's minimum."""

VALID_SET = (*READY_SET, Status.PIPELINED, Status.PENDING)
"""May still come to run, or did."""

SCHEDULED_SET = (Status.BOUND, Status.RUNNING, Status.SUCCEEDED, Status.FAILED)
"""The cluster has seen it placed."""

TERMINATED_SET = (Status.SUCCEEDED, Status.FAILED)
"""Takes no room on a node any more."""

COUNTS_AS_READY = tuple(status in READY_SET for status in Status)
"""READY_SET as a lookup by status."""


def status_of(pod: Pod) -> Status:
    """The status a pod's own report comes to."""
    match pod.status.phase:
        case "Running":
            return Status.RELEASING if pod.metadata.deletion_timestamp else Status.RUNNING
        case "Pending":
            if pod.metadata.deletion_timestamp:
                return Status.RELEASING
            return Status.BOUND if pod.spec.node_name else Status.PENDING
        case "Succeeded":
            return Status.SUCCEEDED
        case "Failed":
            return Status.FAILED
    return Status.UNKNOWN
