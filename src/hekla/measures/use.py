"""Use: what pods held of what nodes had, as exact means over equal parts of the run."""

from __future__ import annotations

from dataclasses import dataclass

from hekla.sim.run import Floats, Run


@dataclass(frozen=True)
class UseSeries:
    """T equal parts of the run, Q queues, R resources, in the run's order; amounts in canonical units."""

    edges: Floats
    """(T + 1,) seconds"""
    used: Floats
    """(T, Q, R) the mean amount that pods of each queue held"""
    capacity: Floats
    """(T, R) the mean amount that nodes in service had"""
    fragmentation: Floats
    """(T, R) the part of what was idle that a pod of the mix cannot use, from 0 to 1; NaN where nothing was"""

    @property
    def times(self) -> Floats:
        """(T,) the middle of each part."""
        return (self.edges[:-1] + self.edges[1:]) / 2


def use_over_time(run: Run, buckets: int = 400) -> UseSeries:
    """What was used by each queue, what was there, and how much of the rest was in splinters."""
    raise NotImplementedError


def node_use(run: Run, resource: str, buckets: int = 400) -> Floats:
    """(N, T) The mean part of each node's amount that was in use; NaN while the node was not there."""
    raise NotImplementedError
