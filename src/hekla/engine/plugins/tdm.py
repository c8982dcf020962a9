"""Tdm: some nodes are lent out for a part of the day only, to tasks that accept being sent away.

A node with the label `volcano.sh/revocable-zone` may be used while its zone's window is open. Windows
are read as UTC: Volcano takes the time zone of the machine it happens to run on. As in Volcano, a
window over midnight is open before midnight and closed after it.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hekla.conf import argument, arguments_by_prefix
from hekla.engine.framework.orders import by_name, least_important_first
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import (
    JOB_ORDER,
    JOB_PIPELINED,
    JOB_STARVING,
    NODE_ORDER,
    PREDICATE,
    PREEMPTABLE,
    VICTIM_TASKS,
    Scope,
    answers,
)
from hekla.engine.framework.rules import Vote
from hekla.engine.ledger.arrays import Floats, Mask
from hekla.engine.model.diagnosis import Code, Refusal
from hekla.engine.model.job import Job
from hekla.engine.model.status import Status
from hekla.engine.model.task import NOWHERE, Task, parse_bool
from hekla.engine.model.wait_reason import Verdict
from hekla.objects.keys import BUDGET_MAX_UNAVAILABLE, BUDGET_MIN_AVAILABLE, REVOCABLE_ZONE
from hekla.objects.keys import PREEMPTABLE as PREEMPTABLE_NOTE
from hekla.objects.quantity import read_seconds

ANY_ZONE = "*"
MAX_NODE_SCORE = 100.0
USUAL_VICTIMS = 1
DAY = 24 * 60 * 60
LAST_EVICTION = "tdm.last-eviction"
"""Key of the session's memory: when victims were looked for last, in seconds since 1970."""

CLOSED = "node(s) were in a revocable zone that is not active"
NOT_ACCEPTED = "node(s) were revocable, which the pod does not accept"

_WINDOW = re.compile(r"(\d{1,2}):(\d{2})-(\d{1,2}):(\d{2})", re.ASCII)


@dataclass(frozen=True)
class TdmArguments:
    zones: Mapping[str, str] = arguments_by_prefix(
        "tdm.revocable-zone",
        {},
        help="when the nodes of the zone may be used, `HH:MM-HH:MM` in UTC; anything else means never",
    )
    evict_period: str = argument(
        "1m", key="tdm.evict.period", check=read_seconds, help="how often tasks are sent away at most"
    )


class Tdm(Plugin):
    name = "tdm"
    acts_on_time = True
    Arguments = TdmArguments

    def on_open(self) -> None:
        labels, now = self.session.nodes.labels.column(REVOCABLE_ZONE), self.session.now
        self._is_open = {zone: is_within(window, now) for zone, window in self.arguments.zones.items()}
        self._revocable: Mask = labels.present & ~labels.equals("")
        self._usable = self._revocable & labels.where_value(self._is_open)
        self._victims: list[Task] | None = None

    def distinguishes(self, task: Task) -> Hashable:
        return accepts_revocable(task)

    # Who may use the nodes

    @answers(PREDICATE, Scope.CLASS)
    def refuse_revocable_nodes(self, task: Task) -> list[Refusal] | None:
        refusals = [
            Refusal(
                CLOSED,
                self._revocable & ~self._usable,
                Code.UNRESOLVABLE,
                "revocable zone not active",
                Verdict.NOT_YET,
            )
        ]
        if not accepts_revocable(task):
            plain = "revocable, which the task does not accept"
            refusals.append(Refusal(NOT_ACCEPTED, self._usable, Code.UNRESOLVABLE, plain))
        return [refusal for refusal in refusals if refusal.nodes.any()]

    @answers(NODE_ORDER, Scope.CLASS)
    def prefer_revocable_nodes(self, task: Task) -> Floats | None:
        """Volcano also drops other plugins' scores of closed nodes, which are refused anyway."""
        return np.where(self._usable, MAX_NODE_SCORE, 0.0) if accepts_revocable(task) else None

    # Who has to go

    @answers(PREEMPTABLE)
    def preemptable_tasks_on_normal_nodes(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        if preemptor.is_preemptable or accepts_revocable(preemptor):
            return []
        return self._within_budgets(
            task for task in candidates if task.node != NOWHERE and not self._revocable[task.node]
        )

    @answers(VICTIM_TASKS)
    def tasks_on_closed_nodes(self, _running: Sequence[Task]) -> list[Task]:
        """The same ones whenever asked in a session, and none so soon after the last time."""
        if self._victims is None:
            self._victims = list(self._find_victims()) if self._is_time() else []
        return self._victims

    def _is_time(self) -> bool:
        now, memory = self.session.now, self.session.memory
        last = memory.get(LAST_EVICTION)
        if last is not None and now - last < read_seconds(self.arguments.evict_period):
            return False
        memory[LAST_EVICTION] = now
        return True

    def _find_victims(self) -> Iterator[Task]:
        nodes = self.session.nodes
        labels = nodes.labels.column(REVOCABLE_ZONE)
        for zone in (zone for zone, is_open in self._is_open.items() if not is_open):
            rows = np.flatnonzero(labels.equals(zone))
            tasks = [task for row in rows for task in nodes.tasks_on[row].values()]
            yield from self._within_budgets(least_important_first(self.session, by_name(tasks)))

    def _within_budgets(self, tasks: Iterable[Task]) -> list[Task]:
        """Of each job's running tasks that may be sent away, as many as its budget allows, in their order."""
        by_job: dict[str, list[Task]] = {}
        for task in tasks:
            if task.is_preemptable and task.status is Status.RUNNING and task.job in self.session.jobs:
                by_job.setdefault(task.job, []).append(task)
        return [task for uid, some in by_job.items() for task in some[: most_victims(self.session.jobs[uid])]]

    # Jobs

    @answers(JOB_ORDER, Scope.JOB)
    def lasting_jobs_first(self, job: Job) -> bool:
        return job.is_preemptable

    @answers(JOB_PIPELINED)
    def will_have_its_minimum(self, job: Job) -> Vote:
        return Vote.PERMIT if job.roster.is_pipelined else Vote.REJECT

    @answers(JOB_STARVING)
    def is_lasting_and_waits(self, job: Job) -> bool:
        return not job.is_preemptable and bool(job.roster.having(Status.PENDING))


def accepts_revocable(task: Task) -> bool:
    """The annotation decides; without it, being preemptable by annotation is enough."""
    notes = task.pod.metadata.annotations
    if REVOCABLE_ZONE in notes:
        return notes[REVOCABLE_ZONE] == ANY_ZONE
    return parse_bool(notes.get(PREEMPTABLE_NOTE, "")) is True


def is_within(window: str, now: float) -> bool:
    """Whether it is between the two times of today; a window that cannot be read is never open."""
    times = _WINDOW.fullmatch(window.strip())
    if times is None:
        return False
    hour, minute, last_hour, last_minute = map(int, times.groups())
    if max(hour, last_hour) > 23 or max(minute, last_minute) > 59:
        return False
    start, end = (hour * 60 + minute) * 60, (last_hour * 60 + last_minute) * 60
    if start >= end:
        end += DAY
    return start <= int(now) % DAY <= end


def most_victims(job: Job) -> int:
    """How many running tasks of a job may be sent away at once, by its disruption budget."""
    notes, running = job.pod_group.metadata.annotations, len(job.roster.having(Status.RUNNING))
    if at_least := notes.get(BUDGET_MIN_AVAILABLE):
        surplus = running - read_budget(at_least, len(job.roster))
        return surplus if surplus >= 0 else USUAL_VICTIMS
    if at_most := notes.get(BUDGET_MAX_UNAVAILABLE):
        over = job.roster.count((Status.SUCCEEDED, Status.FAILED))
        return max(read_budget(at_most, len(job.roster)) - (len(job.roster) - over - running), 0)
    return USUAL_VICTIMS


def read_budget(text: str, tasks: int) -> int:
    """A count, or a percentage of the tasks, rounded up; 0 where it is neither."""
    number = text.removesuffix("%")
    if re.fullmatch(r"[+-]?\d{1,9}", number, re.ASCII) is None:
        return 0
    return int(number) if number == text else -(-int(number) * tasks // 100)
