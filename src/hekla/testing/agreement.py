"""Do the answers of a plugin agree: beforehand and one by one, the quick form and the plain one?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from typing import Any

import numpy as np

from hekla.engine.framework.points import ALLOCATABLE, HEADROOM, QUEUE_ORDER, Scope
from hekla.engine.framework.session import Session
from hekla.engine.ledger.states import SupposedStates
from hekla.engine.model.queue import QueueInfo
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.testing.answers import (
    GivenAnswer,
    all_answers,
    asked_about_nodes,
    on_rows,
    same,
    says_something,
)
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
    allocatable, headroom = session.answers_to(ALLOCATABLE), session.answers_to(HEADROOM)
    if not allocatable or not headroom:
        return
    for tasks in gangs(session):
        queue = session.queues[session.jobs[tasks[0].job].queue]
        foreseen = headroom[-1](queue, tasks[0], len(tasks))
        taken: list[Task] = []
        for task in tasks:
            if not allocatable[-1](queue, task):
                break
            session.put(task, 0, Status.ALLOCATED)
            taken.append(task)
        if foreseen != len(taken):
            yield f"headroom on {tasks[0].key}: it says {foreseen}, but the queue takes {len(taken)}"
        for task in taken:
            session.take_back(task)


def broken_runs(open_session: Callable[[], Session]) -> Iterator[str]:
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


def gangs(session: Session) -> list[list[Task]]:
    """Waiting tasks that look alike, job by job; a task without its like is left out."""
    if not len(session.nodes):
        return []
    found: dict[Any, list[Task]] = {}
    for job in session.jobs.values():
        for task in job.roster.having(Status.PENDING).values():
            found.setdefault((job.uid, session.scoring.key_of(task)), []).append(task)
    return [tasks for tasks in found.values() if len(tasks) > 1]


def _of_scope(session: Session, task: Task, scope: Scope) -> list[GivenAnswer]:
    answers = asked_about_nodes(session)
    return [answer for answer in answers if answer.scope is scope and answer.question[0] is task]


def broken_concerns(session: Session) -> Iterator[str]:
    """Answers that say something of a task that does not concern them, at once or after placements."""
    unconcerned = {str(answer) for answer in asked_about_nodes(session) if not _is_concerned(session, answer)}
    yield from _words_of(session, unconcerned)
    for task, row, status in placements(session) if unconcerned else ():
        session.put(task, row, status)
        yield from _words_of(session, unconcerned)


def _is_concerned(session: Session, answer: GivenAnswer) -> bool:
    for handler in session.dispatch.handlers(answer.point):
        if handler.answer == answer.ask and handler.concerns is not None:
            return handler.concerns(handler.plugin, answer.question[0])
    return True


def _words_of(session: Session, unconcerned: set[str]) -> Iterator[str]:
    for answer in asked_about_nodes(session):
        if str(answer) in unconcerned and says_something(answer.value):
            yield f"{answer}: it does not concern such tasks, but answers {answer.value!r}"


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


def _misplaced(session: Session, queues: Sequence[QueueInfo]) -> Iterator[str]:
    for left, right in permutations(queues, 2):
        orders = (compare(left, right) for compare in session.answers_to(QUEUE_ORDER))
        order = next(filter(None, orders), 0)
        mine, theirs = _key(session, left), _key(session, right)
        if (order < 0, order > 0) != (mine < theirs, mine > theirs):
            yield f'queues "{left.name}" and "{right.name}" compare as {order}, by key {mine}, {theirs}'


def _key(session: Session, queue: QueueInfo) -> list[Any]:
    return [key(queue) for key in session.queue_keys or ()]
