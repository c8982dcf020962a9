"""Presence: how many jobs and pods waited and ran, as exact means over equal parts of the run.

A job runs while as many of its pods as its gang needs are on nodes or done; otherwise, from its submission to
its end, it waits: also again, after an eviction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hekla.measures.spans import Rows, Series, Spans, cut, edges_of, queue_of_stint, settled, taken_in
from hekla.sim.run import NOTHING, Ending, Floats, Run


@dataclass(frozen=True)
class JobSeries(Series):
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
    edges, jobs, stints, queues = edges_of(run, buckets), run.jobs, run.stints, len(run.queues)
    stays = stays_of_jobs(run, edges)
    job, began, ended = running_spans(run)
    running = cut(edges, began, ended, jobs.queue[job], queues).mean()
    of_stint = queue_of_stint(run)
    placed = cut(edges, stints.began, settled(run, stints.ended), of_stint, queues).mean()
    provided = cut(edges, stints.began, provided_until(run), of_stint, queues).mean()
    return JobSeries(
        edges,
        waiting=np.maximum(stays.mean() - running, 0.0),
        running=running,
        pods_waiting=np.maximum(stays.mean(jobs.pods.astype(np.int64)) - provided, 0.0),
        pods_running=placed,
    )


def stays_of_jobs(run: Run, edges: Floats) -> Spans:
    """From submission to end, by queue; jobs that were refused do not stay."""
    jobs = run.jobs
    queue = np.where(taken_in(run), jobs.queue, NOTHING)
    return cut(edges, jobs.submitted, settled(run, jobs.finished), queue, len(run.queues))


def running_spans(run: Run) -> tuple[Rows, Floats, Floats]:
    """Spans in which a job had all that its gang needs: the job, from when, to when."""
    known = np.flatnonzero(run.stints.job >= 0)
    job = np.tile(run.stints.job[known], 2)
    moment = np.concatenate((run.stints.began[known], provided_until(run)[known]))
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
    """(stints,) Until when a job need not wait for this pod.

    To the end of the stint; where the pod was done with its work, to the end of its job, or until it starts
    again with the whole job.
    """
    stints, ended = run.stints, settled(run, run.stints.ended)
    left = np.append(settled(run, run.jobs.finished), run.end)
    order = np.lexsort((stints.began, stints.pod, stints.job))
    job, pod = stints.job[order], stints.pod[order]
    is_followed = np.append((job[:-1] == job[1:]) & (pod[:-1] == pod[1:]), False)[: len(order)]
    following = np.where(is_followed, np.roll(stints.began[order], -1), left[job])
    until = np.empty(len(order))
    until[order] = following
    return np.where(stints.ending == Ending.DONE, np.maximum(until, ended), ended)
