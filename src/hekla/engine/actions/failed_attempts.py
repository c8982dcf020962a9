"""Failed attempts: a gang like one that has just found too little room need not be tried again.

On a crowded cluster most jobs that wait are of a few kinds. As long as the nodes are as they were, a gang of
the same kind in the same queue would find the same places, fail at the same task for the same reason, and
give all of it back.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import msgspec

from hekla.engine.actions.placing import is_plain, partial_fit
from hekla.engine.framework.orders import OrderedTasks
from hekla.engine.framework.session import Session
from hekla.engine.model.diagnosis import Diagnosis
from hekla.engine.model.job import Job
from hekla.engine.model.task import Task, UndonePlacement


class FailedAttempt(msgspec.Struct, frozen=True):
    """What the first tasks had got before it was undone, and why the next one found no node."""

    nearly: tuple[UndonePlacement, ...]
    diagnosis: Diagnosis


class FailedAttempts:
    """By kind of gang, how the latest attempt ended; good while the nodes are as they were."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._version = -1
        self._known: dict[Hashable, FailedAttempt] = {}

    def _kind_of(self, job: Job, tasks: Sequence[Task]) -> Hashable | None:
        """Class, count and queue: equal for gangs that fare alike; None where that cannot be told."""
        session, roster = self._session, job.roster
        if not session.runs_are_foreseeable or not session.no_plugin_objects or job.has_topology:
            return None
        if roster.minimum != len(roster) or len(tasks) != len(roster) or roster.is_pipelined:
            return None
        if job.sub_jobs[job.uid].nominated:
            return None
        first, key_of = tasks[0], session.scoring.key_of
        key = key_of(first)
        if not session.scoring.is_foreseeable(first):
            return None
        if not all([is_plain(task) and key_of(task) == key for task in tasks]):
            return None
        return key, len(tasks), job.queue

    def repeat(self, job: Job, tasks: OrderedTasks) -> bool:
        """End the attempt for this gang as that for the one before it ended; False where there was none."""
        if self._version != self._session.nodes.journal.version:
            self._known.clear()
        if not self._known or job.fit_errors:
            return False
        waiting = list(tasks)
        failed = self._known.get(self._kind_of(job, waiting))
        if failed is None:
            return False
        for task, nearly in zip(waiting, failed.nearly, strict=False):
            task.last = nearly
        self._session.refuse(waiting[len(failed.nearly)], failed.diagnosis)
        if failed.nearly:
            self._session.trace.of_job(job.uid, partial_fit(len(failed.nearly), job.roster.minimum))
        return True

    def remember(self, job: Job, tasks: Sequence[Task], placed: int) -> None:
        """The attempt for this gang has just been undone; the first so many of its tasks were placed."""
        self._version = self._session.nodes.journal.version
        if len(job.fit_errors) != 1 or placed >= len(tasks):
            return
        kind = self._kind_of(job, tasks)
        if kind is None:
            return
        diagnosis = job.fit_errors.get(tasks[placed].uid)
        nearly = tuple([task.last for task in tasks[:placed] if task.last is not None])
        if diagnosis is not None and len(nearly) == placed:
            self._known[kind] = FailedAttempt(nearly, diagnosis)
