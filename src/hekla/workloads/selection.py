"""Selection: which of a file's jobs are taken, and how fast they arrive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

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
        for submission in _faster(_waiting_for_others(content, options, account), options):
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


def _waiting_for_others(content: Content, options: Options, account: Account) -> Iterator[Submission]:
    """The jobs that are picked; one that would wait for a job that is not picked does not wait."""
    if not content.has_dependencies or (options.sample >= 1 and options.limit is None):
        yield from _picked(content, options, account)
        return
    # Which jobs are picked is known only after all have been looked at: one may wait for a later one.
    keys = {submission.key for submission in _picked(content, options, Account())}
    for submission in _picked(content, options, account):
        if submission.after and submission.after not in keys:
            account.changed["the job that it waits for is not picked: it does not wait"] += 1
            yield replace(submission, after="", think_seconds=0.0)
        else:
            yield submission


def _picked(content: Content, options: Options, account: Account) -> Iterator[Submission]:
    """A share of the jobs, and of those the first; none is read beyond them, as the account shows."""
    return islice(_sampled(content.jobs(account), options, account), options.limit)


def _sampled(jobs: Iterator[Submission], options: Options, account: Account) -> Iterator[Submission]:
    if options.sample >= 1:
        yield from jobs
        return
    for submission, draw in zip(jobs, _draws(options.seed), strict=False):
        if draw < options.sample:
            yield submission
        else:
            account.dropped[f"not picked for the sample of {options.sample:g}"] += 1


def _draws(seed: int) -> Iterator[float]:
    dice = np.random.default_rng(seed)
    while True:
        yield from dice.random(BLOCK).tolist()


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
