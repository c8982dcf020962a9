"""Shares: what queues held of the cluster against what they were entitled to.

A queue's share is its dominant one: the largest part of the cluster that it held of any resource. It is
entitled to what the plugins said that it deserves, or to an equal part where none says; never to more than it
asked for. Places for pods are no resource that is shared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hekla.measures.presence import stays_of_jobs
from hekla.measures.spans import Mask, Series, edges_of, ratio
from hekla.measures.use import by_resource, capacity, used_by_queue
from hekla.model.resources import PODS
from hekla.sim.run import Floats, Run


@dataclass(frozen=True)
class ShareSeries(Series):
    """T equal parts of the run, Q queues in the run's order; shares of the cluster from 0 to 1."""

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

    @property
    def satisfaction(self) -> Floats:
        """(Q,) The part of what it was entitled to, over the whole run, that a queue got; NaN without."""
        got = np.minimum(self.share, self.entitled)
        return ratio(self.seconds @ got, self.seconds @ self.entitled, np.nan)

    @property
    def shortfall(self) -> Floats:
        """(Q,) Seconds of the whole cluster that the queue was entitled to and did not get."""
        return self.seconds @ np.maximum(self.entitled - self.share, 0.0)

    @property
    def excess(self) -> Floats:
        """(Q,) Seconds of the whole cluster that the queue held beyond what it was entitled to."""
        return self.seconds @ np.maximum(self.share - self.entitled, 0.0)


def shares_over_time(run: Run, buckets: int = 400) -> ShareSeries:
    """Each queue's dominant share beside what it was entitled to, and how even that was."""
    edges = edges_of(run, buckets)
    available = capacity(run, edges)[:, None, :]
    asked_for = asked_by_queue(run)
    wanted = by_resource(stays_of_jobs(run, edges), run.jobs.requests)
    share = np.nan_to_num(dominant(ratio(used_by_queue(run, edges), available), asked_for))
    demand = np.nan_to_num(dominant(ratio(wanted, available), asked_for))
    said = ratio(deserved_at(run, (edges[:-1] + edges[1:]) / 2), available, np.nan)
    deserved = dominant(np.minimum(said, 1.0), asked_for)
    entitled = np.minimum(np.where(np.isnan(deserved), equal_part(demand), deserved), demand)
    got = np.minimum(ratio(share, entitled, np.nan), 1.0)
    return ShareSeries(edges, share, demand, deserved, entitled, jain(got))


def asked_by_queue(run: Run) -> Mask:
    """(Q, R) Which resources the jobs of each queue ask for, places for pods left out."""
    known = run.jobs.queue >= 0
    queue, asks = run.jobs.queue[known], run.jobs.requests[known] > 0
    columns = [np.bincount(queue[column], minlength=len(run.queues)) > 0 for column in asks.T]
    is_shared = np.array([name != PODS for name in run.resources], np.bool_)
    return np.logical_and(np.stack(columns, axis=-1), is_shared)


def deserved_at(run: Run, moments: Floats) -> Floats:
    """(T, Q, R) What plugins said last before each moment, or first of all; NaN where none did."""
    times = run.samples.times
    if not len(times):
        return np.full((len(moments), len(run.queues), len(run.resources)), np.nan)
    latest = np.searchsorted(times, moments, side="right") - 1
    return run.samples.deserved[np.maximum(latest, 0)]


def dominant(shares: Floats, asked_for: Mask) -> Floats:
    """(T, Q) The largest of the shares (T, Q, R) in resources asked for (Q, R); NaN where none is known."""
    largest: Floats = np.fmax.reduce(np.where(asked_for, shares, np.nan), axis=-1, initial=np.nan)
    return largest


def equal_part(demand: Floats) -> Floats:
    """(T, 1) The cluster divided by the number of queues with demand."""
    queues = (demand > 0).sum(axis=1, keepdims=True)
    part: Floats = 1.0 / np.maximum(queues, 1)
    return part


def jain(values: Floats) -> Floats:
    """Jain's index along the last axis: 1 where all are equal, 1/n where one has everything.

    NaNs do not take part. Where everybody has nothing all are equal; of nobody it is NaN.
    """
    taking_part = (~np.isnan(values)).sum(axis=-1)
    total, squares = np.nansum(values, axis=-1), np.nansum(values**2, axis=-1)
    index = ratio(total**2, taking_part * squares, 1.0)
    return np.where(taking_part > 0, index, np.nan)
