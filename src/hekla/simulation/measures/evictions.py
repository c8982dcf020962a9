"""Evictions: which led to which. A makes way for B, and B's pods later for C: a chain of two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hekla.simulation.measures.spans import Rows
from hekla.simulation.run import Ending, Floats, Run


@dataclass(frozen=True)
class Link:
    """One eviction; jobs are `namespace/name`."""

    at: float
    victim: str
    beneficiary: str

    def as_data(self) -> dict[str, object]:
        return {"at": round(self.at, 3), "victim": self.victim, "beneficiary": self.beneficiary}


@dataclass(frozen=True)
class Chains:
    """Evictions in favour of a job, by how many came before them in their chain."""

    by_depth: tuple[int, ...]
    """How many pods were evicted at depth 1, 2, ...; depth 2: the victim had made another give way before."""
    longest: tuple[Link, ...]
    """The links of one longest chain, in order of time."""

    def as_data(self) -> dict[str, object]:
        return {"byDepth": list(self.by_depth), "longest": [link.as_data() for link in self.longest]}


def chains(run: Run) -> Chains:
    """The evictions that name whom they were for, ordered into chains."""
    stints = run.stints
    favours = np.flatnonzero(
        (stints.ending == Ending.EVICTED) & (stints.beneficiary >= 0) & (stints.job >= 0)
    )
    order = favours[np.lexsort((stints.beneficiary[favours], stints.job[favours], stints.ended[favours]))]
    victim, beneficiary, at = stints.job[order], stints.beneficiary[order], stints.ended[order]
    depth = depths(victim, beneficiary, at, len(run.jobs))
    names = run.jobs.names
    links = [
        Link(float(at[row]), names[victim[row]], names[beneficiary[row]])
        for row in _longest(victim, beneficiary, at, depth)
    ]
    return Chains(tuple(np.bincount(depth)[1:].tolist()), tuple(links))


def depths(victim: Rows, beneficiary: Rows, at: Floats, jobs: int) -> Rows:
    """(evictions,) 1, or one more than the deepest earlier eviction that was in favour of the victim."""
    depth = np.ones(len(at), np.int64)
    level = np.arange(len(at))
    while len(level):
        # Strictly earlier: what happens in one moment does not follow from itself.
        earliest = np.full(jobs, np.inf)
        np.minimum.at(earliest, beneficiary[level], at[level])
        level = level[earliest[victim[level]] < at[level]]
        depth[level] += 1
    return depth


def _longest(victim: Rows, beneficiary: Rows, at: Floats, depth: Rows) -> list[int]:
    """The rows of the first chain that is as long as any, in order of time."""
    if not len(depth):
        return []
    rows = [int(depth.argmax())]
    while depth[rows[-1]] > 1:
        row = rows[-1]
        led_here = (depth == depth[row] - 1) & (beneficiary == victim[row]) & (at < at[row])
        rows.append(int(led_here.argmax()))
    return rows[::-1]
