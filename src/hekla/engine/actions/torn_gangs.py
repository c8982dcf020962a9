"""Torn gangs: one that found room for a part of it only need not be tried again by another just like it.

On a crowded cluster most of what waits is of a few kinds. As long as nothing was kept since, a gang of the
same kind in the same queue would find the same places, fail at the same task for the same reason, and give
all of it back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass

from hekla.engine.actions.placing import is_plain, torn_words
from hekla.engine.framework.orders import TaskLine
from hekla.engine.framework.session import Session
from hekla.engine.model.diagnosis import Diagnosis
from hekla.engine.model.job import Job, SubJob
from hekla.engine.model.task import Task


@dataclass(frozen=True, slots=True)
class Tear:
    """So many tasks found a place, and the next one found none."""

    placed: int
    diagnosis: Diagnosis


class TornGangs:
    """By kind of gang, how the latest try ended; all forgotten as soon as anything is kept."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.tears: dict[Hashable, Tear] = {}
        """Mostly there are none, and then nobody need be asked."""

    def kind_of(self, job: Job, sub_job: SubJob, tasks: TaskLine) -> Hashable | None:
        """Equal for gangs that fare alike; None where that cannot be told beforehand."""
        session, roster = self._session, job.roster
        if not session.shortcuts.runs or not session.foresees or not session.nobody_objects:
            return None
        if roster.minimum != len(roster) or len(tasks) != len(roster) or not isinstance(tasks, deque):
            return None
        if job.fit_errors or job.has_topology or sub_job.nominated or roster.is_pipelined:
            return None
        key_of = session.fitting.key_of
        key = key_of(tasks[0])
        if not all(is_plain(task) and key_of(task) == key for task in tasks):
            return None
        return key, len(tasks), job.queue

    def refuse(self, job: Job, sub_job: SubJob, tasks: TaskLine) -> bool:
        """End the try of this gang as that of the one before ended, if there was one."""
        tear = self.tears.get(self.kind_of(job, sub_job, tasks))
        if tear is None:
            return False
        self._session.refuse(_nth(tasks, tear.placed), tear.diagnosis)
        if tear.placed:
            self._session.story.of_job(job.uid, torn_words(tear.placed, job.roster.minimum))
        return True

    def remember(self, kind: Hashable | None, job: Job, line: tuple[Task, ...], placed: int) -> None:
        """The gang has just failed with so many tasks placed."""
        if kind is None or len(job.fit_errors) != 1 or placed >= len(line):
            return
        diagnosis = job.fit_errors.get(line[placed].uid)
        if diagnosis is not None:
            self.tears[kind] = Tear(placed, diagnosis)

    def forget(self) -> None:
        """Something was kept: whoever comes next may fare otherwise."""
        self.tears.clear()


def _nth(tasks: TaskLine, number: int) -> Task:
    assert isinstance(tasks, deque)
    return tasks[number]
