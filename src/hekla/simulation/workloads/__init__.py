"""Workloads: who submits what, when, and for how long; written by hand, generated, or out of a trace."""

from hekla.simulation.workloads.generate import generate, rate_for
from hekla.simulation.workloads.generator_form import Settings
from hekla.simulation.workloads.model import (
    Account,
    Fault,
    GivenGroup,
    Hazards,
    NodeDrains,
    NodeFails,
    NodesAdded,
    Restart,
    Role,
    Submission,
    Workload,
)
from hekla.simulation.workloads.nodes import nodes_of
from hekla.simulation.workloads.read import read_workload
from hekla.simulation.workloads.selection import ReadingOptions

__all__ = [
    "Account",
    "Fault",
    "GivenGroup",
    "Hazards",
    "NodeDrains",
    "NodeFails",
    "NodesAdded",
    "ReadingOptions",
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
