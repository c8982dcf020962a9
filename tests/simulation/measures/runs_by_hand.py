"""Runs in a few words, as measures want them: jobs, the pod_runs of their pods, and nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from hekla.simulation.run import NOTHING, Ending, Jobs, Nodes, PodRuns, Run, Samples, State

CPU, GPU = "cpu", "nvidia.com/gpu"
RESOURCES = (CPU, GPU)
NAN = float("nan")

Spans = Sequence[tuple[float, float]]


@dataclass
class JobOf:
    name: str
    submitted: float = 0.0
    started: float = NAN
    finished: float = NAN
    run: float = 100.0
    queue: str | None = "default"
    state: State | None = None
    pods: int = 1
    minimum: int | None = None
    evictions: int = 0
    failures: int = 0
    restarts: int = 0
    cpu: float = 1
    gpu: float = 0

    @property
    def end_state(self) -> State:
        if self.state is not None:
            return self.state
        if np.isnan(self.started):
            return State.WAITING
        return State.RUNNING if np.isnan(self.finished) else State.COMPLETED

    @property
    def request(self) -> tuple[int, int]:
        return int(self.cpu * 1000), int(self.gpu * 1000)


@dataclass
class PodRunOf:
    job: str
    node: str
    began: float
    ended: float
    pod: int = 0
    ending: Ending = Ending.DONE
    kept: float | None = None
    for_job: str | None = None


@dataclass
class NodeOf:
    name: str
    cpu: float = 4
    gpu: float = 0
    up: Spans | None = None


@dataclass
class Scene:
    jobs: Sequence[JobOf] = ()
    pod_runs: Sequence[PodRunOf] = ()
    nodes: Sequence[NodeOf] = field(default_factory=lambda: [NodeOf("n1")])
    end: float = 100.0
    queues: Sequence[str] = ("default",)
    deserved: Mapping[float, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    """By time and queue: cores and GPUs."""

    def run(self) -> Run:
        shapes = sorted({job.request for job in self.jobs}) or [(0, 0)]
        return Run(
            title="by hand",
            conf="default",
            seed=0,
            end=self.end,
            is_complete=True,
            cycles=int(self.end),
            resources=RESOURCES,
            queues=list(self.queues),
            shapes=np.array(shapes, np.int64).reshape(-1, len(RESOURCES)),
            jobs=self._jobs(shapes),
            pod_runs=self._pod_runs(shapes),
            nodes=self._nodes(),
            samples=self._samples(),
        )

    def _jobs(self, shapes: Sequence[tuple[int, int]]) -> Jobs:
        jobs = self.jobs
        queue = [NOTHING if job.queue is None else list(self.queues).index(job.queue) for job in jobs]
        minimum = [job.pods if job.minimum is None else job.minimum for job in jobs]
        requests = [[amount * job.pods for amount in job.request] for job in jobs]
        return Jobs(
            names=[f"default/{job.name}" for job in jobs],
            users=["" for _ in jobs],
            queue=np.array(queue, np.int32),
            state=np.array([job.end_state for job in jobs], np.uint8),
            submitted=np.array([job.submitted for job in jobs], np.float64),
            started=np.array([job.started for job in jobs], np.float64),
            finished=np.array([job.finished for job in jobs], np.float64),
            run_seconds=np.array([job.run for job in jobs], np.float64),
            estimate=np.full(len(jobs), NAN),
            pods=np.array([job.pods for job in jobs], np.int32),
            minimum=np.array(minimum, np.int32),
            evictions=np.array([job.evictions for job in jobs], np.int32),
            failures=np.array([job.failures for job in jobs], np.int32),
            restarts=np.array([job.restarts for job in jobs], np.int32),
            requests=np.array(requests, np.int64).reshape(-1, len(RESOURCES)),
            shape=np.array([shapes.index(job.request) for job in jobs], np.int32),
        )

    def _pod_runs(self, shapes: Sequence[tuple[int, int]]) -> PodRuns:
        pod_runs, names = self.pod_runs, [job.name for job in self.jobs]
        nodes = [node.name for node in self.nodes]
        job = [names.index(pod_run.job) for pod_run in pod_runs]
        kept = [
            pod_run.ended - pod_run.began if pod_run.kept is None else pod_run.kept for pod_run in pod_runs
        ]
        beneficiary = [NOTHING if s.for_job is None else names.index(s.for_job) for s in pod_runs]
        return PodRuns(
            job=np.array(job, np.int32),
            pod=np.array([pod_run.pod for pod_run in pod_runs], np.int32),
            shape=np.array([shapes.index(self.jobs[row].request) for row in job], np.int32),
            node=np.array([nodes.index(pod_run.node) for pod_run in pod_runs], np.int32),
            began=np.array([pod_run.began for pod_run in pod_runs], np.float64),
            ended=np.array([pod_run.ended for pod_run in pod_runs], np.float64),
            ending=np.array([pod_run.ending for pod_run in pod_runs], np.uint8),
            kept=np.array(kept, np.float64),
            beneficiary=np.array(beneficiary, np.int32),
        )

    def _nodes(self) -> Nodes:
        amounts = [(int(node.cpu * 1000), int(node.gpu * 1000)) for node in self.nodes]
        spans = [
            (row, *span)
            for row, node in enumerate(self.nodes)
            for span in (((0.0, self.end),) if node.up is None else node.up)
        ]
        return Nodes(
            names=[node.name for node in self.nodes],
            allocatable=np.array(amounts, np.int64).reshape(-1, len(RESOURCES)),
            service=np.array([row for row, _, _ in spans], np.int32),
            service_began=np.array([began for _, began, _ in spans], np.float64),
            service_ended=np.array([ended for _, _, ended in spans], np.float64),
        )

    def _samples(self) -> Samples:
        said = [[by_queue.get(q, (NAN, NAN)) for q in self.queues] for by_queue in self.deserved.values()]
        deserved = np.array(said, np.float64).reshape(len(said), len(self.queues), len(RESOURCES)) * 1000
        return Samples(np.array(list(self.deserved), np.float64), deserved)


def moments(most: float) -> st.SearchStrategy[float]:
    """Halves of seconds, so that sums are exact and moments coincide."""
    return st.integers(0, int(2 * most)).map(lambda halves: halves / 2)


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """Small runs in which pods are placed anyhow: whether they fit is no concern of a measure."""
    end = draw(st.integers(1, 12)) * 5.0
    queues = ("a", "b", "c")[: draw(st.integers(1, 3))]
    nodes = []
    for row in range(draw(st.integers(1, 3))):
        down = sorted(draw(st.tuples(moments(end), moments(end))))
        up = draw(st.sampled_from([None, ((0.0, down[0]), (down[1], end))]))
        nodes.append(NodeOf(f"n{row}", draw(st.integers(0, 8)), draw(st.integers(0, 2)), up))
    jobs, pod_runs = [], []
    for row in range(draw(st.integers(0, 5))):
        job, its = draw(_jobs(f"j{row}", end, queues, [node.name for node in nodes]))
        jobs.append(job)
        pod_runs += its
    return Scene(jobs, sorted(pod_runs, key=lambda pod_run: pod_run.ended), nodes, end, queues)


@st.composite
def _jobs(
    draw: st.DrawFn, name: str, end: float, queues: Sequence[str], nodes: Sequence[str]
) -> tuple[JobOf, list[PodRunOf]]:
    pods = draw(st.integers(1, 4))
    submitted, started, finished = sorted(draw(st.tuples(*[moments(end)] * 3)))
    fate = draw(st.sampled_from([State.WAITING, State.RUNNING, State.COMPLETED, State.FAILED, State.REFUSED]))
    has_ended, has_started = (
        fate in (State.COMPLETED, State.FAILED),
        fate not in (State.WAITING, State.REFUSED),
    )
    job = JobOf(
        name,
        submitted,
        started if has_started else NAN,
        finished if has_ended else NAN,
        run=draw(st.integers(1, 30)),
        queue=draw(st.sampled_from(queues)),
        state=fate,
        pods=pods,
        minimum=draw(st.integers(1, pods)),
        cpu=draw(st.integers(0, 3)),
        gpu=draw(st.integers(0, 1)),
    )
    if not has_started:
        return job, []
    left = finished if has_ended else end
    pod_runs = []
    for pod in range(pods):
        moment = started
        for _ in range(draw(st.integers(0, 2))):
            began, ended = sorted(draw(st.tuples(moments(end), moments(end))))
            began, ended = max(began, moment), min(max(ended, began, moment), left)
            if began > ended:
                break
            ending = draw(st.sampled_from([Ending.DONE, Ending.EVICTED, Ending.LOST, Ending.STOPPED]))
            kept = draw(st.sampled_from([None, 0.0]))
            pod_runs.append(PodRunOf(name, draw(st.sampled_from(nodes)), began, ended, pod, ending, kept))
            moment = ended
    return job, pod_runs
