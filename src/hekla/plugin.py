"""What a plugin is written with: points, scopes, types, arguments, and builders for its tests.

from hekla.plugin import NODE_ORDER, NodeStates, PerNode, Plugin, Scope, Task, answers

class Spread(Plugin):
    name = "spread"

    @answers(NODE_ORDER, Scope.LEDGER)
    def prefer_idle_nodes(self, task: Task, states: NodeStates) -> PerNode:
        return states.idle[0] / 1000.0
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from hekla.conf import argument, arguments_by_prefix
from hekla.engine.framework.action import Action
from hekla.engine.framework.figures import QueueFigures
from hekla.engine.framework.orders import jobs_in_order, queues_in_order, tasks_in_order
from hekla.engine.framework.plugin import EvictionContext, NoArguments, Objection, Plugin, Resolve
from hekla.engine.framework.points import (
    ADMISSION_ROOM,
    ALLOCATABLE,
    BATCH_NODE_ORDER,
    BEST_NODE,
    HEADROOM,
    HYPERNODE_GRADIENT,
    HYPERNODE_ORDER,
    JOB_ENQUEUEABLE,
    JOB_ENQUEUED,
    JOB_ORDER,
    JOB_PIPELINED,
    JOB_READY,
    JOB_STARVING,
    JOB_VALID,
    NODE_ORDER,
    NODE_ORDER_REDUCE,
    OVERUSED,
    POINTS,
    PRE_PREDICATE,
    PREDICATE,
    PREEMPTABLE,
    PREEMPTIVE,
    QUEUE_ORDER,
    RECLAIMABLE,
    SIMULATE_ADD,
    SIMULATE_ALLOCATABLE,
    SIMULATE_PREDICATE,
    SIMULATE_REMOVE,
    SUB_JOB_ORDER,
    SUB_JOB_PIPELINED,
    SUB_JOB_READY,
    TASK_ORDER,
    UNIFIED_EVICTABLE,
    VICTIM_QUEUE_ORDER,
    VICTIM_TASKS,
    Point,
    Purpose,
    Scope,
    answers,
    as_key,
)
from hekla.engine.framework.rules import Vote
from hekla.engine.framework.session import Session
from hekla.engine.framework.statement import Statement
from hekla.engine.ledger.arrays import Amounts, Counts, Floats, Indices, Mask, Rows
from hekla.engine.ledger.axis import CPU_COLUMN, MEMORY_COLUMN
from hekla.engine.ledger.domains import Domain
from hekla.engine.ledger.states import NodeStates
from hekla.engine.model.diagnosis import Code, Diagnosis, Refusal
from hekla.engine.model.job import Job, SubJob
from hekla.engine.model.queue import QueueInfo
from hekla.engine.model.status import ALLOCATED_SET, Status
from hekla.engine.model.task import Task
from hekla.engine.model.wait_reason import Verdict, WaitReason

if TYPE_CHECKING:
    from hekla.testing import Story, check_plugin, job, node, plugin, pod, queue, session_of

PerNode = Floats
"""One number per node, in the order of the session's nodes."""

BUILDERS = ("Story", "check_plugin", "job", "node", "plugin", "pod", "queue", "session_of")
"""From `hekla.testing`, imported when first used: a scheduler at work needs none of them."""


GONE = {
    "for_many": "is gone: a score is written once, over columns (Scope.LEDGER), and all nodes are scored "
    "for a class of tasks at a time; leave that method out",
}


def __getattr__(name: str) -> object:
    if name in GONE:
        raise ImportError(f'"{name}" {GONE[name]}')
    if name not in BUILDERS:
        raise AttributeError(f'module "hekla.plugin" has no attribute "{name}"')
    return getattr(importlib.import_module("hekla.testing"), name)


__all__ = [
    "ADMISSION_ROOM",
    "ALLOCATABLE",
    "ALLOCATED_SET",
    "BATCH_NODE_ORDER",
    "BEST_NODE",
    "CPU_COLUMN",
    "HEADROOM",
    "HYPERNODE_GRADIENT",
    "HYPERNODE_ORDER",
    "JOB_ENQUEUEABLE",
    "JOB_ENQUEUED",
    "JOB_ORDER",
    "JOB_PIPELINED",
    "JOB_READY",
    "JOB_STARVING",
    "JOB_VALID",
    "MEMORY_COLUMN",
    "NODE_ORDER",
    "NODE_ORDER_REDUCE",
    "OVERUSED",
    "POINTS",
    "PREDICATE",
    "PREEMPTABLE",
    "PREEMPTIVE",
    "PRE_PREDICATE",
    "QUEUE_ORDER",
    "RECLAIMABLE",
    "SIMULATE_ADD",
    "SIMULATE_ALLOCATABLE",
    "SIMULATE_PREDICATE",
    "SIMULATE_REMOVE",
    "SUB_JOB_ORDER",
    "SUB_JOB_PIPELINED",
    "SUB_JOB_READY",
    "TASK_ORDER",
    "UNIFIED_EVICTABLE",
    "VICTIM_QUEUE_ORDER",
    "VICTIM_TASKS",
    "Action",
    "Amounts",
    "Code",
    "Counts",
    "Diagnosis",
    "Domain",
    "EvictionContext",
    "Floats",
    "Indices",
    "Job",
    "Mask",
    "NoArguments",
    "NodeStates",
    "Objection",
    "PerNode",
    "Plugin",
    "Point",
    "Purpose",
    "QueueFigures",
    "QueueInfo",
    "Refusal",
    "Resolve",
    "Rows",
    "Scope",
    "Session",
    "Statement",
    "Status",
    "Story",
    "SubJob",
    "Task",
    "Verdict",
    "Vote",
    "WaitReason",
    "answers",
    "argument",
    "arguments_by_prefix",
    "as_key",
    "check_plugin",
    "job",
    "jobs_in_order",
    "node",
    "plugin",
    "pod",
    "queue",
    "queues_in_order",
    "session_of",
    "tasks_in_order",
]
