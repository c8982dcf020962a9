"""Workloads: who submits what, when, and for how long; written by hand, generated, or out of a trace."""

from hekla.workloads.model import (
    Account,
    Fault,
    Hazards,
    NodeDrains,
    NodeFails,
    NodesAdded,
    Restart,
    Role,
    Submission,
    Workload,
)

__all__ = [
    "Account",
    "Fault",
    "Hazards",
    "NodeDrains",
    "NodeFails",
    "NodesAdded",
    "Restart",
    "Role",
    "Submission",
    "Workload",
]
