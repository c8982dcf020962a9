"""Answers: everything the plugins of a session say when asked, and whether it has the right form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from hekla.engine.framework import points
from hekla.engine.framework.node_answers import NodeAnswers, Reduction
from hekla.engine.framework.plugin import Objection, Plugin
from hekla.engine.framework.points import ABOUT_NODES, AnyPoint, Scope, declared
from hekla.engine.framework.rules import Vote
from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import ALL_ROWS
from hekla.engine.ledger.states import NodeStates
from hekla.engine.model.diagnosis import Refusal
from hekla.engine.model.job import Job
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task

VOTES = (points.JOB_ENQUEUEABLE, points.JOB_PIPELINED, points.SUB_JOB_PIPELINED)
YES_OR_NO = (
    points.JOB_READY,
    points.JOB_STARVING,
    points.SUB_JOB_READY,
    points.OVERUSED,
    points.ALLOCATABLE,
    points.PREEMPTIVE,
)
KEYS = (points.JOB_ORDER, points.TASK_ORDER, points.SUB_JOB_ORDER)
MANY = 100
"""How many tasks a queue is asked to take at once."""
VICTIMS = (points.PREEMPTABLE, points.RECLAIMABLE)


@dataclass(frozen=True, eq=False)
class GivenAnswer:
    """What a method said to a question; `subject` names the question in words."""

    plugin: str
    method: str
    point: AnyPoint
    scope: Scope
    subject: str
    value: Any
    ask: Callable[..., Any] = field(repr=False)
    question: tuple[Any, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return f"{self.plugin}.{self.method} ({self.point.name}) on {self.subject}"

    def ask_again(self, rows: Any) -> Any:
        """The answer for some rows only."""
        if self.scope is Scope.LEDGER:
            states = self.question[1]
            rows = NodeStates(states.nodes, states.pods, rows)
        return self.ask(self.question[0], rows)


def all_answers(session: Session) -> Iterator[GivenAnswer]:
    """Everything the session's plugins say about every task, job and queue."""
    yield from asked_about_nodes(session)
    for plugin, method, point, _ in _opinions(session):
        if point in ABOUT_NODES:
            continue
        ask = getattr(plugin, method)
        for subject, question in _questions(session, point):
            yield GivenAnswer(
                plugin.name, method, point, Scope.ATTEMPT, subject, ask(*question), ask, tuple(question)
            )


def asked_about_nodes(session: Session) -> Iterator[GivenAnswer]:
    """What plugins say about nodes, for every pending task."""
    for plugin, method, point, scope in _opinions(session):
        if point is points.NODE_ORDER_REDUCE:
            asked = _about_candidates(session, plugin)
        elif point in ABOUT_NODES:
            asked = _about_nodes(session, point, scope)
        else:
            continue
        ask = getattr(plugin, method)
        for subject, question in asked:
            value = ask(*with_copied_arrays(question))
            yield GivenAnswer(plugin.name, method, point, scope, subject, value, ask, tuple(question))


def _about_nodes(session: Session, point: AnyPoint, scope: Scope) -> Iterator[Question]:
    everywhere = np.ones(len(session.nodes), dtype=np.bool_)
    for task in _waiting(session):
        if scope is Scope.ROW:
            yield task.key, (task, ALL_ROWS)
        elif scope is Scope.LEDGER:
            yield task.key, (task, NodeStates(session.nodes, session.pods))
        elif scope in (Scope.ATTEMPT, Scope.CANDIDATES) and point is not points.PREDICATE:
            yield task.key, (task, everywhere)
        else:
            yield task.key, (task,)


def _about_candidates(session: Session, plugin: Plugin) -> Iterator[Question]:
    """What the plugin may be given to normalise: its scores, with all nodes or just one as candidates."""
    names = np.array(session.nodes.names, dtype=np.str_)
    everywhere = NodeStates(session.nodes, session.pods)
    for task in _waiting(session) if len(names) else ():
        concerning = session.dispatch.concerning(task)
        reductions = NodeAnswers(session.dispatch, everywhere, concerning).order.anew
        for one in reductions:
            if isinstance(one, Reduction) and one.plugin is plugin:
                for among in (np.ones(len(names), dtype=np.bool_), names == min(names)):
                    subject = f"{task.key} among {np.count_nonzero(among)}"
                    yield subject, (task, one.own(task, among), among)


def with_copied_arrays(question: Sequence[Any]) -> list[Any]:
    """The same question with arrays that may be changed."""
    return [part.copy() if isinstance(part, np.ndarray) else part for part in question]


def _opinions(session: Session) -> Iterator[tuple[Plugin, str, AnyPoint, Scope]]:
    for plugin in session.plugins:
        silent = set(plugin.silent_on())
        for method, point, scope, _ in declared(type(plugin)):
            if point not in silent:
                yield plugin, method, point, scope


def _waiting(session: Session) -> list[Task]:
    # By name, so that placed and unplaced sessions are asked about the same tasks.
    return sorted((t for t in session.tasks if t.job in session.jobs and not t.pod.spec.node_name), key=_key)


def _key(task: Task) -> str:
    return task.key


Question = tuple[str, Sequence[Any]]
"""What is asked about, in words, and the arguments of the call."""


def _questions(session: Session, point: AnyPoint) -> Iterator[Question]:
    """Questions to a point that may be asked without changing anything."""
    for asked, questions in QUESTIONS:
        if point in asked:
            yield from questions(session, point)


def _about_jobs(session: Session, _: AnyPoint) -> Iterator[Question]:
    yield from ((job.uid, (job,)) for job in _jobs(session))


def _about_tasks(session: Session, _: AnyPoint) -> Iterator[Question]:
    yield from ((task.key, (task,)) for task in _waiting(session))


def _about_sub_jobs(session: Session, point: AnyPoint) -> Iterator[Question]:
    for job in _jobs(session):
        for sub_job in job.sub_jobs.values():
            yield sub_job.uid, (sub_job,) if point is points.SUB_JOB_ORDER else (job, sub_job)


def _about_queues(session: Session, point: AnyPoint) -> Iterator[Question]:
    queues = [session.queues[name] for name in sorted({job.queue for job in session.jobs.values()})]
    if point is points.OVERUSED:
        yield from ((queue.name, (queue,)) for queue in queues)
    else:
        yield from ((f"{left.name} and {right.name}", (left, right)) for left, right in pairwise(queues))


def _about_queues_and_tasks(session: Session, point: AnyPoint) -> Iterator[Question]:
    for task in _waiting(session):
        queue = session.queues[session.jobs[task.job].queue]
        if point is points.HEADROOM:
            yield task.key, (queue, task, MANY)
        else:
            yield task.key, (queue, [task] if point is points.PREEMPTIVE else task)


def _about_victims(session: Session, point: AnyPoint) -> Iterator[Question]:
    runs = [task for job in _jobs(session) for task in job.roster.among((Status.BOUND, Status.RUNNING))]
    runs.sort(key=_key)
    if point is points.VICTIM_TASKS:
        yield "all running tasks", ([task for task in runs if task.status is Status.RUNNING],)
    else:
        yield from ((task.key, (task, list(runs))) for task in _waiting(session))


def _jobs(session: Session) -> list[Job]:
    return [session.jobs[uid] for uid in sorted(session.jobs)]


QUESTIONS: tuple[tuple[tuple[AnyPoint, ...], Callable[[Session, AnyPoint], Iterator[Question]]], ...] = (
    ((points.JOB_ORDER, points.JOB_VALID, points.JOB_READY), _about_jobs),
    ((points.JOB_PIPELINED, points.JOB_STARVING, points.JOB_ENQUEUEABLE), _about_jobs),
    ((points.TASK_ORDER, points.PRE_PREDICATE), _about_tasks),
    ((points.SUB_JOB_ORDER, points.SUB_JOB_READY, points.SUB_JOB_PIPELINED), _about_sub_jobs),
    ((points.QUEUE_ORDER, points.OVERUSED), _about_queues),
    ((points.ALLOCATABLE, points.PREEMPTIVE, points.HEADROOM), _about_queues_and_tasks),
    ((*VICTIMS, points.VICTIM_TASKS), _about_victims),
)


def check_shape(session: Session, answer: GivenAnswer) -> str:
    """What is wrong with the form of an answer; empty where nothing is."""
    value, point = answer.value, answer.point
    if point is points.PREDICATE:
        return _refusals_problem(value, len(session.nodes))
    if point is points.NODE_ORDER_REDUCE and not isinstance(value, np.ndarray):
        return f"expected the normalised scores, one float per node; got {type(value).__name__}"
    if point in (*ABOUT_NODES, points.NODE_ORDER_REDUCE):
        return _score_problem(value, len(session.nodes))
    if point in VOTES and not isinstance(value, Vote):
        return f"expected a Vote, got {value!r}"
    if point in YES_OR_NO and not isinstance(value, bool):
        return f"expected True or False, got {value!r}"
    if point in (points.JOB_VALID, points.PRE_PREDICATE) and not isinstance(value, Objection | None):
        return f"expected an Objection or None, got {value!r}"
    if point in KEYS and value != value:  # noqa: PLR0124 - NaN is the one value that differs from itself
        return "a sort key must not be NaN"
    if point in VICTIMS and value is not None:
        candidates = {id(task) for task in answer.question[1]}
        strangers = [task.key for task in value if id(task) not in candidates]
        return f"victims must be among the candidates, but {strangers} are not" if strangers else ""
    return ""


def _score_problem(value: Any, count: int) -> str:
    if value is None:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "" if np.isfinite(value) else f"a score must be finite, got {value}"
    if not isinstance(value, np.ndarray):
        return f"expected one float per node, a number for all, or None; got {type(value).__name__}"
    if value.shape != (count,):
        return f"expected one score per node, shape ({count},), got {value.shape}"
    if value.dtype != np.float64:
        return f"expected dtype float64, got {value.dtype}"
    return "" if np.isfinite(value).all() else "scores must be finite, got NaN or infinity"


def _refusals_problem(value: Any, count: int) -> str:
    for refusal in value or ():
        if not isinstance(refusal, Refusal):
            return f"expected Refusals, got {type(refusal).__name__}"
        if not refusal.reason:
            return "a refusal must give its reason"
        mask = refusal.nodes
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            return f"a refusal's nodes must be an array of bool, got {getattr(mask, 'dtype', type(mask))}"
        if mask.shape != (count,):
            return f"expected one bool per node, shape ({count},), got {mask.shape}"
    return ""


def on_rows(value: Any, rows: Any) -> Any:
    """The part of an answer about nodes that speaks of these rows, in their order."""
    if isinstance(value, np.ndarray):
        return value[rows]
    if isinstance(value, list | tuple):
        return [Refusal(r.reason, r.nodes[rows], r.code, r.plain) for r in value]
    return value


def same(left: Any, right: Any) -> bool:
    """Equal as answers: arrays by value, refusals by what they refuse, scores to the last bits."""
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        # A number for all nodes is a row of that number.
        left, right = np.broadcast_arrays(_number(left), _number(right))
        return bool(np.allclose(left, right, rtol=1e-12, atol=1e-12, equal_nan=True))
    if _is_refusals(left) or _is_refusals(right):
        return _refused(left) == _refused(right)
    if isinstance(left, list) and isinstance(right, list):
        return [getattr(part, "uid", part) for part in left] == [getattr(part, "uid", part) for part in right]
    return bool(left == right)


def says_something(value: Any) -> bool:
    """Whether an answer about nodes refuses one, or gives one a score."""
    if _is_refusals(value):
        return any(refusal.nodes.any() for refusal in value)
    return bool(np.any(_number(value)))


def _number(value: Any) -> Any:
    return 0.0 if value is None else value


def _is_refusals(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(isinstance(part, Refusal) for part in value)


def _refused(value: Any) -> dict[tuple[str, int], list[int]]:
    refused: dict[tuple[str, int], list[int]] = {}
    for refusal in value or ():
        rows = np.flatnonzero(refusal.nodes)
        if len(rows):
            refused.setdefault((refusal.reason, int(refusal.code)), []).extend(rows.tolist())
    return {reason: sorted(rows) for reason, rows in refused.items()}


def shown(session: Session) -> dict[str, object]:
    """All that a plugin is shown and must not touch, part by part."""
    nodes, pods = session.nodes, session.pods
    return {
        "the ledgers, the tasks or the jobs": session.fingerprint(),
        "the nodes' allocatable resources": (nodes.allocatable.tobytes(), pods.allocatable.tobytes()),
        "the cluster's total": session.total.tobytes(),
        "the tasks' requests": tuple((t.vector.tobytes(), t.priority, t.last) for t in session.tasks),
        "the journal of changed nodes": nodes.journal.now,
        "the jobs' notes": tuple((len(job.fit_errors), job.held.tobytes()) for job in session.jobs.values()),
        "the decisions": len(session.decisions),
        "the queues": tuple((q.name, q.weight, q.priority, q.is_open) for q in session.queues.values()),
    }
