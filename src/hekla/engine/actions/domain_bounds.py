"""Domain bounds: which network domains could hold what a job lacks, by what all their nodes have together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from hekla.engine.actions.pending import PendingTasks
from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Amounts, Mask
from hekla.engine.ledger.domains import Domain
from hekla.engine.model.job import Job, SubJob
from hekla.engine.model.roster import Roster
from hekla.engine.model.task import Task

MOST_NAMED = 8
"""So many domains that are too small are told one by one, more of them together."""


class DomainBounds:
    """What is known of one job before anything of it is tried; answers have one entry per domain."""

    def __init__(self, session: Session, job: Job) -> None:
        self._session = session
        self._job = job
        self._failed: dict[str, Mask] = {}
        self._everywhere = np.ones(len(session.domains.by_name), dtype=np.bool_)
        self._latest: tuple[Hashable, Mask] = (None, self._everywhere)

    def of_job(self, pending: PendingTasks) -> Mask:
        """Domains that could hold as many of the job's tasks as it lacks."""
        tasks = [task for tasks in pending.tasks_of.values() for task in tasks]
        return self._of(self._job.roster, tasks, insists=self._session.dispatch.who.requires_minimums)

    def of_sub_job(self, sub_job: SubJob, tasks: Iterable[Task]) -> Mask:
        """The same for one part of it."""
        dispatch, has_parts = self._session.dispatch, self._job.has_policies
        insists = dispatch.who.requires_minimums_of_parts if has_parts else dispatch.who.requires_minimums
        return self._of(sub_job.roster, list(tasks), insists=insists)

    def not_failed(self, sub_job: SubJob) -> Mask:
        """Domains in which the part has not failed yet, when tried before all others."""
        failed = self._failed.get(sub_job.uid)
        return self._everywhere if failed is None else ~failed

    def note_failure(self, sub_job: SubJob, domain: Domain) -> None:
        """Tried first of all, the part found no place there; nor would it if that were tried again."""
        if self._session.shortcuts.bounds:
            nowhere = np.zeros_like(self._everywhere)
            self._failed.setdefault(sub_job.uid, nowhere)[domain.place] = True

    def _of(self, roster: Roster, tasks: Sequence[Task], *, insists: bool) -> Mask:
        """For these tasks, where a plugin insists on minimums; kept while nothing changes."""
        if not insists or not self._session.shortcuts.bounds:
            return self._everywhere
        key = (roster, len(tasks), self._session.nodes.journal.version)
        if self._latest[0] != key:
            self._latest = (key, self._with_room(roster, tasks))
        return self._latest[1]

    def _with_room(self, roster: Roster, tasks: Sequence[Task]) -> Mask:
        missing = roster.minimum - roster.ready - roster.waiting - roster.pending_best_effort
        # Gates are opened while tasks are being tried, wherever that is.
        if missing <= 0 or len(tasks) < missing or any([task.is_gated for task in tasks]):
            return self._everywhere
        return np.asarray((self._session.domains.room() >= least_of(tasks, missing)).all(axis=1))

    def tell(self, too_small: Sequence[Domain]) -> None:
        """Say which domains are passed over."""
        trace, names = self._session.trace, sorted(domain.name for domain in too_small)
        named = names if len(names) <= MOST_NAMED else names[: MOST_NAMED - 1]
        for name in named:
            trace.of_job(self._job.uid, f'domain "{name}" has too little room for the gang')
        if len(named) < len(names):
            trace.of_job(self._job.uid, f"{len(names) - len(named)} more have too little room for the gang")


def least_of(tasks: Sequence[Task], count: int) -> Amounts:
    """The least that so many of these tasks ask for together."""
    first = tasks[0].vector
    if all([task.vector is first for task in tasks]):
        return first * count
    ordered = np.sort(np.stack([task.vector for task in tasks]), axis=0)
    return np.asarray(ordered[:count].sum(axis=0), dtype=np.int64)
