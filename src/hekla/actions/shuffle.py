"""Shuffle: evict the running tasks that plugins would rather see elsewhere."""

from __future__ import annotations

from hekla.framework import points
from hekla.framework.action import Action
from hekla.framework.session import Session
from hekla.model.status import Status


class Shuffle(Action):
    name = "shuffle"

    def run(self, session: Session) -> None:
        if not session.has_answer(points.VICTIM_TASKS):
            return
        running = [task for job in session.all_jobs for task in job.roster.having(Status.RUNNING).values()]
        for task in session.ask(points.VICTIM_TASKS, running):
            if task.status is Status.RUNNING:
                session.evict_at_once(task, self.name)
