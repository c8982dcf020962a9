"""Shares: what queues held of the cluster against what they were entitled to.

A queue's share is its dominant one: the largest part of the cluster that it held of any resource. It is entitled
to what the plugins said that it deserves, or to an equal part where none says; never to more than it asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

from hekla.sim.run import Floats, Run


@dataclass(frozen=True)
class ShareSeries:
    """T equal parts of the run, Q queues in the run's order; shares of the cluster from 0 to 1."""

    edges: Floats
    """(T + 1,) seconds"""
    share: Floats
    """(T, Q) dominant share"""
    demand: Floats
    """(T, Q) dominant share of what its jobs asked for, from submission to end; may exceed 1"""
    deserved: Floats
    """(T, Q) dominant share of what plugins said, in resources that the queue asks for; NaN where none did"""
    entitled: Floats
    """(T, Q) what is deserved, or an equal part; not above demand"""
    jain: Floats
    """(T,) Jain's index over the satisfaction of queues with demand, in (0, 1]; NaN where none had any"""
    satisfaction: Floats
    """(Q,) the part of what it was entitled to, over the whole run, that a queue got; NaN without demand"""
    shortfall: Floats
    """(Q,) seconds of the whole cluster that the queue was entitled to and did not get"""
    excess: Floats
    """(Q,) seconds of the whole cluster that the queue held beyond what it was entitled to"""

    @property
    def times(self) -> Floats:
        """(T,) the middle of each part."""
        return (self.edges[:-1] + self.edges[1:]) / 2


def shares_over_time(run: Run, buckets: int = 400) -> ShareSeries:
    """Each queue's dominant share beside what it was entitled to, and how even that was."""
    raise NotImplementedError


def jain(values: Floats) -> float:
    """Jain's index of fairness: 1 where all are equal, 1/n where one has everything; NaN of nothing."""
    raise NotImplementedError
