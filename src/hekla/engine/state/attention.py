"""Attention: which jobs a cycle looks at, as one table that owns every change of place.

Every job is in one of three places:

- active: something may be left to decide about it, or to tell of it;
- at rest: it runs, or has run, whole and its PodGroup says so;
- waiting: it was not admitted, or found no room, and is looked at again when its row of the table wakes.

Whatever happens to a job, or an object that it depends on, makes it active again. What all jobs of a queue
hold and ask for is kept as sums, so that plugins need not visit thousands of jobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import msgspec
import numpy as np

from hekla.engine.ledger.arrays import Amounts, Floats
from hekla.engine.ledger.demand import CLAIMED, WAITING, Books, QueueSums, sum_of, sums_of
from hekla.engine.ledger.nodes import NodeLedger
from hekla.engine.model.benefit import BenefitStage, benefit_of
from hekla.engine.model.job import INQUEUE, Job
from hekla.engine.model.status import ALLOCATED_SET, Status
from hekla.engine.state.waiting import (
    AdmissionBacklog,
    PlacementBacklog,
    admission_kind,
    placement_kind,
    waits_for_admission_alone,
    waits_for_room_alone,
)
from hekla.objects.scheduling import PodGroupStatus

AT_REST = (Status.BOUND, Status.RUNNING, Status.SUCCEEDED, Status.FAILED)


class NodeBooks(Books, Protocol):
    """Books that know the nodes, too."""

    @property
    def nodes(self) -> NodeLedger: ...


class WaitingRules(msgspec.Struct, frozen=True):
    """Which jobs may wait in the table under a configuration."""

    ordered_by: object = None
    """Equal as long as the same plugins put jobs in order."""
    are_admitted: bool = False
    """An action admits jobs that wait in the table; else no job waits there that is not admitted."""
    for_admission: bool = False
    """Jobs that are not admitted: who asks for the same is refused alike."""
    admits_all: bool = False
    """No plugin votes on admission."""
    for_room: bool = False
    """Admitted jobs: they start whole or not at all, and nothing but room decides whether they can."""
    once_told: bool = False
    """Only those of which a session has told why they wait, and that to the end."""


NOTHING_WAITS = WaitingRules()


def is_at_rest(job: Job, status: PodGroupStatus) -> bool:
    """Admitted, started, none of its tasks waits or leaves, and time alone changes nothing of that status."""
    if job.is_pending or job.phase == INQUEUE or job.roster.count(AT_REST) != len(job.roster):
        return False
    benefit = benefit_of(status)
    return not job.names_unknown_tier and (benefit is None or benefit.stage is not BenefitStage.RESERVED)


def says_all(job: Job, status: PodGroupStatus) -> bool:
    """Whether the PodGroup says just this, and this is how its tasks fare."""
    roster = job.roster
    return (
        job.pod_group.status == status
        and len(roster) >= roster.minimum
        and status.running == len(roster.having(Status.RUNNING))
        and status.succeeded == len(roster.having(Status.SUCCEEDED))
        and status.failed == len(roster.having(Status.FAILED))
    )


class GivenBack:
    """What jobs have given back since it was known how much could be admitted to each queue."""

    def __init__(self, facts: NodeBooks, sums: Mapping[str, QueueSums]) -> None:
        self._facts = facts
        self._used = facts.nodes.used_in_all.copy()
        self._tables = {queue: one.table for queue, one in sums.items()}

    def admit(self, queue: str, amounts: Amounts) -> None:
        """A job of the queue was admitted since, and what is known is what was left then."""
        table = self._tables[queue] = self._tables[queue].copy()
        for row in (WAITING, CLAIMED):
            table[row] += amounts

    def at_most(self, sums: Mapping[str, QueueSums]) -> Amounts:
        """So much more may any queue admit by now; in plain numbers, because small arrays are slow."""
        unclaimed: list[int] = (self._used - self._facts.nodes.used_in_all).tolist()
        given_back = [0] * len(unclaimed)
        for queue, before in self._tables.items():
            now = sums.get(queue)
            if now is None or now.table is not before:
                less = before if now is None else before - now.table
                for column, (held, elastic, waiting, claimed, _) in enumerate(less.T.tolist()):
                    given_back[column] += max(held + waiting - min(elastic, 0), 0)
                    unclaimed[column] += claimed
        return np.array(list(map(max, given_back, unclaimed)), dtype=np.int64)


class Attention:
    """The table; sums and vectors of jobs are laid out as the facts say."""

    def __init__(self, facts: NodeBooks) -> None:
        self._facts = facts
        self.active: dict[str, Job] = {}
        self.resting: dict[str, Job] = {}
        self.rules = NOTHING_WAITS
        self.queue_sums: dict[str, QueueSums] = {}
        """By queue, of all its jobs; a queue without any is not there."""
        self._sums_of_job: dict[str, tuple[str, Amounts]] = {}
        self._jobs_in: dict[str, int] = {}
        self.in_line: dict[str, Job] = {}
        """The jobs for which a session may find something to do: active ones, and those that lose tasks."""
        self._led_by: object = None
        self._changed: dict[str, None] = {}
        self._without_news: list[Job] = []
        self._new_notes: dict[str, Any] = {}
        self.last_notes: dict[str, Any] = {}
        """By UID of a job that waits, the notes of the session that looked at it last."""
        self._reported: dict[str, PodGroupStatus] = {}
        """By UID the last reported status of jobs at rest, where it is still to come true."""
        self._lay_out()

    def _lay_out(self) -> None:
        self._axis = self._facts.axis
        self.to_admit = AdmissionBacklog(len(self._axis))
        self.to_place = PlacementBacklog(len(self._axis))
        self.unasked: dict[str, Job] = {}
        """Jobs that wait for room and will be admitted as soon as there is a cycle."""
        self._given_back: GivenBack | None = None
        """None: how much may be admitted to the queues is not known."""

    # While a session runs

    def begin(self, led_by: object) -> None:
        """A session begins; under another configuration, there may be news even of jobs at rest."""
        if self._led_by != led_by:
            self.follow_rules(NOTHING_WAITS)
            for job in list(self.resting.values()):
                self.activate(job)
        self._led_by = led_by
        self.in_line = {uid: job for uid, job in self.active.items() if not job.runs_whole}

    def follow_rules(self, rules: WaitingRules) -> None:
        """From now on these say which jobs may wait in the table."""
        if rules != self.rules:
            for job in self.waiting():
                self.activate(job)
            self.rules = rules

    def activate(self, job: Job) -> None:
        """The job is looked at in this session, like any active one."""
        self._drop(job.uid)
        self.active[job.uid] = self.in_line[job.uid] = job

    def report(self, job: Job, news: PodGroupStatus | None) -> None:
        """The session told this of the job and no more: at rest, it need not be looked at any longer."""
        if not is_at_rest(job, news or job.pod_group.status):
            return
        if news is None:
            self._without_news.append(job)
        else:
            self._reported[job.uid] = news

    def has_told(self, job: Job, notes: Any) -> None:
        """The session has nothing to tell of the job that was not known; these are its notes on it."""
        self._new_notes[job.uid] = notes

    def expect(self, job: str, status: PodGroupStatus) -> None:
        """A cycle that was left out would have told this of the job."""
        self._reported[job] = status

    def know_room(self, room: Mapping[str, Floats], admitted: Iterable[tuple[str, Amounts]]) -> None:
        """So much more may be admitted to each queue, after these amounts were in this session."""
        self.to_admit.limit(room)
        self._given_back = GivenBack(self._facts, self.queue_sums)
        for queue, amounts in admitted:
            self._given_back.admit(queue, amounts)

    def end(self) -> None:
        """The session is rewound: jobs of which it had no news are no longer active."""
        for job in self._without_news:
            if job.uid in self.active:
                self._rest(job)
        self._without_news.clear()
        if self.rules.once_told:
            for uid, notes in self._new_notes.items():
                if uid in self.active and self._let_wait(self.active[uid]):
                    self.last_notes[uid] = notes
        elif self.rules is not NOTHING_WAITS:
            for job in list(self.active.values()):
                self._let_wait(job)
        self._new_notes.clear()

    # While changes are taken in

    def change(self, *jobs: str) -> None:
        """Something happened to the jobs of these UIDs."""
        for job in jobs:
            self._changed[job] = None

    def outdate(self, *jobs: str) -> None:
        """The same, and the jobs are no longer what their status was reported of."""
        self.change(*jobs)
        for job in jobs:
            self._reported.pop(job, None)

    @property
    def has_news(self) -> bool:
        """Whether anything has changed since the table was last brought up to date."""
        return bool(self._changed or self._reported)

    def waiting(self) -> list[Job]:
        """The jobs that wait until something changes for them."""
        return [*self.to_admit.jobs(), *self.to_place.jobs()]

    def wake(self) -> None:
        """All that waits is looked at by the next session."""
        for job in self.waiting():
            self._drop(job.uid)
            self.active[job.uid] = job

    def forget_admission_room(self) -> None:
        """Queues say something else, or nodes have another sum: how much may be admitted is not known."""
        self._given_back = None

    def renew(self, jobs: Mapping[str, Job]) -> None:
        """Changed jobs are active again, but for those of which all was reported before."""
        if self._axis is not self._facts.axis:
            self._begin_anew()
        zero = np.zeros(len(self._axis), dtype=np.int64)
        for uid in self._changed:
            job = jobs.get(uid)
            self._drop(uid)
            self._forget_sums(uid)
            if job is not None:
                job.tidy()
                job.held = sum_of(job.roster.among(ALLOCATED_SET), zero)
                self._count(job)
                self.active[uid] = job
        for uid, status in self._reported.items():
            job = self.active.get(uid)
            if job is not None and is_at_rest(job, status) and says_all(job, status):
                self._rest(job)
        self._reported.clear()
        self.to_place.follow(self._facts.nodes)
        if self.rules is not NOTHING_WAITS and not self.rules.once_told:
            for uid in self._changed:
                if uid in self.active:
                    self._let_wait(self.active[uid])
        self._changed.clear()

    def _begin_anew(self) -> None:
        """Resources have other columns: all jobs have changed."""
        waiting = self.waiting()
        self._lay_out()
        self.last_notes.clear()
        self.queue_sums.clear()
        self._sums_of_job.clear()
        self._jobs_in.clear()
        self.active.update((job.uid, job) for job in waiting)

    @property
    def may_decide(self) -> bool:
        """Whether a cycle could do anything for a job as things are."""
        if any([not job.runs_whole for job in self.active.values()]):
            return True
        if len(self.to_place) and self.to_place.is_any_awake(self._facts.nodes):
            return True
        given_back = self._given_back
        return len(self.to_admit) > 0 and (
            given_back is None or self.to_admit.is_any_to_fit(given_back.at_most(self.queue_sums))
        )

    def _drop(self, uid: str) -> None:
        if self.active.pop(uid, None) is not None or self.resting.pop(uid, None) is not None:
            return
        if self.to_admit.remove(uid) or self.to_place.remove(uid):
            self.last_notes.pop(uid, None)
            self.unasked.pop(uid, None)

    def _rest(self, job: Job) -> None:
        del self.active[job.uid]
        self.resting[job.uid] = job

    def _let_wait(self, job: Job) -> bool:
        """The job waits in the table from now on, if it may; whether it does."""
        rules, is_pending = self.rules, job.is_pending
        if is_pending and not rules.are_admitted:
            return False
        is_unasked = is_pending and not rules.once_told and (rules.admits_all or job.min_resources is None)
        if rules.for_room and (is_unasked or not is_pending) and waits_for_room_alone(job):
            del self.active[job.uid]
            self.to_place.add(job, placement_kind(job))
            if is_pending:
                self.unasked[job.uid] = job
            return True
        if rules.for_admission and waits_for_admission_alone(job):
            del self.active[job.uid]
            self.to_admit.add(job, admission_kind(self._facts, job))
            return True
        return False

    # Sums

    def _count(self, job: Job) -> None:
        own, before = sums_of(self._facts, job), self.queue_sums.get(job.queue)
        self._sums_of_job[job.uid] = job.queue, own
        self.queue_sums[job.queue] = QueueSums(own if before is None else before.table + own)
        self._jobs_in[job.queue] = self._jobs_in.get(job.queue, 0) + 1

    def _forget_sums(self, uid: str) -> None:
        entry = self._sums_of_job.pop(uid, None)
        if entry is None:
            return
        queue, own = entry
        self._jobs_in[queue] -= 1
        if self._jobs_in[queue]:
            self.queue_sums[queue] = QueueSums(self.queue_sums[queue].table - own)
        else:
            del self._jobs_in[queue], self.queue_sums[queue]
