"""Forms: the second, quicker form of an answer must say what the answer says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from typing import Any

import numpy as np

from hekla.framework.points import PREDICATE, QUEUE_ORDER
from hekla.framework.session import Session
from hekla.ledger.formulas import Sum
from hekla.ledger.requests import Requests
from hekla.model.queue import Queue
from hekla.testing.answers import Answer, asked_about_nodes
from hekla.testing.samples import placements

Worth = Callable[[int], float]
"""What a node, told by its row, is worth to a task: its score, and -inf where it is refused."""


def broken_forms_for_many(session: Session) -> Iterator[str]:
    """What `@for_many` forms say of a node and the answer does not, or that moves with the number of pods."""
    for answer in asked_about_nodes(session):
        name = getattr(answer.ask, "for_many", None)
        if name is None:
            continue
        told = _told_to_many(session, answer, name)
        for row in range(len(session.nodes)):
            said, alone = told(row), _told_to_one(answer.value, row)
            if said != alone:
                yield f"{answer}: node {row} gets {alone}, but {name} says {said}"
            _add_pods(session, row, 1)
            if session.pods.count[row] < session.nodes.pod_limit[row] and told(row) != said:
                yield f"{answer}: {name} says {said} of node {row}, and {told(row)} once it runs a pod more"
            _add_pods(session, row, -1)


def _told_to_many(session: Session, answer: Answer, name: str) -> Worth:
    """What the form tells the task when it is asked together with all that may stand side by side."""
    own = answer.question[0].weight
    crowd = [one for one in dict.fromkeys(task.weight for task in session.tasks) if one.kind == own.kind]
    form = getattr(answer.ask.__self__, name)(Requests(crowd))  # type: ignore[attr-defined]
    if answer.point is PREDICATE:
        return lambda row: -np.inf if form(row) else 0.0
    scores, place = Sum([form]), crowd.index(own)
    return lambda row: float(np.broadcast_to(scores.at(row), len(crowd))[place])


def _told_to_one(value: Any, row: int) -> float:
    if isinstance(value, np.ndarray):
        return float(value[row])
    if isinstance(value, Sequence):
        return -np.inf if any(refusal.nodes[row] for refusal in value) else 0.0
    return 0.0 if value is None else float(value)


def _add_pods(session: Session, row: int, count: int) -> None:
    """As if so many more were there, which ask for nothing but a place."""
    session.pods.count[row] += count
    for table, sign in (
        (session.pods.requested, 1),
        (session.nodes.used, 1),
        (session.nodes.idle, -1),
        (session.nodes.future, -1),
    ):
        table[row, session.axis.pods] += sign * count


def broken_keys(session: Session) -> Iterator[str]:
    """Keys of queues that tell another order than comparing them, or that move with another queue's tasks."""
    if not session.queue_keys:
        return
    queues = [session.queues[name] for name in sorted({job.queue for job in session.jobs.values()})]
    yield from _misplaced(session, queues)
    for task, row, status in placements(session):
        own = session.jobs[task.job].queue
        before = {queue.name: _key(session, queue) for queue in queues}
        session.put(task, row, status)
        for queue in queues:
            if queue.name != own and _key(session, queue) != before[queue.name]:
                yield f'the key of queue "{queue.name}" moves when a task of queue "{own}" is placed'
        yield from _misplaced(session, queues)


def _misplaced(session: Session, queues: Sequence[Queue]) -> Iterator[str]:
    for left, right in permutations(queues, 2):
        orders = (compare(left, right) for compare in session.answers_to(QUEUE_ORDER))
        order = next(filter(None, orders), 0)
        mine, theirs = _key(session, left), _key(session, right)
        if (order < 0, order > 0) != (mine < theirs, mine > theirs):
            yield f'queues "{left.name}" and "{right.name}" compare as {order}, by key {mine}, {theirs}'


def _key(session: Session, queue: Queue) -> list[Any]:
    return [key(queue) for key in session.queue_keys or ()]
