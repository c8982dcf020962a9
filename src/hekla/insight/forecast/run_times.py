"""Run times: how long a job may run, as far as anybody knows.

What is stated counts as it stands. Otherwise jobs that have ended tell: the most alike of them that are
enough, and of these only those that ran longer than the job has run already. A user's estimate is an upper
bound and mostly far too long, so that it is the ratio of run time to estimate which is learned.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from statistics import NormalDist

import numpy as np

from hekla.insight.forecast.history import Likeness, Past
from hekla.simulation.run import Floats

ENOUGH = 5
"""So many ended jobs make a distribution; with fewer, less alike ones are asked."""
QUANTILES = (np.arange(199) + 0.5) / 199
"""Where a distribution that is known by a formula is taken down."""
GUESSED_MEDIAN = 3600.0
GUESSED_SPREAD = 1.5
"""Where nothing is known at all: an hour, give or take a factor of four and a half."""

Group = tuple[str | int, ...]


class Source(Enum):
    """Where a run time comes from."""

    STATED = "stated"
    LEARNED = "learned"
    ESTIMATE = "estimate"
    """As the user said, for want of ended jobs to compare with."""
    ASSUMED = "assumed"


@dataclass(frozen=True)
class Question:
    """A job whose run time is asked for."""

    likeness: Likeness
    has_run: float = 0.0
    """Seconds so far."""
    stated: float | None = None
    estimate: float | None = None


@dataclass(frozen=True)
class Prospect:
    """How long a job runs in all: equally likely values, all above what it has run already."""

    seconds: Floats
    source: Source

    def draw(self, chance: np.random.Generator) -> float:
        return float(self.seconds[chance.integers(len(self.seconds))])


class RunTimes:
    """Learns from ended jobs; `assumed` is for those of which nothing is known."""

    def __init__(self, past: Iterable[Past] = (), assumed: float | None = None) -> None:
        spans: defaultdict[Group, list[float]] = defaultdict(list)
        ratios: defaultdict[Group, list[float]] = defaultdict(list)
        for each in past:
            for group in _span_groups(each.likeness):
                spans[group].append(each.run_seconds)
            if each.estimate:
                for group in _ratio_groups(each.likeness):
                    ratios[group].append(each.run_seconds / each.estimate)
        self._spans = {group: np.sort(values) for group, values in spans.items()}
        self._ratios = {group: np.sort(values) for group, values in ratios.items()}
        self._assumed = np.array([assumed]) if assumed is not None else _broad_guess()

    def prospect(self, job: Question) -> Prospect:
        if job.stated is not None and job.stated > job.has_run:
            return Prospect(np.array([job.stated]), Source.STATED)
        if (learned := self._learned(job)) is not None:
            return Prospect(learned, Source.LEARNED)
        if job.estimate is not None:
            return Prospect(_beyond(np.array([job.estimate]), job.has_run), Source.ESTIMATE)
        return Prospect(_beyond(self._assumed, job.has_run), Source.ASSUMED)

    def _learned(self, job: Question) -> Floats | None:
        """What the most alike jobs ran that are enough; else the most there are."""
        best: Floats | None = None
        for seconds in self._candidates(job):
            longer = seconds[np.searchsorted(seconds, job.has_run, side="right") :]
            if len(longer) >= ENOUGH:
                return longer
            if len(longer) > (0 if best is None else len(best)):
                best = longer
        if best is None and () in self._spans:
            return _as_long_again(job.has_run)
        return best

    def _candidates(self, job: Question) -> Iterator[Floats]:
        """Run times of ever less alike jobs: a name says more than an estimate, and that more than a user."""
        groups = _span_groups(job.likeness)
        by_name, by_user = groups[:2], groups[2:]
        yield from (self._spans[group] for group in by_name if group in self._spans)
        if job.estimate:
            for group in _ratio_groups(job.likeness):
                if group in self._ratios:
                    yield self._ratios[group] * job.estimate
        yield from (self._spans[group] for group in by_user if group in self._spans)


def _span_groups(like: Likeness) -> list[Group]:
    """From alike to all."""
    return [
        ("user", like.user, "stem", like.stem, "size", like.size),
        ("user", like.user, "stem", like.stem),
        ("user", like.user, "size", like.size),
        ("queue", like.queue, "size", like.size),
        ("user", like.user),
        ("queue", like.queue),
        (),
    ]


def _ratio_groups(like: Likeness) -> list[Group]:
    return [("user", like.user), ("queue", like.queue), ()]


def _beyond(seconds: Floats, has_run: float) -> Floats:
    """Those that are longer than what has passed; where none is, what was said is disproved."""
    longer = seconds[seconds > has_run]
    return longer if len(longer) else _as_long_again(has_run)


def _as_long_again(has_run: float) -> Floats:
    """Of something that outlasts all that is known: it runs as long again with even chances."""
    return max(has_run, 1.0) / (1.0 - QUANTILES)


def _broad_guess() -> Floats:
    normal = NormalDist(math.log(GUESSED_MEDIAN), GUESSED_SPREAD)
    return np.exp([normal.inv_cdf(float(quantile)) for quantile in QUANTILES])
