"""Arrivals: other ones out of a trace, where a trace is all there is, and what differs from seed to seed.

Same seed, same arrivals.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import zip_longest

import msgspec
import numpy as np
from msgspec.structs import replace

from hekla.errors import InputError
from hekla.simulation.workloads.model import Account, Submission, Workload

WorkloadOf = Callable[[int], Workload]
"""The workload for a seed."""

_OF_BLOCKS, _OF_SHIFTS = range(2)


class AsTheyAre(msgspec.Struct, frozen=True):
    """The arrivals of the workload itself."""

    def __call__(self, workload: Workload, seed: int) -> Workload:  # noqa: ARG002 - one of three
        return workload


@dataclass(frozen=True)
class Resampled:
    """The workload cut into blocks of time, of which as many are drawn, some of them more than once.

    What happens within a block stays as it was; a block of a day keeps the hours of the day. Jobs get the
    place of their block as a suffix, `train` becomes `train-3`.
    """

    block_seconds: float

    def __post_init__(self) -> None:
        if not 0 < self.block_seconds < math.inf:
            raise InputError(f'resample: expected a finite span above 0, got "{self.block_seconds:g}"')

    def __call__(self, workload: Workload, seed: int) -> Workload:
        return _made_of(workload, None, lambda jobs, account: self._drawn(jobs, account, seed))

    def _drawn(self, jobs: Iterable[Submission], account: Account, seed: int) -> Iterator[Submission]:
        blocks: dict[int, list[Submission]] = {}
        for job in jobs:
            blocks.setdefault(int(job.submitted // self.block_seconds), []).append(job)
        if not blocks:
            return
        first, last = min(blocks), max(blocks)
        dice = np.random.default_rng((seed, _OF_BLOCKS))
        drawn = dice.integers(first, last + 1, last + 1 - first)
        for place, block in enumerate(drawn.tolist()):
            yield from self._placed(blocks.get(block, []), place - block, place, account)

    def _placed(
        self, jobs: Sequence[Submission], moved: int, place: int, account: Account
    ) -> Iterator[Submission]:
        """A job and the one it waits for may come in any order, as long as both are in the block."""
        inside = {job.key for job in jobs}
        for job in jobs:
            is_alone = bool(job.after) and job.after not in inside
            account.changed["the job that it waits for is in another block: it does not wait"] += is_alone
            yield replace(
                job,
                name=f"{job.name}-{place}",
                submitted=round(job.submitted + moved * self.block_seconds, 3),
                after=f"{job.after}-{place}" if job.after and not is_alone else "",
                think_seconds=0.0 if is_alone else job.think_seconds,
            )


@dataclass(frozen=True)
class Jittered:
    """The workload with every arrival put off by chance, up to a span; chains of jobs stay together."""

    most_seconds: float

    def __post_init__(self) -> None:
        if not 0 < self.most_seconds < math.inf:
            raise InputError(f'jitter: expected a finite span above 0, got "{self.most_seconds:g}"')

    def __call__(self, workload: Workload, seed: int) -> Workload:
        return _made_of(workload, workload.count, lambda jobs, _account: self._shifted(jobs, seed))

    def _shifted(self, jobs: Iterable[Submission], seed: int) -> list[Submission]:
        given = list(jobs)
        dice = np.random.default_rng((seed, _OF_SHIFTS))
        shifts: list[float] = dice.uniform(0.0, self.most_seconds, len(given)).tolist()
        shift_of = {job.key: shift for job, shift in zip(given, shifts, strict=True)}
        awaited = {job.key: job.after for job in given if job.after in shift_of}
        moved = [
            replace(job, submitted=round(job.submitted + shift_of[_first_of_chain(job.key, awaited)], 3))
            for job in given
        ]
        return sorted(moved, key=lambda job: job.submitted)


def _first_of_chain(key: str, awaited: Mapping[str, str]) -> str:
    """The job that all before this one wait for, however they are ordered; a ring ends where it began."""
    seen = {key}
    while (before := awaited.get(key)) is not None and before not in seen:
        seen.add(before)
        key = before
    return key


Arrivals = AsTheyAre | Resampled | Jittered


def _made_of(
    workload: Workload,
    count: int | None,
    jobs_of: Callable[[Iterable[Submission], Account], Iterable[Submission]],
) -> Workload:
    account = Account()

    def jobs() -> Iterator[Submission]:
        account.clear()
        made = list(jobs_of(workload.jobs(), account))
        account.dropped.update(workload.account.dropped)
        account.changed.update(workload.account.changed)
        _without_zeros(account.changed)
        account.taken = len(made)
        yield from made

    return replace(workload, jobs=jobs, count=count, account=account)


def _without_zeros(counts: Counter[str]) -> None:
    told: Mapping[str, int] = +counts
    counts.clear()
    counts.update(told)


class ListedWorkload(msgspec.Struct, frozen=True):
    """A workload with all its jobs at hand, the same for every seed: it can be sent to another process."""

    workload: Workload
    submissions: tuple[Submission, ...]
    account: Account = msgspec.field(default_factory=Account)

    @staticmethod
    def of(workload: Workload) -> ListedWorkload:
        submissions = tuple(workload.jobs())
        return ListedWorkload(replace(workload, jobs=_none, account=Account()), submissions, workload.account)

    def __call__(self, seed: int) -> Workload:  # noqa: ARG002 - a workload of its own has none
        def jobs() -> Iterator[Submission]:
            return iter(self.submissions)

        return replace(self.workload, jobs=jobs, count=len(self.submissions), account=self.account)


def sendable(workload: Workload | WorkloadOf, processes: int) -> WorkloadOf:
    """The workload for every seed; where there are several processes, one that can be sent to them."""
    if not isinstance(workload, Workload):
        return workload
    if processes > 1:
        return ListedWorkload.of(workload)
    return lambda _seed: workload


def _none() -> Iterator[Submission]:
    return iter(())


class Chance(Enum):
    ARRIVALS = "arrivals"
    """Every seed brings other jobs."""
    FAILURES = "failures"
    """The same jobs with every seed, but other nodes and pods fail."""
    RESAMPLED = "resampled"
    """Every seed draws anew from one trace."""
    JITTERED = "jittered"
    """Every seed shifts the arrivals of one trace."""
    NONE = "none"
    """A seed changes nothing: one run tells all."""


def chance_of(workload_of: WorkloadOf, arrivals: Arrivals, seeds: Sequence[int]) -> Chance:
    """Found out by looking at the jobs of the first two seeds."""
    if isinstance(arrivals, Resampled):
        return Chance.RESAMPLED
    if isinstance(arrivals, Jittered):
        return Chance.JITTERED
    first = workload_of(seeds[0])
    if len(seeds) > 1 and _differ(first, workload_of(seeds[1])):
        return Chance.ARRIVALS
    hazards = first.hazards
    is_risky = hazards.node_failure_seconds is not None or hazards.pod_failure_seconds is not None
    return Chance.FAILURES if is_risky else Chance.NONE


def _differ(one: Workload, other: Workload) -> bool:
    return any(mine != its for mine, its in zip_longest(one.jobs(), other.jobs()))
