"""Runs in a few words, as a comparison wants them: who waited how long, and ran where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hekla.insight.compare import Against
from hekla.insight.compare.differences import CandidateResults
from hekla.insight.compare.pairs import job_figures, paired
from hekla.simulation.measures import summarize
from hekla.simulation.run import Ending, Jobs, Nodes, PodRuns, Run, Samples, State

NAN = float("nan")
RESOURCES = ("cpu", "pods")


@dataclass
class Fate:
    """A job of one-core pods on a node of its own; without a wait it never starts."""

    name: str
    wait: float = NAN
    submitted: float = 0.0
    run: float = 100.0
    queue: str = "default"
    pods: int = 1
    evictions: int = 0
    lost: float = 0.0
    """Seconds that its first pod ran in vain, before it ran for good."""

    @property
    def started(self) -> float:
        return self.submitted + self.wait

    @property
    def finished(self) -> float:
        return self.started + self.run + self.lost


def run_of(fates: Sequence[Fate], queues: Sequence[str] = ("default",), conf: str = "a") -> Run:
    end = float(np.nanmax([1000.0, *(fate.finished for fate in fates)]))
    has_run = np.array([not np.isnan(fate.wait) for fate in fates], np.bool_)
    pods = np.array([fate.pods for fate in fates], np.int32)
    requests = np.stack([pods * 1000, pods], axis=1).astype(np.int64).reshape(-1, 2)
    return Run(
        title="by hand",
        conf=conf,
        seed=0,
        end=end,
        is_complete=True,
        cycles=100,
        resources=RESOURCES,
        queues=list(queues),
        shapes=np.array([[1000, 1]], np.int64),
        jobs=Jobs(
            names=[f"default/{fate.name}" for fate in fates],
            users=["" for _ in fates],
            queue=np.array([list(queues).index(fate.queue) for fate in fates], np.int32),
            state=np.where(has_run, State.COMPLETED, State.WAITING).astype(np.uint8),
            submitted=np.array([fate.submitted for fate in fates], np.float64),
            started=np.array([fate.started for fate in fates], np.float64),
            finished=np.array([fate.finished for fate in fates], np.float64),
            run_seconds=np.array([fate.run for fate in fates], np.float64),
            estimate=np.full(len(fates), NAN),
            pods=pods,
            minimum=pods,
            evictions=np.array([fate.evictions for fate in fates], np.int32),
            failures=np.zeros(len(fates), np.int32),
            restarts=np.zeros(len(fates), np.int32),
            requests=requests,
            shape=np.zeros(len(fates), np.int32),
        ),
        pod_runs=_pod_runs(fates),
        nodes=Nodes(
            names=["n1"],
            allocatable=np.array([[100_000, 1000]], np.int64),
            service=np.zeros(1, np.int32),
            service_began=np.zeros(1),
            service_ended=np.array([end]),
        ),
        samples=Samples(np.zeros(0), np.zeros((0, len(queues), len(RESOURCES)))),
    )


def _pod_runs(fates: Sequence[Fate]) -> PodRuns:
    rows: list[tuple[int, float, float, Ending, float]] = []
    for job, fate in enumerate(fates):
        if np.isnan(fate.wait):
            continue
        if fate.lost:
            rows.append((job, fate.started, fate.started + fate.lost, Ending.EVICTED, 0.0))
        began = fate.started + fate.lost
        rows.append((job, began, began + fate.run, Ending.DONE, fate.run))
    rows.sort(key=lambda row: row[2])
    job, began, ended, ending, kept = zip(*rows, strict=True) if rows else ((),) * 5
    nothing = np.zeros(len(rows), np.int32)
    return PodRuns(
        job=np.array(job, np.int32),
        pod=nothing,
        shape=nothing,
        node=nothing,
        began=np.array(began, np.float64),
        ended=np.array(ended, np.float64),
        ending=np.array(ending, np.uint8),
        kept=np.array(kept, np.float64),
        beneficiary=nothing - 1,
    )


def against(
    *pairs: tuple[Run, Run],
    confidence: float = 0.95,
    is_spread: bool = False,
    names: tuple[str, str] = ("a", "b"),
) -> Against:
    """What comes of pairs of runs, one for each seed."""
    results = CandidateResults()
    runs = {id(run): run for pair in pairs for run in pair}
    summaries = {key: summarize(run) for key, run in runs.items()}
    for seed, (base, candidate) in enumerate(pairs):
        pair = paired(job_figures(base), job_figures(candidate))
        results.add(seed, pair, summaries[id(base)], summaries[id(candidate)])
    is_alone = len(pairs) == 1
    return Against(
        base=names[0],
        name=names[1],
        seeds=tuple(range(len(pairs))),
        differences=tuple(results.differences(confidence, is_spread=is_spread, resolution=1.0)),
        outcome=results.outcome,
        is_identical=all(seed.is_identical for seed in results.in_order),
        blocks=results.blocks if is_alone else 0,
        neighbour_correlation=results.neighbour_correlation if is_alone else 0.0,
        widening=results.widening if is_alone else 1.0,
    )
