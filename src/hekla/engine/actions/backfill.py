"""Backfill: place tasks that ask for nothing wherever a pod more is welcome.

On request, it also lets jobs that can start take room that the session keeps for jobs that cannot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hekla.conf import argument
from hekla.engine.actions.reserved_room import backfill_reserved_room, best_node, is_refused_everywhere
from hekla.engine.actions.victim_search import ungated_tasks
from hekla.engine.framework.action import Action
from hekla.engine.framework.finder import NOTHING_TO_REMEMBER, error_cache_argument
from hekla.engine.framework.orders import FairOrder, tasks_in_order
from hekla.engine.framework.session import Session
from hekla.engine.model.job import Job
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.engine.state.attention import WaitingRules


@dataclass(frozen=True)
class BackfillArguments:
    error_cache: bool = error_cache_argument(NOTHING_TO_REMEMBER)
    takes_reserved_room: bool = argument(
        False,
        key="kubeBatchBackfillEnable",
        help="give room kept for jobs that cannot start yet to jobs of the same queue that can",
    )


class Backfill(Action):
    name = "backfill"
    Arguments = BackfillArguments

    def leaves_waiting(self, rules: WaitingRules) -> WaitingRules:
        """Jobs that ask for something; unless room that others keep is to be given to them."""
        return super().leaves_waiting(rules) if self.arguments.takes_reserved_room else rules

    def run(self, session: Session) -> None:
        # The order is fixed before anything is placed: placing a task does not re-order the rest.
        for task in list(in_order(session)):
            place(session, task)
        if self.arguments.takes_reserved_room:
            backfill_reserved_room(session)


def in_order(session: Session) -> Iterator[Task]:
    """All tasks of the first job of the first queue, then of its next job, then of the next queue."""
    tasks_of: dict[str, list[Task]] = {}
    for job in session.jobs_in_line():
        # A job that cannot be scheduled at all is told so; in quiet sessions few need to be asked.
        is_concerned = not session.is_quiet or job.roster.pending_best_effort or job.roster.waiting
        if is_concerned and session.is_eligible(job) and (tasks := best_effort_tasks(session, job)):
            tasks_of[job.uid] = tasks
    if not tasks_of:
        return
    agenda = FairOrder(session)
    for uid in tasks_of:
        agenda.add(session.jobs[uid])
    while agenda.queues:
        jobs = agenda.jobs_of[agenda.queues.pop().name]
        while jobs:
            yield from tasks_in_order(session, tasks_of[jobs.pop().uid])


def best_effort_tasks(session: Session, job: Job) -> list[Task]:
    """Pending ones, and pipelined ones: they need no room, so they give it back."""
    pipelined = [task for task in job.roster.having(Status.PIPELINED).values() if task.is_best_effort]
    pending = [task for task in ungated_tasks(job) if task.is_best_effort]
    for task in pipelined:
        session.take_back(task)
    return pending + pipelined


def place(session: Session, task: Task) -> None:
    """Put the task on the best node that lets it in; what keeps it out is remembered."""
    if is_refused_everywhere(session, task):
        return
    row = best_node(session, task, session.scoring.open_nodes(task))
    if row is None:
        everywhere = np.ones(len(session.nodes), dtype=np.bool_)
        session.refuse(task, session.scoring.diagnose(task, everywhere, with_room=False))
    elif not session.allocate_at_once(task, row):
        job = session.jobs[task.job]
        job.fit_errors[task.uid] = job.objections[task.uid]
