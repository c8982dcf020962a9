"""At once: what becomes of most jobs, told without the long way that `placing` goes.

Each of these ends as the long way would, or does nothing and says so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice

from hekla.engine.actions.placing import WORTH_PLANNING, is_plain
from hekla.engine.actions.worksheet import Worksheet
from hekla.engine.framework.orders import TaskLine
from hekla.engine.framework.session import Session
from hekla.engine.framework.standings import Line
from hekla.engine.model.job import Job, SubJob
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task, have_one_template


def place_few(session: Session, job: Job, sub_job: SubJob, worksheet: Worksheet) -> bool:
    """Bind the next tasks of a job, where few are all it takes, all alike, and the standings tell the nodes.

    A small gang gets all it lacks, a job that has its minimum one task in a turn: on a cluster of many
    small jobs this is most of what allocate does. False, and nothing done, where a closer look is needed.
    """
    tasks, count = worksheet.tasks_of[sub_job.uid], max(job.roster.missing, 1)
    if count >= WORTH_PLANNING or job.fit_errors or sub_job.nominated or not isinstance(tasks, deque):
        return False
    if len(tasks) <= worksheet.others:
        worksheet.line, alike = _line_of(session, job, tasks)
        worksheet.others = len(tasks) - alike
    if worksheet.line is None or count > len(tasks) - worksheet.others:
        return False
    if session.headroom(session.queues[job.queue], tasks[0], count) < count:
        return False
    few = list(islice(tasks, count))
    if not _place_all(session, worksheet.line, few):
        return False
    if not session.is_ready(job):
        _take_back_all(session, few)
        return False
    session.send(few)
    for _ in few:
        tasks.popleft()
    return True


def _line_of(session: Session, job: Job, tasks: deque[Task]) -> tuple[Line | None, int]:
    """What the standings tell the first tasks, and how many are alike, so that it holds for them all."""
    first, fitting = tasks[0], session.fitting
    if not session.foresees or not session.nobody_objects or job.has_topology or job.has_policies:
        return None, len(tasks)
    if session.objection_to(first) is not None or (line := fitting.line_in_standings(first)) is None:
        return None, 1
    alike = 0
    for task in tasks:
        if not is_plain(task) or not fitting.are_alike(first, task):
            break
        alike += 1
    return line, alike


def _place_all(session: Session, line: Line, tasks: Sequence[Task]) -> bool:
    line.refresh()
    for at, task in enumerate(tasks):
        row = line.best()
        if row is None:
            _take_back_all(session, tasks[:at])
            return False
        task.evicted = False
        session.put(task, row, Status.BINDING)
        if at + 1 < len(tasks):
            line.taken(row)
    return True


def _take_back_all(session: Session, tasks: Sequence[Task]) -> None:
    for task in reversed(tasks):
        session.take_back(task)


def refuse_at_once(session: Session, job: Job, sub_job: SubJob, tasks: TaskLine) -> bool:
    """Refuse the first task of a gang that cannot do without it, where one just like it found no node before.

    On a full cluster this is what becomes of most that wait, cycle after cycle. False, and nothing done,
    where a closer look is needed.
    """
    roster, fitting = job.roster, session.fitting
    if roster.minimum != len(roster) or not fitting.knows_hopeless or not session.requires_minimums:
        return False
    if roster.is_pipelined:
        return False
    if job.fit_errors or sub_job.nominated or not isinstance(tasks, deque) or tasks[0].is_gated:
        return False
    task = tasks[0]
    diagnosis = fitting.why_hopeless(task)
    if diagnosis is None or not session.is_allocatable(session.queues[job.queue], task):
        return False
    if session.objection_to(task) is not None:
        return False
    session.refuse(task, diagnosis)
    return True


def is_beyond_its_queue(session: Session, job: Job, tasks: TaskLine) -> bool:
    """Whether the queue may take none of the tasks, so that none would be tried."""
    queue = session.queues[job.queue]
    if not session.foresees or not isinstance(tasks, deque) or session.is_allocatable(queue, tasks[0]):
        return False
    others = [task for task in tasks if not have_one_template(task.pod, tasks[0].pod)]
    return not any(session.is_allocatable(queue, task) for task in others)
