"""Do the answers of a plugin agree: beforehand and one by one, the quick form and the plain one?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from typing import Any

import numpy as np

from hekla.engine.framework.points import ALLOCATABLE, HEADROOM, PREDICATE, QUEUE_ORDER, Scope
from hekla.engine.framework.session import Session
from hekla.engine.ledger.formulas import Sum
from hekla.engine.ledger.requests import Requests
from hekla.engine.ledger.states import SupposedStates
from hekla.engine.model.queue import Queue
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.testing.answers import GivenAnswer, all_answers, asked_about_nodes, on_rows, same
from hekla.testing.samples import placements


def broken_suppositions(session: Session) -> Iterator[str]:
    """Answers of scope LEDGER to nodes as they would be that differ from those to nodes as they become."""
    for task, *others in gangs(session):
        for row in range(len(session.nodes)):
            supposed = SupposedStates(
                session.nodes, session.pods, np.array([row]), task, np.array([len(others)])
            )
            foreseen = {str(one): one.ask(task, supposed) for one in _of_scope(session, task, Scope.LEDGER)}
            for other in others:
                session.put(other, row, Status.ALLOCATED)
            for one in _of_scope(session, task, Scope.LEDGER):
                if not same(foreseen[str(one)], found := on_rows(one.value, [row])):
                    yield f"{one}: it foresees {foreseen[str(one)]!r}, but then answers {found!r}"
            for other in others:
                session.take_back(other)


def broken_headroom(session: Session) -> Iterator[str]:
    """How many tasks a queue is said to take, and how many it takes."""
    asks = {point: ask for point in (ALLOCATABLE, HEADROOM) for ask in session.answers_to(point)}
    if len(asks) < 2:
        return
    for tasks in gangs(session):
        queue = session.queues[session.jobs[tasks[0].job].queue]
        foreseen = asks[HEADROOM](queue, tasks[0], len(tasks))
        taken: list[Task] = []
        for task in tasks:
            if not asks[ALLOCATABLE](queue, task):
                break
            session.put(task, 0, Status.ALLOCATED)
            taken.append(task)
        if foreseen != len(taken):
            yield f"headroom on {tasks[0].key}: it says {foreseen}, but the queue takes {len(taken)}"
        for task in taken:
            session.take_back(task)


def broken_crowds(open_session: Callable[[], Session]) -> Iterator[str]:
    """Answers that differ between tasks placed at once and tasks placed one by one."""
    at_once, singly = open_session(), open_session()
    for tasks, twins in zip(gangs(at_once), gangs(singly), strict=True):
        at_once.put_all(tasks, [0] * len(tasks), Status.ALLOCATED)
        for twin in twins:
            singly.put(twin, 0, Status.ALLOCATED)
    said = {str(answer): answer.value for answer in all_answers(singly)}
    for answer in all_answers(at_once):
        if not same(said[str(answer)], answer.value):
            yield f"{answer}: after on_allocate_all it is {answer.value!r}, not {said[str(answer)]!r}"


def broken_constants(session: Session) -> Iterator[str]:
    """Answers of scope CANDIDATES that are alike for all nodes, and no longer are for some of them."""
    for answer in asked_about_nodes(session):
        if answer.scope is not Scope.CANDIDATES or isinstance(answer.value, np.ndarray):
            continue
        for row in range(len(session.nodes)):
            fewer = np.arange(len(session.nodes)) != row
            if not same(answer.value, found := answer.ask_again(fewer)):
                yield f"{answer}: {answer.value!r} for all nodes, but {found!r} without node {row}"


def gangs(session: Session) -> list[list[Task]]:
    """Waiting tasks that look alike, job by job; a task without its like is left out."""
    if not len(session.nodes):
        return []
    found: dict[Any, list[Task]] = {}
    for job in session.jobs.values():
        for task in job.roster.having(Status.PENDING).values():
            found.setdefault((job.uid, session.fitting.key_of(task)), []).append(task)
    return [tasks for tasks in found.values() if len(tasks) > 1]


def _of_scope(session: Session, task: Task, scope: Scope) -> list[GivenAnswer]:
    answers = asked_about_nodes(session)
    return [answer for answer in answers if answer.scope is scope and answer.question[0] is task]


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


def _told_to_many(session: Session, answer: GivenAnswer, name: str) -> Worth:
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
