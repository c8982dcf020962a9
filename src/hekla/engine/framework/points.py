"""The extension points: every question an action may ask, and how the answers of all plugins become one.

A row of the table owns its question, its rule of combination and the switches that turn it
off per plugin in the configuration file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

from hekla.engine.framework.rules import (
    Vote,
    agreed_victims,
    every,
    first_given,
    first_nonzero,
    first_tier_agrees,
    least,
    least_of_first_tier,
    per_node,
    some,
    sort_key,
    sum_by_name,
    tell,
    united_victims,
    vote,
)
from hekla.engine.model.diagnosis import Objection
from hekla.engine.model.task import Task

if TYPE_CHECKING:
    from hekla.engine.framework.plugin import EvictionContext
    from hekla.engine.ledger.arrays import Floats, Mask
    from hekla.engine.ledger.domain_tree import Domain
    from hekla.engine.model.job import Job, SubJob
    from hekla.engine.model.queue import QueueInfo

Q = ParamSpec("Q")
A = TypeVar("A")
R = TypeVar("R")
P = TypeVar("P")


class Purpose(Enum):
    """What network domains are looked for."""

    ALLOCATE = "place tasks in room that is or will be free"
    AFTER_EVICTIONS = "the same, counting what was evicted in this session as free"
    MAKE_ROOM = "make room task by task in a domain, whatever runs there now"
    EVICT = "make room for a whole gang at once, in the widest domain first"


class Scope(Enum):
    """How long an answer stays true, which is how long the session keeps it."""

    ATTEMPT = "asked anew at every attempt to place a task"
    CANDIDATES = "depends on the task, the node objects and which nodes are candidates: asked for every set"
    CLASS = "depends on the task and the node objects alone: asked once per class of tasks"
    LEDGER = "depends on the task's request and what the ledgers say of that node: can be foreseen"
    ROW = "depends on the task and on that node's own state: asked again for rows that changed"
    JOB = "depends on the job and its own tasks alone: asked again once one of these has moved"
    KIND = "depends on the job's queue and on what it asks for, and gets worse at most as jobs are let in"


@dataclass(frozen=True, eq=False)
class Point(Generic[Q, A, R]):
    """One extension point: Q is what is asked, A what a plugin answers, R what all answers come to."""

    name: str
    asks: str
    rule: str
    combine: Callable[[Sequence[Sequence[Callable[Q, A]]]], Callable[Q, R]]
    """Given the answers tier by tier, the one function that stands for all."""
    switches: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Point({self.name})"


AnyPoint = Point[..., Any, Any]
Concerns = Callable[[Any, Task], bool]
"""Given the plugin and a task: whether the answer says anything of tasks of this class, ever."""
Method = TypeVar("Method", bound=Callable[..., Any])


def answers(
    point: Point[Q, A, Any], scope: Scope = Scope.ATTEMPT, *, concerns: Concerns | None = None
) -> Callable[[Callable[Concatenate[P, Q], A]], Callable[Concatenate[P, Q], A]]:
    """Marks a plugin's method as its answer to an extension point.

    `concerns` is for answers about nodes that say nothing of most tasks: it is asked once per class of tasks,
    and those that the answer does not concern are placed as if it were not there.
    """

    def mark(method: Callable[Concatenate[P, Q], A]) -> Callable[Concatenate[P, Q], A]:
        method.__dict__.setdefault("answers", []).append((point, scope, concerns))
        return method

    return mark


def as_key(answer: Callable[..., Any]) -> Callable[[Method], Method]:
    """Marks a plugin's method as the form of a queue-order answer that gives a queue's sort key.

    Comparing keys must tell what the answer tells, and a key must stay the same while no task of that very
    queue is placed, undone or evicted.
    """

    def mark(method: Method) -> Method:
        answer.__dict__["as_key"] = method.__name__
        return method

    return mark


_ORDER = "plugins in order, the first that tells the two apart decides"
_ALL = "all must say yes"
_VOTES = "a reject is final; the first tier with a permit settles it; if all abstain, yes"
_VICTIMS = "per tier the intersection of all lists; the first tier with a non-empty one decides"
_SIMULATE = ("enablePreemptable", "enabledAllocatable")

JOB_ORDER: Point[[Job], Any, tuple[Any, ...]] = Point(
    "job order", "What is the job's sort key?", _ORDER, sort_key, ("enableJobOrder",)
)
TASK_ORDER: Point[[Task], Any, tuple[Any, ...]] = Point(
    "task order", "What is the task's sort key?", _ORDER, sort_key, ("enableTaskOrder",)
)
SUB_JOB_ORDER: Point[[SubJob], Any, tuple[Any, ...]] = Point(
    "sub-job order", "What is the sub-job's sort key?", _ORDER, sort_key, ("enabledSubJobOrder",)
)
QUEUE_ORDER: Point[[QueueInfo, QueueInfo], float, float] = Point(
    "queue order", "Which of two queues goes first?", _ORDER, first_nonzero, ("enableQueueOrder",)
)
VICTIM_QUEUE_ORDER: Point[[QueueInfo, QueueInfo, QueueInfo], float, float] = Point(
    "victim queue order", "Which of two queues gives up tasks first?", _ORDER, first_nonzero
)
JOB_VALID: Point[[Job], Objection | None, Objection | None] = Point(
    "job valid", "Why can the job not be scheduled at all?", "the first objection wins", first_given
)
JOB_ENQUEUEABLE: Point[[Job], Vote, bool] = Point(
    "job enqueueable", "May the job be admitted?", _VOTES, vote, ("enableJobEnqueued",)
)
ADMISSION_ROOM: Point[[QueueInfo], Floats, Floats | None] = Point(
    "admission room",
    "How much may the minimum resources of one more job of the queue come to?",
    "the least of the first tier that has any; asked where every plugin that votes on admission has one, and "
    "asked again once jobs have given something back, a queue has changed, or the nodes have another sum",
    least_of_first_tier,
    ("enableJobEnqueued",),
)
JOB_ENQUEUED: Point[[Job], None, None] = Point(
    "job enqueued", "The job was admitted.", "every plugin is told", tell, ("enableJobEnqueued",)
)
JOB_READY: Point[[Job], bool, bool] = Point(
    "job ready", "May the job start?", _ALL, every, ("enableJobReady",)
)
JOB_PIPELINED: Point[[Job], Vote, bool] = Point(
    "job pipelined", "Will the job start once releases are done?", _VOTES, vote, ("enableJobPipelined",)
)
JOB_STARVING: Point[[Job], bool, bool] = Point(
    "job starving",
    "Does the job need room to be made for it?",
    "all of the first tier that has an opinion; none has one: no",
    first_tier_agrees,
    ("enableJobStarving",),
)
SUB_JOB_READY: Point[[Job, SubJob], bool, bool] = Point(
    "sub-job ready", "May the sub-job start?", _ALL, every, ("enabledSubJobReady",)
)
SUB_JOB_PIPELINED: Point[[Job, SubJob], Vote, bool] = Point(
    "sub-job pipelined",
    "Will the sub-job start once releases are done?",
    _VOTES,
    vote,
    ("enabledSubJobPipelined",),
)
OVERUSED: Point[[QueueInfo], bool, bool] = Point(
    "overused", "Has the queue had its share already?", "one yes is enough", some, ("enabledOverused",)
)
ALLOCATABLE: Point[[QueueInfo, Task], bool, bool] = Point(
    "allocatable", "May the queue take the task?", _ALL, every, ("enabledAllocatable",)
)
HEADROOM: Point[[QueueInfo, Task, int], int, int] = Point(
    "headroom",
    "How many of so many tasks like this may the queue take, one after another?",
    "the least of all answers; asked where every plugin that answers allocatable has one",
    least,
    ("enabledAllocatable",),
)
PREEMPTIVE: Point[[QueueInfo, Sequence[Task]], bool, bool] = Point(
    "preemptive",
    "May the queue take room from other queues for these tasks?",
    _ALL,
    every,
    ("enablePreemptive",),
)
PREEMPTABLE: Point[[Task, Sequence[Task]], Sequence[Task] | None, list[Task]] = Point(
    "preemptable",
    "Which tasks may make room inside the queue?",
    _VICTIMS,
    agreed_victims,
    ("enablePreemptable",),
)
RECLAIMABLE: Point[[Task, Sequence[Task]], Sequence[Task] | None, list[Task]] = Point(
    "reclaimable",
    "Which tasks of other queues may make room?",
    _VICTIMS,
    agreed_victims,
    ("enableReclaimable",),
)
UNIFIED_EVICTABLE: Point[[EvictionContext, Sequence[Task]], Sequence[Task] | None, list[Task]] = Point(
    "unified evictable", "Which tasks may a gang-aware action evict?", _VICTIMS, agreed_victims
)
VICTIM_TASKS: Point[[Sequence[Task]], Sequence[Task] | None, list[Task]] = Point(
    "victim tasks",
    "Which running tasks should move?",
    "per tier the union; the first tier with a non-empty one decides",
    united_victims,
    ("enabledVictim",),
)
PRE_PREDICATE: Point[[Task], Objection | None, Objection | None] = Point(
    "pre-predicate",
    "Why can the task run nowhere?",
    "the first objection wins",
    first_given,
    ("enablePredicate",),
)
PREDICATE: Point[..., Any, None] = Point(
    "predicate",
    "Which nodes may the task not run on?",
    "the first plugin that refuses a node speaks for it",
    per_node,
    ("enablePredicate",),
)
NODE_ORDER: Point[..., Any, None] = Point(
    "node order", "How good is each node for the task?", "sum", per_node, ("enableNodeOrder",)
)
NODE_ORDER_REDUCE: Point[[Task, Floats, Mask], Floats, None] = Point(
    "node order reduce",
    "What becomes of the plugin's own node order scores, given which nodes are candidates?",
    "each plugin's answer takes the place of its own node order scores in the sum",
    per_node,
    ("enableNodeOrder",),
)
BATCH_NODE_ORDER: Point[..., Any, None] = Point(
    "batch node order",
    "How good are the candidates compared with each other?",
    "sum, added to node order",
    per_node,
    ("enableNodeOrder",),
)
BEST_NODE: Point[[Task, Floats, Mask], int | None, int | None] = Point(
    "best node", "Which node, given the scores?", "the first answer wins", first_given, ("enableBestNode",)
)
SIMULATE_ALLOCATABLE: Point[[QueueInfo, Task], bool, bool] = Point(
    "simulate allocatable", "Would the queue take the task?", _ALL, every, ("enabledAllocatable",)
)
SIMULATE_ADD: Point[[Task, Task], None, None] = Point(
    "simulate add", "Suppose, for one task, that another were back.", "every plugin is told", tell, _SIMULATE
)
SIMULATE_REMOVE: Point[[Task, Task], None, None] = Point(
    "simulate remove",
    "Suppose, for one task, that another were gone.",
    "every plugin is told",
    tell,
    _SIMULATE,
)
SIMULATE_PREDICATE: Point[[Task, int], Objection | None, Objection | None] = Point(
    "simulate predicate",
    "Would the node take the task?",
    "the first objection wins",
    first_given,
    ("enablePredicate",),
)
HYPERNODE_ORDER: Point[[SubJob, Sequence[Domain]], dict[str, float], dict[str, float]] = Point(
    "hypernode order", "How good is each network domain?", "sum", sum_by_name, ("enabledHyperNodeOrder",)
)
HYPERNODE_GRADIENT: Point[
    [Job, SubJob | None, Domain, Purpose], list[list[Domain]] | None, list[list[Domain]] | None
] = Point(
    "hypernode gradient",
    "In which order are network domains tried?",
    "the first plugin that has one answers alone",
    first_given,
    ("enabledHyperNodeGradient",),
)

SCOPES_OF_SCORES = (Scope.ATTEMPT, Scope.CANDIDATES, Scope.CLASS, Scope.LEDGER, Scope.ROW)
ABOUT_NODES: tuple[AnyPoint, ...] = (PREDICATE, NODE_ORDER, BATCH_NODE_ORDER)
SCOPED: dict[AnyPoint, tuple[Scope, ...]] = {
    PREDICATE: (Scope.ATTEMPT, Scope.CLASS, Scope.LEDGER, Scope.ROW),
    NODE_ORDER: SCOPES_OF_SCORES,
    BATCH_NODE_ORDER: SCOPES_OF_SCORES,
    PRE_PREDICATE: (Scope.ATTEMPT, Scope.CLASS),
    JOB_ORDER: (Scope.ATTEMPT, Scope.JOB),
    JOB_ENQUEUEABLE: (Scope.ATTEMPT, Scope.KIND),
    HEADROOM: (Scope.ATTEMPT, Scope.KIND),
}
"""Points whose answers may stay true for longer than one question, and for how long."""


def scopes_of(point: AnyPoint) -> tuple[Scope, ...]:
    return SCOPED.get(point, (Scope.ATTEMPT,))


POINTS: tuple[AnyPoint, ...] = (
    JOB_ORDER,
    TASK_ORDER,
    SUB_JOB_ORDER,
    QUEUE_ORDER,
    VICTIM_QUEUE_ORDER,
    JOB_VALID,
    JOB_ENQUEUEABLE,
    ADMISSION_ROOM,
    JOB_ENQUEUED,
    JOB_READY,
    JOB_PIPELINED,
    JOB_STARVING,
    SUB_JOB_READY,
    SUB_JOB_PIPELINED,
    OVERUSED,
    ALLOCATABLE,
    HEADROOM,
    PREEMPTIVE,
    PREEMPTABLE,
    RECLAIMABLE,
    UNIFIED_EVICTABLE,
    VICTIM_TASKS,
    PRE_PREDICATE,
    PREDICATE,
    NODE_ORDER,
    NODE_ORDER_REDUCE,
    BATCH_NODE_ORDER,
    BEST_NODE,
    SIMULATE_ALLOCATABLE,
    SIMULATE_ADD,
    SIMULATE_REMOVE,
    SIMULATE_PREDICATE,
    HYPERNODE_ORDER,
    HYPERNODE_GRADIENT,
)


def switches_on(point: AnyPoint, is_enabled: Callable[[str], bool]) -> bool:
    """A point without a switch is always on; one with several needs one of them."""
    return not point.switches or any(is_enabled(switch) for switch in point.switches)


def declared(plugin: type) -> Iterable[tuple[str, AnyPoint, Scope, Concerns | None]]:
    """The answers a plugin class declares, in the order it declares them: method, point, scope, concerns."""
    names = dict.fromkeys(name for base in reversed(plugin.__mro__) for name in vars(base))
    for name in names:
        for point, scope, concerns in getattr(getattr(plugin, name), "answers", ()):
            yield name, point, scope, concerns


def reduces_nothing(plugin: type) -> bool:
    """Whether a class normalises scores and gives none."""
    found = {point for _, point, _, _ in declared(plugin)}
    return NODE_ORDER_REDUCE in found and NODE_ORDER not in found
