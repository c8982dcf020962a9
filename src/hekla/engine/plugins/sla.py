"""Sla: a job that has waited longer than it may is admitted, and holds what it is promised."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from hekla.conf import argument
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import JOB_ENQUEUEABLE, JOB_ORDER, JOB_PIPELINED, Scope, answers
from hekla.engine.framework.rules import Vote
from hekla.engine.model.job import Job
from hekla.engine.model.status import Status
from hekla.errors import InputError
from hekla.objects.keys import VOLCANO_WAITING_TIME, WAITING_TIME
from hekla.objects.quantity import read_seconds

ANNOTATIONS = (VOLCANO_WAITING_TIME, WAITING_TIME)


def patience(text: str) -> float:
    """A span of time that one can wait, in seconds; raises InputError where the text is none."""
    seconds = read_seconds(text)
    if seconds <= 0:
        raise InputError(f'"{text}" is no time to wait; write it like "10m" or "1h30m"')
    return seconds


@dataclass(frozen=True)
class SlaArguments:
    waiting_time: str | None = argument(
        None,
        key=WAITING_TIME,
        check=lambda text: text is None or patience(text),
        help='how long a job may wait that does not say it itself, such as "1h30m"; none: for ever',
    )


class Sla(Plugin):
    """It only ever speaks for a job: to overrule others it must stand in a tier before them."""

    name = "sla"
    acts_on_time = True
    Arguments = SlaArguments

    def on_open(self) -> None:
        text = self.arguments.waiting_time
        self.usual_limit = math.inf if text is None else patience(text)

    @answers(JOB_ORDER, Scope.JOB)
    def earliest_deadline_first(self, job: Job) -> float:
        return job.created + self._limit_of(job)

    @answers(JOB_ENQUEUEABLE)
    @answers(JOB_PIPELINED)
    def has_waited_too_long(self, job: Job) -> Vote:
        return Vote.PERMIT if self.session.now - job.created >= self._limit_of(job) else Vote.ABSTAIN

    def wake_at(self) -> float:
        """When the next of the jobs that wait will have waited too long."""
        waiting = [job for job in self.session.jobs_in_line() if job.roster.having(Status.PENDING)]
        deadlines = map(self.earliest_deadline_first, waiting)
        return min([one for one in deadlines if one > self.session.now], default=math.inf)

    def _limit_of(self, job: Job) -> float:
        return next(_own_limits(job), self.usual_limit)


def _own_limits(job: Job) -> Iterator[float]:
    """What the job says itself, the better spelling first; nonsense is passed over."""
    notes = job.pod_group.metadata.annotations
    for text in (notes[key] for key in ANNOTATIONS if key in notes):
        try:
            yield patience(text)
        except InputError:
            continue
