"""Chance: what differs from seed to seed, and so what an interval is about."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import zip_longest

from hekla.insight.compare.arrivals import Arrivals, Jittered, Resampled
from hekla.insight.compare.trials import WorkloadOf
from hekla.workloads import Workload


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
