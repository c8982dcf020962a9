"""Differences: each figure of a candidate against that of the base, and whether it is more than chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from hekla.insight.compare.figures import (
    ALL,
    CAUSE,
    Figures,
    FigureUnit,
    Group,
    Measure,
    PairFigures,
    causes_in,
    measures_for,
    run_figures,
    wanted_resources,
)
from hekla.insight.compare.pairs import Estimate, Pair, PairOutcome, over_blocks, over_seeds
from hekla.simulation.measures.intervals import FEWEST_BLOCKS, neighbour_correlation, widening_for
from hekla.simulation.measures.spans import Rows, totals
from hekla.simulation.measures.summary import Summary
from hekla.simulation.measures.words import PARTS, number
from hekla.simulation.run import Floats

MOST_BLOCKS = 20
FEWEST_JOBS_OF_BLOCK = 5
NEGLIGIBLE_PART = 0.01
"""Of the base: no reason to change a configuration."""
NEGLIGIBLE_POINTS = 0.005
"""Of utilisation and of Jain's index."""


class Judgement(Enum):
    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    """Equal, or negligibly different, and that with confidence."""
    UNSURE = "unsure"
    """It may be chance."""
    UNKNOWN = "unknown"
    """It differs, and there is no interval to judge by."""


@dataclass(frozen=True)
class FigureDifference:
    """One figure under two configurations; means over seeds where there are several."""

    measure: Measure
    queue: str
    size: str
    jobs: int
    """Jobs that both figures are about, all seeds together; 0 for figures of whole runs."""
    base: float
    candidate: float
    estimate: Estimate
    resolution: float = 1.0
    """Seconds between two cycles: what is less is no difference."""

    @property
    def group(self) -> Group:
        return self.queue, self.size

    @property
    def is_nothing(self) -> bool:
        """No pod evicted, no work lost, on either side: nothing to report."""
        return self.measure.unit in (FigureUnit.WORK, FigureUnit.COUNT) and self.base == self.candidate == 0

    @property
    def part(self) -> float:
        """The difference as a part of the base; NaN where that is zero."""
        return self.as_part(self.estimate.difference)

    def as_part(self, amount: float) -> float:
        return amount / abs(self.base) if self.base else math.nan

    @property
    def negligible(self) -> float:
        """Up to here a difference is none."""
        if self.measure.unit in (FigureUnit.PART, FigureUnit.INDEX):
            return NEGLIGIBLE_POINTS
        part = NEGLIGIBLE_PART * abs(self.base)
        return max(self.resolution, part) if self.measure.unit is FigureUnit.SECONDS else part

    @property
    def judgement(self) -> Judgement:
        estimate, enough = self.estimate, self.negligible
        if math.isnan(estimate.difference):
            return Judgement.UNKNOWN
        if math.isnan(estimate.low):
            return Judgement.UNKNOWN if estimate.difference else Judgement.SAME
        if max(abs(estimate.low), abs(estimate.high)) <= enough:
            return Judgement.SAME
        if not estimate.is_sure:
            return Judgement.UNSURE
        if abs(estimate.difference) <= enough:
            return Judgement.SAME
        return (
            Judgement.BETTER if (estimate.difference < 0) == self.measure.is_less_better else Judgement.WORSE
        )

    def as_data(self) -> dict[str, object]:
        whose = {"queue": self.queue, "size": self.size}
        digits = self.measure.digits
        return {
            "measure": self.measure.key,
            "unit": self.measure.unit.value,
            **{key: name for key, name in whose.items() if name},
            "jobs": self.jobs,
            "base": number(self.base, digits),
            "candidate": number(self.candidate, digits),
            "difference": number(self.estimate.difference, digits),
            "low": number(self.estimate.low, digits),
            "high": number(self.estimate.high, digits),
            "part": number(self.part, PARTS),
            "judgement": self.judgement.value,
        }


@dataclass(frozen=True)
class SeedResult:
    """What one seed says about a candidate."""

    figures: Figures
    groups: list[Group]
    base: dict[str, float]
    candidate: dict[str, float]
    outcome: PairOutcome
    is_identical: bool
    resources: list[str]
    causes: list[str]


@dataclass
class CandidateResults:
    """A candidate against the base, seed by seed."""

    by_seed: dict[int, SeedResult] = field(default_factory=dict)
    """By seed."""
    first: tuple[int, PairFigures, Pair] | None = None
    """The jobs of the lowest seed, in case that it stays the only one."""

    def add(self, seed: int, pair: Pair, base: Summary, candidate: Summary) -> None:
        resources, causes = wanted_resources(base, candidate), causes_in(base, candidate)
        figures = PairFigures(pair, resources)
        self.by_seed[seed] = SeedResult(
            figures.of(),
            figures.groups,
            run_figures(base, pair.makespans[0], causes),
            run_figures(candidate, pair.makespans[1], causes),
            pair.outcome,
            pair.is_identical,
            resources,
            causes,
        )
        if self.first is None or seed < self.first[0]:
            self.first = seed, figures, pair

    @property
    def in_order(self) -> list[SeedResult]:
        return [self.by_seed[seed] for seed in sorted(self.by_seed)]

    @property
    def outcome(self) -> PairOutcome:
        first, *others = (seed.outcome for seed in self.in_order)
        return sum(others, first)

    def differences(self, confidence: float, *, is_spread: bool, resolution: float) -> list[FigureDifference]:
        """Over seeds where there are several, else over blocks."""
        resources = dict.fromkeys(name for seed in self.in_order for name in seed.resources)
        causes = dict.fromkeys(name for seed in self.in_order for name in seed.causes)
        is_alone = len(self.by_seed) == 1
        without = self._without_blocks() if is_alone else []
        widening = self.widening if is_alone else 1.0
        found: list[FigureDifference] = []
        for measure in measures_for(list(resources), list(causes)):
            for group, values in self._values(measure.key).items():
                if is_alone:
                    left = _left(without, measure.key, self.in_order[0].groups.index(group), values[2, 0])
                    estimate = over_blocks(float(values[1, 0] - values[0, 0]), left, confidence, widening)
                else:
                    estimate = over_seeds(values[1] - values[0], confidence, is_spread=is_spread)
                found.append(_difference(measure, group, values, estimate, resolution))
        return found

    def _values(self, key: str) -> dict[Group, Floats]:
        """(3, seeds) Base, candidate and jobs, of every group that has jobs under any seed; else NaN."""
        by_seed = self.in_order
        if any(key in one.base for one in by_seed):
            # What bound no job under a seed bound none for any time.
            none = 0.0 if key.startswith(CAUSE) else math.nan
            pairs = [(one.base.get(key, none), one.candidate.get(key, none), 0) for one in by_seed]
            return {ALL: np.array(pairs, np.float64).T}
        values: dict[Group, Floats] = {}
        for place, seed in enumerate(by_seed):
            if key not in seed.figures:
                continue
            for column, group in enumerate(seed.groups):
                figures = seed.figures[key][:, column]
                if figures[2] > 0:
                    values.setdefault(group, np.full((3, len(by_seed)), np.nan))[:, place] = figures
        return values

    def _without_blocks(self) -> list[Figures]:
        """What all figures are without each block in turn."""
        assert self.first is not None
        _, figures, pair = self.first
        blocks = blocks_of(len(pair))
        return [figures.of(blocks != block) for block in range(self.blocks)]

    @property
    def blocks(self) -> int:
        """How many the jobs of the first seed make; 0 where they are too few for an interval."""
        assert self.first is not None
        count = block_count(len(self.first[2]))
        return count if count >= FEWEST_BLOCKS else 0

    @property
    def widening(self) -> float:
        """What intervals over blocks are multiplied by."""
        return widening_for(self.neighbour_correlation, self.blocks)

    @property
    def neighbour_correlation(self) -> float:
        """How much the differences of waits in each block are like those in the block before."""
        assert self.first is not None
        pair = self.first[2]
        base, candidate = pair.values("wait")
        blocks, is_known = blocks_of(len(pair)), ~np.isnan(base)
        if not is_known.any():
            return 0.0
        count = block_count(len(pair))
        jobs = totals(blocks[is_known], np.ones(int(is_known.sum())), count)
        sums = totals(blocks[is_known], (candidate - base)[is_known], count)
        return neighbour_correlation(sums[jobs > 0] / jobs[jobs > 0])


def _left(without: Sequence[Figures], key: str, column: int, jobs: float) -> list[float]:
    """The difference without each block; a block in which the group has no job says nothing."""
    columns = [figures[key][:, column] for figures in without if key in figures]
    return [float(candidate - base) for base, candidate, kept in columns if 0 < kept < jobs]


def _difference(
    measure: Measure, group: Group, values: Floats, estimate: Estimate, resolution: float
) -> FigureDifference:
    is_known = ~np.isnan(values[1] - values[0])
    base, candidate = (float(side[is_known].mean()) if is_known.any() else math.nan for side in values[:2])
    return FigureDifference(measure, *group, int(np.nansum(values[2])), base, candidate, estimate, resolution)


def block_count(jobs: int) -> int:
    return max(1, min(MOST_BLOCKS, jobs // FEWEST_JOBS_OF_BLOCK))


def blocks_of(jobs: int) -> Rows:
    """The number of the block that each of so many consecutive jobs is in; blocks are equally large."""
    return np.arange(jobs) * block_count(jobs) // max(jobs, 1)


def of_queues_and_sizes(differences: Sequence[FigureDifference], key: str) -> list[FigureDifference]:
    """Of one measure, those of each queue and each size; a group that is all_jobs is left out."""
    its = [each for each in differences if each.measure.key == key]
    all_jobs = max((each.jobs for each in its), default=0)
    return [each for each in its if bool(each.queue) != bool(each.size) and each.jobs < all_jobs]
