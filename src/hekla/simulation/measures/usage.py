"""What queues held and used over time, and the shares that follow from it.

A job runs while as many of its pods as its gang needs are on nodes or done; otherwise, from its submission to
its end, it waits: also again, after an eviction.

A queue's share is its dominant one: the largest part of the cluster that it held of any resource. It is
entitled to what the plugins said that it deserves, or to an equal part where none says; never to more than it
asked for. Places for pods are no resource that is shared.
"""

from __future__ import annotations

import numpy as np

from hekla.engine.model.resources import PODS
from hekla.errors import InputError
from hekla.simulation.measures.room import fragments
from hekla.simulation.measures.spans import (
    Mask,
    Rows,
    Series,
    Spans,
    cut,
    edges_of,
    queue_of_pod_run,
    ratio,
    taken_in,
    until_end,
)
from hekla.simulation.run import NOTHING, Amounts, Ending, Floats, Run


class JobSeries(Series, frozen=True):
    """Mean numbers in T equal parts of the run, for Q queues in the run's order."""

    waiting: Floats
    """(T, Q) jobs"""
    running: Floats
    """(T, Q) jobs"""
    pods_waiting: Floats
    """(T, Q) pods of jobs that are neither on a node nor done"""
    pods_running: Floats
    """(T, Q)"""


def jobs_over_time(run: Run, buckets: int = 400) -> JobSeries:
    """Waiting and running jobs and pods of each queue; jobs that were refused do not wait."""
    edges, jobs, pod_runs, queues = edges_of(run, buckets), run.jobs, run.pod_runs, len(run.queues)
    stays = stays_of_jobs(run, edges)
    job, began, ended = running_spans(run)
    running = cut(edges, began, ended, jobs.queue[job], queues).mean()
    of_pod_run = queue_of_pod_run(run)
    placed = cut(edges, pod_runs.began, until_end(run, pod_runs.ended), of_pod_run, queues).mean()
    provided = cut(edges, pod_runs.began, provided_until(run), of_pod_run, queues).mean()
    return JobSeries(
        edges,
        waiting=np.maximum(stays.mean() - running, 0.0),
        running=running,
        pods_waiting=np.maximum(stays.mean(jobs.pods.astype(np.int64)) - provided, 0.0),
        pods_running=placed,
    )


def backlog_over_time(run: Run, buckets: int = 400) -> Floats:
    """(T, R) The mean amounts that pods asked for which were neither on a node nor done."""
    edges, jobs, pod_runs = edges_of(run, buckets), run.jobs, run.pod_runs
    there = np.where(taken_in(run), 0, NOTHING)
    stays = cut(edges, jobs.submitted, until_end(run, jobs.finished), there)
    provided = cut(edges, pod_runs.began, provided_until(run), np.where(pod_runs.job >= 0, 0, NOTHING))
    wanted, got = by_resource(stays, jobs.requests), by_resource(provided, run.shapes[pod_runs.shape])
    return np.maximum(wanted - got, 0.0)[:, 0, :]


def stays_of_jobs(run: Run, edges: Floats) -> Spans:
    """From submission to end, by queue; jobs that were refused do not stay."""
    jobs = run.jobs
    queue = np.where(taken_in(run), jobs.queue, NOTHING)
    return cut(edges, jobs.submitted, until_end(run, jobs.finished), queue, len(run.queues))


def running_spans(run: Run) -> tuple[Rows, Floats, Floats]:
    """Spans in which a job had all that its gang needs: the job, from when, to when."""
    known = np.flatnonzero(run.pod_runs.job >= 0)
    job = np.tile(run.pod_runs.job[known], 2)
    moment = np.concatenate((run.pod_runs.began[known], provided_until(run)[known]))
    change = np.repeat((1, -1), len(known))
    order = np.lexsort((moment, job))
    job, moment = job[order], moment[order]
    # All of a job's pods are gone at its last change, so one sum runs through all jobs.
    provided = np.cumsum(change[order])
    needed = np.maximum(run.jobs.minimum, 1)[job]
    is_enough = (provided >= needed)[:-1] & (job[:-1] == job[1:]) & (moment[:-1] < moment[1:])
    span = np.flatnonzero(is_enough)
    return job[span], moment[span], moment[span + 1]


def provided_until(run: Run) -> Floats:
    """(pod_runs,) Until when a job need not wait for this pod.

    To the end of the pod run; where the pod was done with its work, to the end of its job, or until it starts
    again with the whole job.
    """
    pod_runs, ended = run.pod_runs, until_end(run, run.pod_runs.ended)
    left = np.append(until_end(run, run.jobs.finished), run.end)
    order = np.lexsort((pod_runs.began, pod_runs.pod, pod_runs.job))
    job, pod = pod_runs.job[order], pod_runs.pod[order]
    is_followed = np.append((job[:-1] == job[1:]) & (pod[:-1] == pod[1:]), False)[: len(order)]
    following = np.where(is_followed, np.roll(pod_runs.began[order], -1), left[job])
    until = np.empty(len(order))
    until[order] = following
    return np.where(pod_runs.ending == Ending.DONE, np.maximum(until, ended), ended)


class UseSeries(Series, frozen=True):
    """T equal parts of the run, Q queues, R resources, in the run's order; amounts in canonical units."""

    used: Floats
    """(T, Q, R) the mean amount that pods of each queue held"""
    capacity: Floats
    """(T, R) the mean amount that nodes in service had"""
    fragmentation: Floats
    """(T, R) the part of what was idle that a pod of the mix cannot use, from 0 to 1; NaN where none was"""


def use_over_time(run: Run, buckets: int = 400) -> UseSeries:
    """What was used by each queue, the capacity, and how much of the idle rest was fragmented."""
    edges = edges_of(run, buckets)
    stuck, idle = fragments(run, (edges[:-1] + edges[1:]) / 2)
    return UseSeries(edges, used_by_queue(run, edges), capacity(run, edges), ratio(stuck, idle, np.nan))


def used_by_queue(run: Run, edges: Floats) -> Floats:
    """(T, Q, R) The mean amount that pods of each queue held."""
    pod_runs = run.pod_runs
    spans = cut(edges, pod_runs.began, until_end(run, pod_runs.ended), queue_of_pod_run(run), len(run.queues))
    return by_resource(spans, run.shapes[pod_runs.shape])


def capacity(run: Run, edges: Floats) -> Floats:
    """(T, R) The mean amount that nodes in service had."""
    nodes = run.nodes
    spans = cut(edges, nodes.service_began, until_end(run, nodes.service_ended))
    return by_resource(spans, nodes.allocatable[nodes.service])[:, 0, :]


def node_use(run: Run, resource: str, buckets: int = 400) -> Floats:
    """(N, T) The mean part of each node's amount that was in use; NaN while it was not there or had none."""
    column, count = column_of(run, resource), len(run.nodes.names)
    edges, pod_runs, nodes = edges_of(run, buckets), run.pod_runs, run.nodes
    held = cut(edges, pod_runs.began, until_end(run, pod_runs.ended), pod_runs.node, count)
    there = cut(edges, nodes.service_began, until_end(run, nodes.service_ended), nodes.service, count)
    used = held.integral(run.shapes[pod_runs.shape, column])
    return ratio(used, there.integral(nodes.allocatable[nodes.service, column]), np.nan).T


def column_of(run: Run, resource: str) -> int:
    if resource not in run.resources:
        raise InputError(f'no resource "{resource}" in this run; there are: {", ".join(run.resources)}')
    return run.resources.index(resource)


def by_resource(spans: Spans, amounts: Amounts) -> Floats:
    """(parts, groups, R) of amounts (spans, R)."""
    return np.stack([spans.mean(column) for column in amounts.T], axis=-1)


class ShareSeries(Series, frozen=True):
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

    NaNs do not take part. Where all values are 0 they are equal; of no values it is NaN.
    """
    taking_part = (~np.isnan(values)).sum(axis=-1)
    total, squares = np.nansum(values, axis=-1), np.nansum(values**2, axis=-1)
    index = ratio(total**2, taking_part * squares, 1.0)
    return np.where(taking_part > 0, index, np.nan)
