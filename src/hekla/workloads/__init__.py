"""Workloads: who submits what, when, and for how long; written by hand, generated, or out of a trace."""

from hekla.workloads.generate import generate, rate_for
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
from hekla.workloads.nodes import nodes_of
from hekla.workloads.read import read_workload
from hekla.workloads.selection import Options
from hekla.workloads.settings import Settings

__all__ = [
    "Account",
    "Fault",
    "Hazards",
    "NodeDrains",
    "NodeFails",
    "NodesAdded",
    "Options",
    "Restart",
    "Role",
    "Settings",
    "Submission",
    "Workload",
    "generate",
    "nodes_of",
    "rate_for",
    "read_workload",
]
