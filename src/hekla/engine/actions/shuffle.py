"""Shuffle: evict the running tasks that plugins would rather see elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from hekla.conf import argument
from hekla.engine.framework import points
from hekla.engine.framework.action import Action
from hekla.engine.framework.session import Session
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.objects.keys import EVICTION_REFUSED


@dataclass(frozen=True)
class ShuffleArguments:
    respects_preemptable: bool = argument(
        False,
        key="respectPreemptable",
        help='leave pods with `volcano.sh/preemptable: "false"` where they are',
    )


class Shuffle(Action):
    name = "shuffle"
    Arguments = ShuffleArguments

    def run(self, session: Session) -> None:
        if not session.has_answer(points.VICTIM_TASKS):
            return
        running = [task for job in session.all_jobs for task in job.roster.having(Status.RUNNING).values()]
        offered = [task for task in running if self._may_move(task)]
        for task, who_says_so in session.tasks_to_move(offered):
            # A plugin may go by the pods on nodes instead, and name one that was not offered.
            if task.status is Status.RUNNING and self._may_move(task):
                session.evict_at_once(task, f"{self.name}: {who_says_so}")

    def _may_move(self, task: Task) -> bool:
        if EVICTION_REFUSED in task.pod.metadata.annotations:
            return False
        return task.is_preemptable or not self.arguments.respects_preemptable
