"""Domains: what a constraint of a job comes to, and how much of a sub-job lies in which network domain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Amounts, Counts, Floats, Indices, Mask
from hekla.engine.ledger.domains import Domain, Domains, DomainTree
from hekla.engine.model.job import Job, SubJob, is_hard
from hekla.engine.model.roster import Roster
from hekla.engine.model.status import Status
from hekla.engine.model.task import NOWHERE, Task


@dataclass
class Whereabouts:
    """The tasks of one roster that lie on a node, and how many of them each domain holds."""

    tree: DomainTree
    counts: Counts
    row_of: dict[str, int] = field(default_factory=dict)

    def add(self, task: Task) -> None:
        if task.uid not in self.row_of:
            self.row_of[task.uid] = task.node
            self.counts[self.tree.around(task.node)] += 1

    def drop(self, task: Task) -> None:
        row = self.row_of.pop(task.uid, NOWHERE)
        if row != NOWHERE:
            self.counts[self.tree.around(row)] -= 1


class Presence:
    """Whereabouts of every roster that was once asked about."""

    def __init__(self, session: Session, tree: DomainTree) -> None:
        self._jobs = session.jobs
        self._tree = tree
        self._known: dict[Roster, Whereabouts] = {}

    def shares(self, sub_job: SubJob) -> Floats:
        """The part of the sub-job's tasks that lies in each domain, and 0 at the end; -> (domains + 1,)"""
        return np.divide(self._of(sub_job.roster).counts, len(sub_job.roster), dtype=np.float64)

    def share_in(self, sub_job: SubJob, place: int) -> float:
        """The same for one domain."""
        return self._of(sub_job.roster).counts.item(place) / len(sub_job.roster)

    def is_anywhere(self, sub_job: SubJob) -> bool:
        """Whether any task of the sub-job lies on a node."""
        return any(task.node != NOWHERE for task in sub_job.roster.tasks.values())

    def _of(self, roster: Roster) -> Whereabouts:
        known = self._known.get(roster)
        if known is None:
            known = self._known[roster] = self._look_up(roster)
        return known

    def _look_up(self, roster: Roster) -> Whereabouts:
        found = Whereabouts(self._tree, np.zeros(len(self._tree.all) + 1, dtype=np.int64))
        for task in roster.tasks.values():
            if task.node != NOWHERE:
                found.add(task)
        return found

    def arrived(self, task: Task) -> None:
        """A task was placed, or its eviction undone: then it was there all the time."""
        for known in self._affected(task):
            known.add(task)

    def left(self, task: Task) -> None:
        """A placement was undone. A task that is being evicted still lies where it did."""
        if task.status is not Status.RELEASING:
            for known in self._affected(task):
                known.drop(task)

    def _affected(self, task: Task) -> Iterator[Whereabouts]:
        job = self._jobs.get(task.job) if self._known else None
        if job is not None:
            for roster in {job.roster, job.sub_jobs[task.sub_job].roster}:
                if roster in self._known:
                    yield self._known[roster]


@dataclass(frozen=True)
class TierLimit:
    """What a hard constraint comes to: the highest tier allowed, and the domain of what is placed."""

    limit: int
    memory: str


def wish_of(job: Job, sub_job: SubJob | None) -> TierLimit | None:
    """The constraint of the job, or of one part of it; None where nothing binds."""
    whose = job if sub_job is None else sub_job
    if not is_hard(whose.topology):
        return None
    assert whose.topology is not None
    assert whose.topology.highest_tier_allowed is not None
    return TierLimit(whose.topology.highest_tier_allowed, whose.domain)


def places_of(domains: Sequence[Domain]) -> Indices:
    return np.array([domain.place for domain in domains], dtype=np.intp)


def covers(available: Amounts, needed: Amounts) -> Mask:
    """Where there is enough of everything; (domains, R) and (R,) -> (domains,)"""
    return np.asarray((available >= needed).all(axis=1))


def last_of(groups: list[list[Domain]], most: int) -> list[list[Domain]]:
    """So many domains at the most; a group that does not fit whole keeps its last ones."""
    kept: list[list[Domain]] = []
    for group in groups:
        left = most - sum(len(chosen) for chosen in kept)
        if left <= 0:
            break
        kept.append(group[-left:])
    return kept


def packing(
    wanted: Amounts, used: Amounts, allocatable: Amounts, places: Indices, weights: Mapping[int, int]
) -> Floats:
    """How full some domains would be with that much more, from 0 to 1; 0 where it does not fit.

    wanted: (R,)   used, allocatable: (domains, R)   places: (P,)   ->   (P,)

    The weights are by column, of what is asked for.
    """
    score, total = np.zeros(len(places)), sum(weights.values())
    overflows = np.zeros(len(places), dtype=np.bool_)
    for column, weight in weights.items():
        after = used[places, column] + wanted[column]
        capacity = allocatable[places, column]
        overflows |= after > capacity
        score += np.divide(after * weight, capacity, out=np.zeros(len(places)), where=capacity > 0)
    score[overflows] = 0.0
    return score / total if total else score


def closeness_to(domains: Domains, near: str) -> Floats:
    """Per domain, and 0 at the end for nodes in none: 1 in the same one, less the higher they join."""
    tree, lowest, highest = domains.tree, domains.tiers[0], domains.tiers[-1]
    closeness = np.zeros(len(tree.all) + 1)
    if highest == lowest:
        closeness[:-1] = 1.0
        return closeness
    line = [domains.by_name[name] for name in domains.ancestors(near)]
    for joint in reversed(line):
        inside = np.flatnonzero(tree.below(joint.place))
        closeness[inside] = (highest - joint.tier) / (highest - lowest)
    closeness[line[0].place] = 1.0
    return closeness
