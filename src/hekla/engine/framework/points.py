"""The extension points: every question an action may ask, and how the answers of all plugins become one.

A row of the table owns its question, its rule of combination and the switches that turn it
off per plugin in the configuration file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any, TypeVar

from hekla.engine.model.task import Task

Answer = Callable[..., Any]
Tiers = Sequence[Sequence[Answer]]
"""The answers of the plugins that have one, tier by tier."""


class Vote(IntEnum):
    REJECT = -1
    ABSTAIN = 0
    PERMIT = 1


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
    KIND = "depends on the job's queue and minimum resources, and on who was admitted before"


@dataclass(frozen=True, eq=False)
class Point:
    """One extension point."""

    name: str
    asks: str
    rule: str
    combine: Callable[..., Any]
    switches: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Point({self.name})"


Method = TypeVar("Method", bound=Callable[..., Any])


def answers(point: Point, scope: Scope = Scope.ATTEMPT) -> Callable[[Method], Method]:
    """Marks a plugin's method as its answer to an extension point."""

    def mark(method: Method) -> Method:
        method.__dict__.setdefault("answers", []).append((point, scope))
        return method

    return mark


def for_many(answer: Callable[..., Any]) -> Callable[[Method], Method]:
    """Marks a plugin's method as the form of a LEDGER answer that speaks of many requests at once.

    It is handed requests. Of a predicate it gives back a function of one row, which tells whether the node
    refuses them all; of a score a formula (`hekla.engine.ledger.formulas`) of what each of them gives the
    node. Both must be the same for nodes of which the ledgers say the same, but for how many pods they run:
    of that it may only matter whether the node is full. Scores must be whole numbers then, so that they add
    up alike in whatever order.
    """

    def mark(method: Method) -> Method:
        answer.__dict__["for_many"] = method.__name__
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


# Rules of combination


def every(tiers: Tiers, *question: Any) -> bool:
    for tier in tiers:
        for answer in tier:
            if not answer(*question):
                return False
    return True


def some(tiers: Tiers, *question: Any) -> bool:
    for tier in tiers:
        for answer in tier:
            if answer(*question):
                return True
    return False


def vote(tiers: Tiers, *question: Any) -> bool:
    """A reject is final; otherwise the first tier that permits settles it; silence is consent."""
    for tier in tiers:
        permitted = False
        for answer in tier:
            match answer(*question):
                case Vote.REJECT:
                    return False
                case Vote.PERMIT:
                    permitted = True
        if permitted:
            return True
    return True


def first_tier_agrees(tiers: Tiers, *question: Any) -> bool:
    """Yes where all of the first tier that has an opinion say yes; no where nobody has one."""
    for tier in tiers:
        if tier:
            return all(answer(*question) for answer in tier)
    return False


def first_objection(tiers: Tiers, *question: Any) -> Any:
    for tier in tiers:
        for answer in tier:
            if (objection := answer(*question)) is not None:
                return objection
    return None


def sort_key(tiers: Tiers, subject: Any) -> tuple[Any, ...]:
    return tuple([answer(subject) for tier in tiers for answer in tier])


def first_nonzero(tiers: Tiers, *question: Any) -> float:
    for tier in tiers:
        for answer in tier:
            if order := answer(*question):
                return float(order)
    return 0.0


def tell(tiers: Tiers, *question: Any) -> None:
    for tier in tiers:
        for answer in tier:
            answer(*question)


def agreed_victims(tiers: Tiers, initiator: Any, candidates: Sequence[Task]) -> list[Task]:
    """The victims that the first deciding tier agrees on.

    As in Volcano, an empty intersection makes the tier undecided again, so that the next plugin
    of the tier starts afresh; and an undecided tier passes the question on. See ADR 0004.
    """
    for tier in tiers:
        victims: list[Task] = []
        for answer in tier:
            named = answer(initiator, candidates)
            if named is None:
                continue
            if not named:
                victims = []
                break
            if not victims:
                victims = list(named)
            elif named != victims:
                uids = {task.uid for task in named}
                victims = [task for task in victims if task.uid in uids]
        if victims:
            return victims
    return []


def victims_of_all(tiers: Tiers, initiator: Any, candidates: Sequence[Task]) -> list[Task]:
    """The victims that every plugin agrees on, whatever its tier: the documents' rule."""
    victims = list(candidates)
    for tier in tiers:
        for answer in tier:
            named = answer(initiator, candidates)
            if named is not None:
                uids = {task.uid for task in named}
                victims = [task for task in victims if task.uid in uids]
    return victims if any(tiers) else []


def united_victims(tiers: Tiers, candidates: Sequence[Task]) -> list[Task]:
    for tier in tiers:
        named = {task.uid: task for answer in tier for task in answer(candidates) or ()}
        if named:
            return [named[uid] for uid in sorted(named)]
    return []


def first_given(tiers: Tiers, *question: Any) -> Any:
    return first_objection(tiers, *question)


def least(tiers: Tiers, queue: Any, task: Task, count: int) -> int:
    for tier in tiers:
        for answer in tier:
            count = min(count, answer(queue, task, count))
    return count


def sum_by_name(tiers: Tiers, *question: Any) -> dict[str, float]:
    total: dict[str, float] = {}
    for tier in tiers:
        for answer in tier:
            for name, score in answer(*question).items():
                total[name] = total.get(name, 0.0) + score
    return total


def per_node(tiers: Tiers, *question: Any) -> Any:
    raise NotImplementedError("answers about nodes are gathered by class of tasks, in framework.fitting")


PASSED_ON = (every, some, first_objection, first_given, least)
"""Rules by which a single answer is the combined one as it is."""


# The table

_ORDER = "plugins in order, the first that tells the two apart decides"
_ALL = "all must say yes"
_VOTES = "a reject is final; the first tier with a permit settles it; if all abstain, yes"
_VICTIMS = "per tier the intersection of all lists; the first tier with a non-empty one decides"
_SIMULATE = ("enablePreemptable", "enabledAllocatable")

JOB_ORDER = Point("job order", "What is the job's sort key?", _ORDER, sort_key, ("enableJobOrder",))
TASK_ORDER = Point("task order", "What is the task's sort key?", _ORDER, sort_key, ("enableTaskOrder",))
SUB_JOB_ORDER = Point(
    "sub-job order", "What is the sub-job's sort key?", _ORDER, sort_key, ("enabledSubJobOrder",)
)
QUEUE_ORDER = Point(
    "queue order", "Which of two queues goes first?", _ORDER, first_nonzero, ("enableQueueOrder",)
)
VICTIM_QUEUE_ORDER = Point(
    "victim queue order", "Which of two queues gives up tasks first?", _ORDER, first_nonzero
)
JOB_VALID = Point(
    "job valid", "Why can the job not be scheduled at all?", "the first objection wins", first_objection
)
JOB_ENQUEUEABLE = Point("job enqueueable", "May the job be admitted?", _VOTES, vote, ("enableJobEnqueued",))
JOB_ENQUEUED = Point(
    "job enqueued", "The job was admitted.", "everyone is told", tell, ("enableJobEnqueued",)
)
JOB_READY = Point("job ready", "May the job start?", _ALL, every, ("enableJobReady",))
JOB_PIPELINED = Point(
    "job pipelined", "Will the job start once releases are done?", _VOTES, vote, ("enableJobPipelined",)
)
JOB_STARVING = Point(
    "job starving",
    "Does the job need others to make room?",
    "all of the first tier that has an opinion; nobody has one: no",
    first_tier_agrees,
    ("enableJobStarving",),
)
SUB_JOB_READY = Point("sub-job ready", "May the sub-job start?", _ALL, every, ("enabledSubJobReady",))
SUB_JOB_PIPELINED = Point(
    "sub-job pipelined",
    "Will the sub-job start once releases are done?",
    _VOTES,
    vote,
    ("enabledSubJobPipelined",),
)
OVERUSED = Point(
    "overused", "Has the queue had its share already?", "one yes is enough", some, ("enabledOverused",)
)
ALLOCATABLE = Point("allocatable", "May the queue take the task?", _ALL, every, ("enabledAllocatable",))
HEADROOM = Point(
    "headroom",
    "How many of so many tasks like this may the queue take, one after another?",
    "the least of all answers; asked where every plugin that answers allocatable has one",
    least,
    ("enabledAllocatable",),
)
PREEMPTIVE = Point(
    "preemptive", "May the queue take room from others for these tasks?", _ALL, every, ("enablePreemptive",)
)
PREEMPTABLE = Point(
    "preemptable",
    "Which tasks may make room inside the queue?",
    _VICTIMS,
    agreed_victims,
    ("enablePreemptable",),
)
RECLAIMABLE = Point(
    "reclaimable",
    "Which tasks of other queues may make room?",
    _VICTIMS,
    agreed_victims,
    ("enableReclaimable",),
)
UNIFIED_EVICTABLE = Point(
    "unified evictable", "Which tasks may a gang-aware action evict?", _VICTIMS, agreed_victims
)
VICTIM_TASKS = Point(
    "victim tasks",
    "Which running tasks should move?",
    "per tier the union; the first tier with a non-empty one decides",
    united_victims,
    ("enabledVictim",),
)
PRE_PREDICATE = Point(
    "pre-predicate",
    "Why can the task run nowhere?",
    "the first objection wins",
    first_objection,
    ("enablePredicate",),
)
PREDICATE = Point(
    "predicate",
    "Which nodes may the task not run on?",
    "the first plugin that refuses a node speaks for it",
    per_node,
    ("enablePredicate",),
)
NODE_ORDER = Point("node order", "How good is each node for the task?", "sum", per_node, ("enableNodeOrder",))
NODE_ORDER_REDUCE = Point(
    "node order reduce",
    "What becomes of the plugin's own node order scores, given which nodes are candidates?",
    "each plugin's answer takes the place of its own node order scores in the sum",
    per_node,
    ("enableNodeOrder",),
)
BATCH_NODE_ORDER = Point(
    "batch node order",
    "How good are the candidates compared with each other?",
    "sum, added to node order",
    per_node,
    ("enableNodeOrder",),
)
BEST_NODE = Point(
    "best node", "Which node, given the scores?", "the first answer wins", first_given, ("enableBestNode",)
)
SIMULATE_ALLOCATABLE = Point(
    "simulate allocatable", "Would the queue take the task?", _ALL, every, ("enabledAllocatable",)
)
SIMULATE_ADD = Point(
    "simulate add", "Suppose, for one task, that another were back.", "everyone is told", tell, _SIMULATE
)
SIMULATE_REMOVE = Point(
    "simulate remove", "Suppose, for one task, that another were gone.", "everyone is told", tell, _SIMULATE
)
SIMULATE_PREDICATE = Point(
    "simulate predicate",
    "Would the node take the task?",
    "the first objection wins",
    first_objection,
    ("enablePredicate",),
)
HYPERNODE_ORDER = Point(
    "hypernode order", "How good is each network domain?", "sum", sum_by_name, ("enabledHyperNodeOrder",)
)
HYPERNODE_GRADIENT = Point(
    "hypernode gradient",
    "In which order are network domains tried?",
    "the first plugin that has one answers alone",
    first_given,
    ("enabledHyperNodeGradient",),
)

SCOPES_OF_SCORES = (Scope.ATTEMPT, Scope.CANDIDATES, Scope.CLASS, Scope.LEDGER, Scope.ROW)
SCOPED: dict[Point, tuple[Scope, ...]] = {
    PREDICATE: (Scope.ATTEMPT, Scope.CLASS, Scope.LEDGER, Scope.ROW),
    NODE_ORDER: SCOPES_OF_SCORES,
    BATCH_NODE_ORDER: SCOPES_OF_SCORES,
    PRE_PREDICATE: (Scope.ATTEMPT, Scope.CLASS),
    JOB_ORDER: (Scope.ATTEMPT, Scope.JOB),
    JOB_ENQUEUEABLE: (Scope.ATTEMPT, Scope.KIND),
}
"""Points whose answers may stay true for longer than one question, and for how long."""


def scopes_of(point: Point) -> tuple[Scope, ...]:
    return SCOPED.get(point, (Scope.ATTEMPT,))


POINTS: tuple[Point, ...] = (
    JOB_ORDER,
    TASK_ORDER,
    SUB_JOB_ORDER,
    QUEUE_ORDER,
    VICTIM_QUEUE_ORDER,
    JOB_VALID,
    JOB_ENQUEUEABLE,
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


def switches_on(point: Point, is_enabled: Callable[[str], bool]) -> bool:
    """A point without a switch is always on; one with several needs one of them."""
    return not point.switches or any(is_enabled(switch) for switch in point.switches)


def declared(plugin: type) -> Iterable[tuple[str, Point, Scope]]:
    """The answers a plugin class declares, in the order it declares them: method name, point, scope."""
    names = dict.fromkeys(name for base in reversed(plugin.__mro__) for name in vars(base))
    for name in names:
        for point, scope in getattr(getattr(plugin, name), "answers", ()):
            yield name, point, scope
