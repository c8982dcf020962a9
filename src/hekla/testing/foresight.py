"""Foresight: what plugins say beforehand of many tasks must be what they say when tasks come one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hekla.framework.points import ALLOCATABLE, HEADROOM, Scope
from hekla.framework.session import Session
from hekla.ledger.states import SupposedStates
from hekla.model.status import Status
from hekla.model.task import Task
from hekla.testing.answers import Answer, all_answers, asked_about_nodes, on_rows, same


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
    """Waiting tasks that look alike, job by job; those that have nobody like them are left out."""
    if not len(session.nodes):
        return []
    found: dict[Any, list[Task]] = {}
    for job in session.jobs.values():
        for task in job.roster.having(Status.PENDING).values():
            found.setdefault((job.uid, session.fitting.key_of(task)), []).append(task)
    return [tasks for tasks in found.values() if len(tasks) > 1]


def _of_scope(session: Session, task: Task, scope: Scope) -> list[Answer]:
    answers = asked_about_nodes(session)
    return [answer for answer in answers if answer.scope is scope and answer.question[0] is task]
