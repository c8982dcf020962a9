"""A run as large as real ones, drawn at random: no scheduler made it, but its columns are as long."""

from __future__ import annotations

import numpy as np

from hekla.simulation.run import NOTHING, Ending, Jobs, Nodes, PodRuns, Run, Samples, State

RESOURCES = ("cpu", "memory", "pods", "nvidia.com/gpu")
WEEK = 7 * 86400.0


def large_run(jobs: int, pod_runs: int, nodes: int = 1000, queues: int = 20, shapes: int = 60) -> Run:
    rng = np.random.default_rng(7)
    units = np.array([1000, 2**30, 1, 1000])
    sizes = rng.integers([1, 1, 1, 0], [32, 128, 2, 9], (shapes, 4)) * units
    pods = rng.choice([1, 2, 4, 8, 16, 64, 128], jobs, p=[0.5, 0.15, 0.15, 0.1, 0.06, 0.03, 0.01])
    submitted = np.sort(rng.uniform(0, WEEK * 0.9, jobs))
    started = submitted + rng.exponential(1800, jobs)
    run_seconds = rng.lognormal(7, 1.5, jobs)
    finished = started + run_seconds
    state = np.full(jobs, State.COMPLETED, np.uint8)
    state[finished > WEEK] = State.RUNNING
    state[started > WEEK] = State.WAITING
    shape = rng.integers(0, shapes, jobs)
    minimum = np.where(rng.random(jobs) < 0.7, pods, 1)
    columns = Jobs(
        names=[f"default/job-{row}" for row in range(jobs)],
        users=[f"user-{row % 50}" for row in range(jobs)],
        queue=rng.integers(0, queues, jobs).astype(np.int32),
        state=state,
        submitted=submitted,
        started=np.where(started > WEEK, np.nan, started),
        finished=np.where(finished > WEEK, np.nan, finished),
        run_seconds=run_seconds,
        estimate=run_seconds * 2,
        pods=pods.astype(np.int32),
        minimum=minimum.astype(np.int32),
        evictions=rng.poisson(0.1, jobs).astype(np.int32),
        failures=np.zeros(jobs, np.int32),
        restarts=np.zeros(jobs, np.int32),
        requests=sizes[shape] * pods[:, None],
        shape=shape.astype(np.int32),
    )
    return Run(
        title="a week",
        conf="default",
        seed=7,
        end=WEEK,
        is_complete=False,
        cycles=600_000,
        resources=RESOURCES,
        queues=[f"queue-{row}" for row in range(queues)],
        shapes=sizes,
        jobs=columns,
        pod_runs=_pod_runs(rng, columns, pod_runs, nodes),
        nodes=Nodes(
            names=[f"node-{row}" for row in range(nodes)],
            allocatable=np.tile(np.array([128, 1024, 110, 8]) * units, (nodes, 1)),
            service=np.arange(nodes, dtype=np.int32),
            service_began=np.zeros(nodes),
            service_ended=np.full(nodes, WEEK),
        ),
        samples=Samples(np.linspace(0, WEEK, 400), rng.uniform(0, 1e5, (400, queues, 4))),
    )


def _pod_runs(rng: np.random.Generator, jobs: Jobs, count: int, nodes: int) -> PodRuns:
    job = rng.choice(np.flatnonzero(~np.isnan(jobs.started)), count)
    left = np.where(np.isnan(jobs.finished), WEEK, jobs.finished)[job]
    began = rng.uniform(jobs.started[job], left)
    ended = rng.uniform(began, left)
    order = np.argsort(ended)
    job, began, ended = job[order], began[order], ended[order]
    ending = rng.choice(np.array([Ending.DONE, Ending.EVICTED, Ending.LOST]), count, p=[0.9, 0.08, 0.02])
    for_job = np.where(ending == Ending.EVICTED, rng.integers(0, len(jobs), count), NOTHING)
    return PodRuns(
        job=job.astype(np.int32),
        pod=(rng.random(count) * jobs.pods[job]).astype(np.int32),
        shape=jobs.shape[job],
        node=rng.integers(0, nodes, count).astype(np.int32),
        began=began,
        ended=ended,
        ending=ending.astype(np.uint8),
        kept=np.where(ending == Ending.DONE, ended - began, 0.0),
        beneficiary=for_job.astype(np.int32),
    )
