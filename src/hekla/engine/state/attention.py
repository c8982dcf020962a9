"""Attention: which jobs a cycle looks at, as one table that owns every change of place.

Every job is in one of three places:

- active: something may be left to decide about it, or to tell of it;
- quiescent: it runs, or has run, whole and its PodGroup says so; it takes part by what it holds;
- in the admission backlog: it was refused admission and waits for nothing else; it takes part by what it asks
  for, and is asked for again when its turn comes.

What becomes of a job in a session counts once the session is rewound: then jobs of which there was no news
become quiescent, or part of the backlog. Jobs of which there was some become quiescent once their PodGroup
says so. Whatever happens to a job, or an object that it depends on, makes it active again. So plugins add up
sums of queues instead of visiting thousands of jobs.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterator, Mapping
from operator import itemgetter
from typing import Any

import numpy as np

from hekla.engine.ledger.arrays import Amounts
from hekla.engine.ledger.demand import Books, elastic, sum_of, waiting_demand
from hekla.engine.model.benefit import BenefitStage, benefit_of
from hekla.engine.model.job import INQUEUE, Job
from hekla.engine.model.status import ALLOCATED_SET, Status
from hekla.objects.scheduling import PodGroupStatus

AT_REST = (Status.BOUND, Status.RUNNING, Status.SUCCEEDED, Status.FAILED)

Entry = tuple[tuple[Any, ...], Job]
"""A job, and what jobs are ordered by: no two are equal."""
Kinds = dict[Hashable, list[Entry]]

order = itemgetter(0)


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


def waits_for_admission_alone(job: Job) -> bool:
    """Whether the job takes no part in anything but its admission, whatever happens to other jobs."""
    roster = job.roster
    return (
        job.is_pending
        and job.min_resources is not None
        and not job.has_topology
        and len(roster) == len(roster.having(Status.PENDING)) > 0
        and not any([task.pod.status.nominated_node_name for task in roster.tasks.values()])
    )


def kind_of(job: Job) -> Hashable:
    """Equal for jobs of a queue that ask for the same."""
    return tuple((job.min_resources or {}).items())


class Attention:
    """The table; sums and vectors of jobs are laid out as `books` says."""

    def __init__(self, books: Books) -> None:
        self._books = books
        self.active: dict[str, Job] = {}
        self.quiescent = Quiescent()
        self.backlog = Backlog()
        self.in_line: dict[str, Job] = {}
        """The jobs for which a session may find something to do: active ones, and those that lose tasks."""
        self._led_by: object = None
        self._changed: dict[str, None] = {}
        self._without_news: list[Job] = []
        self._refused: list[tuple[Job, tuple[Any, ...]]] = []
        self._reported: dict[str, PodGroupStatus] = {}
        """By UID the last reported status of jobs at rest, where it is still to come true."""

    # While a session runs

    def begin(self, led_by: object) -> None:
        """A session begins; under another configuration, there may be news even of quiescent jobs."""
        if self._led_by != led_by:
            for job in self.quiescent.jobs():
                self._place(job)
        self._led_by = led_by
        self.in_line = {uid: job for uid, job in self.active.items() if not job.runs_whole}

    def activate(self, job: Job) -> None:
        """The job leaves the backlog: it is looked at like any active one."""
        self._place(job)
        self.in_line[job.uid] = job

    def activate_backlog(self) -> None:
        for job in list(self.backlog):
            self.activate(job)

    def report(self, job: Job, news: PodGroupStatus | None) -> None:
        """The session told this of the job and no more: at rest, it need not be looked at any longer."""
        if not is_at_rest(job, news or job.pod_group.status):
            return
        if news is None:
            self._without_news.append(job)
        else:
            self._reported[job.uid] = news

    def refuse(self, job: Job, key: tuple[Any, ...], ordered_by: object) -> None:
        """The session did not admit the job and had no news of it; the key is its place in that order."""
        self.backlog.ordered_by = ordered_by
        self._refused.append((job, key))

    def expect(self, job: str, status: PodGroupStatus) -> None:
        """A cycle that was left out would have told this of the job."""
        self._reported[job] = status

    def end(self) -> None:
        """The session is rewound: jobs of which it had no news are no longer active."""
        for job in self._without_news:
            if job.uid in self.active:
                self._rest(job)
        for job, key in self._refused:
            if job.uid in self.active:
                self._rest(job)
                self.backlog.add(job, key)
        self._without_news.clear()
        self._refused.clear()

    # While changes are taken in

    def change(self, *jobs: str) -> None:
        """Something happened to the jobs of these UIDs."""
        self._changed.update(dict.fromkeys(jobs))

    def outdate(self, job: str) -> None:
        """The same, and the job is no longer what its status was reported of."""
        self._changed[job] = None
        self._reported.pop(job, None)

    def renew(self, jobs: Mapping[str, Job]) -> None:
        """Changed jobs are active again, but for those of which all was reported before."""
        zero = np.zeros(len(self._books.axis), dtype=np.int64)
        for uid in self._changed:
            job = jobs.get(uid)
            if job is None:
                self._drop(uid)
                continue
            job.tidy()
            job.held = sum_of(job.roster.among(ALLOCATED_SET), zero)
            self._place(job)
        self._changed.clear()
        for uid, status in self._reported.items():
            job = self.active.get(uid)
            if job is not None and is_at_rest(job, status) and says_all(job, status):
                self._rest(job)
        self._reported.clear()

    def _place(self, job: Job) -> None:
        self._drop(job.uid)
        self.active[job.uid] = job

    def _drop(self, uid: str) -> None:
        self.active.pop(uid, None)
        self.quiescent.remove(uid)
        self.backlog.remove(uid)

    def _rest(self, job: Job) -> None:
        del self.active[job.uid]
        self.quiescent.add(self._books, job)


class Sums:
    """What jobs hold, what of that is above their minimum, what they reserve, and what waits; each (R,)."""

    def __init__(self, table: Amounts) -> None:
        self.table = table
        self.held, self.elastic, self.waiting, self.pending = table

    @classmethod
    def nothing(cls, resources: int) -> Sums:
        return cls(np.zeros((4, resources), dtype=np.int64))


class Quiescent:
    """Sums by queue of the jobs that are not active; a queue without any is not there."""

    def __init__(self) -> None:
        self.of_queue: dict[str, Sums] = {}
        self._of_job: dict[str, tuple[Job, Amounts]] = {}
        self._jobs_in: dict[str, int] = {}

    def __contains__(self, uid: object) -> bool:
        return uid in self._of_job

    def jobs(self) -> list[Job]:
        return [job for job, _ in self._of_job.values()]

    def add(self, books: Books, job: Job) -> None:
        zero, waiting = np.zeros_like(job.held), waiting_demand(books, job)
        pending = sum_of(job.roster.having(Status.PENDING).values(), zero)
        own = np.array([job.held, elastic(books, job), zero if waiting is None else waiting, pending])
        self._of_job[job.uid] = (job, own)
        if job.queue not in self.of_queue:
            self.of_queue[job.queue] = Sums.nothing(len(job.held))
        self.of_queue[job.queue].table += own
        self._jobs_in[job.queue] = self._jobs_in.get(job.queue, 0) + 1

    def remove(self, uid: str) -> None:
        entry = self._of_job.pop(uid, None)
        if entry is None:
            return
        queue, own = entry[0].queue, entry[1]
        self._jobs_in[queue] -= 1
        if self._jobs_in[queue]:
            self.of_queue[queue].table -= own
        else:
            del self._jobs_in[queue], self.of_queue[queue]


class Backlog:
    """Jobs that are not admitted yet, by queue and kind, in order; `ordered_by` is what that goes by.

    On a crowded cluster thousands of them wait, and most cycles admit one or two. Of a kind are those that
    ask their queue for the same: where one of them is refused, so are all others until a job is admitted.
    """

    def __init__(self) -> None:
        self.ordered_by: object = None
        self._by_queue: dict[str, Kinds] = {}
        self._entry_of: dict[str, Entry] = {}

    def __len__(self) -> int:
        return len(self._entry_of)

    def __iter__(self) -> Iterator[Job]:
        return (job for _, job in self._entry_of.values())

    def __contains__(self, uid: object) -> bool:
        return uid in self._entry_of

    def add(self, job: Job, key: tuple[Any, ...]) -> None:
        entry = self._entry_of[job.uid] = (key, job)
        alike = self._by_queue.setdefault(job.queue, {}).setdefault(kind_of(job), [])
        insort(alike, entry, key=order)

    def remove(self, uid: str) -> None:
        entry = self._entry_of.pop(uid, None)
        if entry is None:
            return
        key, job = entry
        kinds = self._by_queue[job.queue]
        alike = kinds[kind_of(job)]
        del alike[bisect_left(alike, key, key=order)]
        if not alike:
            del kinds[kind_of(job)]
            if not kinds:
                del self._by_queue[job.queue]

    def kinds_by_queue(self) -> dict[str, Kinds]:
        """Lists of their own: a job that is admitted leaves the backlog, but keeps its place in them."""
        return {
            queue: {kind: list(alike) for kind, alike in kinds.items()}
            for queue, kinds in self._by_queue.items()
        }
