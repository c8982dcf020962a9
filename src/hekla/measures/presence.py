"""Presence: how many jobs and pods waited and ran, as exact means over equal parts of the run.

A job runs while as many of its pods as its gang needs are on nodes or done; otherwise, from its submission to its
end, it waits: also again, after an eviction.
"""

from __future__ import annotations

from dataclasses import dataclass

from hekla.sim.run import Floats, Run


@dataclass(frozen=True)
class JobSeries:
    """Mean numbers in T equal parts of the run, for Q queues in the run's order."""

    edges: Floats
    """(T + 1,) seconds"""
    waiting: Floats
    """(T, Q) jobs"""
    running: Floats
    """(T, Q) jobs"""
    pods_waiting: Floats
    """(T, Q) pods of jobs that are neither on a node nor done"""
    pods_running: Floats
    """(T, Q)"""

    @property
    def times(self) -> Floats:
        """(T,) the middle of each part."""
        return (self.edges[:-1] + self.edges[1:]) / 2


def jobs_over_time(run: Run, buckets: int = 400) -> JobSeries:
    """Waiting and running jobs and pods of each queue; jobs that were refused do not wait."""
    raise NotImplementedError
