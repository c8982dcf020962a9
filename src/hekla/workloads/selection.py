"""Selection: which of a file's jobs are taken, and how fast they arrive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from hekla.objects import Manifest
from hekla.workloads.model import Account, Fault, Hazards, Submission, Workload
from hekla.workloads.options import Options

BLOCK = 4096

Jobs = Callable[[Account], Iterator[Submission]]
"""All jobs of a file in order of time; what is dropped or changed goes into the account."""


@dataclass(frozen=True, kw_only=True)
class Content:
    """What a file comes to before anything is selected."""

    name: str
    jobs: Jobs
    objects: tuple[Manifest, ...] = ()
    faults: tuple[Fault, ...] = ()
    hazards: Hazards = field(default_factory=Hazards)
    count: int | None = None
    has_dependencies: bool = False
    """Whether some jobs wait for others."""
    dropped: Counter[str] = field(default_factory=Counter)
    """What was left out before there were any jobs."""
    changed: Counter[str] = field(default_factory=Counter)


def selected(content: Content, options: Options) -> Workload:
    """The workload of the jobs that the options want."""
    account = Account()

    def jobs() -> Iterator[Submission]:
        account.clear()
        account.dropped.update(content.dropped)
        account.changed.update(content.changed)
        for submission in _faster(_within_limit(_sampled(content, options, account), options), options):
            account.taken += 1
            yield submission

    return Workload(
        content.name,
        jobs,
        objects=content.objects,
        faults=content.faults,
        hazards=content.hazards,
        count=_count(content, options),
        account=account,
    )


def _count(content: Content, options: Options) -> int | None:
    if content.count is None or options.sample < 1:
        return None
    return content.count if options.limit is None else min(content.count, options.limit)


def _sampled(content: Content, options: Options, account: Account) -> Iterator[Submission]:
    """A share of the jobs; who would wait for one that is not picked does not wait."""
    jobs = content.jobs(account)
    if options.sample >= 1:
        yield from jobs
        return
    draws = _draws(options.seed)
    missing: set[str] = set()
    for submission in jobs:
        if next(draws) >= options.sample:
            account.dropped[f"not picked for the sample of {options.sample:g}"] += 1
            if content.has_dependencies:
                missing.add(submission.key)
        elif submission.after in missing:
            account.changed["the job that it waits for is not in the sample: it does not wait"] += 1
            yield replace(submission, after="", think_seconds=0.0)
        else:
            yield submission


def _draws(seed: int) -> Iterator[float]:
    dice = np.random.default_rng(seed)
    while True:
        yield from dice.random(BLOCK).tolist()


def _within_limit(jobs: Iterator[Submission], options: Options) -> Iterator[Submission]:
    """The first jobs; none is read beyond them, so that the account tells of these alone."""
    if options.limit is None:
        yield from jobs
        return
    for _, submission in zip(range(options.limit), jobs, strict=False):
        yield submission


def _faster(jobs: Iterator[Submission], options: Options) -> Iterator[Submission]:
    if options.speedup == 1:
        yield from jobs
        return
    for submission in jobs:
        yield replace(
            submission,
            submitted=submission.submitted / options.speedup,
            think_seconds=submission.think_seconds / options.speedup,
        )
