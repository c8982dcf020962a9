"""Chains: evictions that led to evictions. A makes way for B, and B's pods later for C."""

from __future__ import annotations

from dataclasses import dataclass

from hekla.sim.run import Run


@dataclass(frozen=True)
class Link:
    """One eviction."""

    at: float
    victim: str
    """A job, as `namespace/name`."""
    beneficiary: str


@dataclass(frozen=True)
class Chains:
    """Evictions in favour of a job, by how many came before them in their chain."""

    by_depth: tuple[int, ...]
    """How many pods were evicted at depth 1, 2, ...; depth 2: the victim had evicted others before."""
    longest: tuple[Link, ...]
    """The links of one longest chain, in order of time."""

    def as_data(self) -> dict[str, object]:
        raise NotImplementedError


def chains(run: Run) -> Chains:
    """The evictions that name whom they were for, ordered into chains."""
    raise NotImplementedError
