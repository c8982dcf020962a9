"""Runs made up for tests: a first-come-first-served cluster with evictions and a node that fails.

Nothing of the engine takes part, so that a page can be tested at any size within seconds. Same arguments,
same run.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field, replace

import numpy as np

from hekla.simulation.run import Ending, Jobs, Nodes, PodRuns, Run, Samples, State

RESOURCES = ("cpu", "memory", "nvidia.com/gpu")
NODE = np.array([64_000, 512 << 30, 8_000])
QUEUES = ["research", "production", "batch", "interactive"]
WEIGHTS = np.array([4.0, 3.0, 2.0, 1.0])
GPUS = np.array([1, 2, 4, 8])


@dataclass
class Story:
    """What has been written down so far."""

    pod_runs: list[tuple[int, int, int, int, float, float, int, float, int]] = field(default_factory=list)
    started: dict[int, float] = field(default_factory=dict)
    finished: dict[int, float] = field(default_factory=dict)
    evictions: dict[int, int] = field(default_factory=dict)
    failures: dict[int, int] = field(default_factory=dict)
    restarts: dict[int, int] = field(default_factory=dict)


def made_run(
    jobs: int = 120,
    nodes: int = 8,
    seed: int = 1,
    pods: float = 4.0,
    load: float = 0.9,
    until: float | None = None,
    conf: str = "default.conf",
    queues: list[str] | None = None,
) -> Run:
    """A run of so many jobs, with `pods` pods on average; with `until` it is cut at that moment."""
    random = np.random.default_rng(seed)
    names = QUEUES if queues is None else queues
    size = random.choice(len(GPUS), jobs, p=[0.4, 0.3, 0.2, 0.1])
    # A job takes half of the cluster at most, so that all of them can run.
    count = random.geometric(1 / pods, jobs).clip(1, np.maximum(1, nodes * 4 // GPUS[size])).astype(np.int32)
    length = np.round(random.lognormal(7.0, 1.1, jobs), 3)
    gaps = random.exponential(float((count * GPUS[size] * length).mean()) / (nodes * 8 * load), jobs)
    submitted = np.round(np.cumsum(gaps), 3)
    story, end = played(random, submitted, count, size, length, nodes, until)
    return run_of(story, end, random, submitted, count, size, length, nodes, until, seed, conf, names)


def played(random, submitted, count, size, length, nodes, until):  # type: ignore[no-untyped-def]
    """Jobs in order of arrival on the first nodes with room; one in twenty is evicted once, half way.

    The last node is away from the third to the half of the time in which jobs come, as `nodes_of` says.
    """
    story, free = Story(), np.full(nodes, 8)
    waiting: deque[int] = deque()
    events = [(float(at), 0, job) for job, at in enumerate(submitted)]
    if nodes > 1:
        events += [(submitted[-1] / 3, 3, nodes - 1), (submitted[-1] / 2, 4, nodes - 1)]
    heapq.heapify(events)
    unlucky = set(np.flatnonzero(random.random(len(submitted)) < 0.05).tolist())
    horizon, now = (np.inf if until is None else until), 0.0
    running: dict[int, tuple[float, np.ndarray]] = {}
    while events and events[0][0] <= horizon:
        now, kind, job = heapq.heappop(events)
        if kind == 0:
            waiting.append(job)
        elif kind == 3:
            events = node_fails(story, running, free, job, now, size, waiting, events)
        elif kind == 4:
            free[job] = 8
        else:
            taken_off(story, running, free, job, now, size, length, kind, waiting)
        while waiting and (places := room(free, GPUS[size[waiting[0]]], count[waiting[0]])) is not None:
            head = waiting.popleft()
            np.subtract.at(free, places, GPUS[size[head]])
            story.started.setdefault(head, now)
            running[head] = (now, places)
            is_cut = head in unlucky
            unlucky.discard(head)
            heapq.heappush(events, (now + length[head] * (0.5 if is_cut else 1.0), 2 if is_cut else 1, head))
    end = now if until is None else until
    for job, (began, places) in running.items():
        note(story, job, places, size, began, end, Ending.CUT, end - began, -1)
    return story, end


def room(free, gpus, pods):  # type: ignore[no-untyped-def]
    """The nodes that take the pods, one entry per pod; nothing where they do not fit together."""
    fits = np.cumsum(free // gpus)
    if not len(fits) or fits[-1] < pods:
        return None
    return np.searchsorted(fits, np.arange(pods), side="right")


def taken_off(story, running, free, job, now, size, length, kind, waiting):  # type: ignore[no-untyped-def]
    began, places = running.pop(job)
    np.add.at(free, places, GPUS[size[job]])
    if kind == 1:
        note(story, job, places, size, began, now, Ending.DONE, now - began, -1)
        story.finished[job] = now
        return
    note(story, job, places, size, began, now, Ending.EVICTED, 0.0, waiting[0] if waiting else -1)
    story.evictions[job] = len(places)
    story.restarts[job] = story.restarts.get(job, 0) + 1
    waiting.append(job)


def node_fails(story, running, free, node, now, size, waiting, events):  # type: ignore[no-untyped-def]
    """Jobs with a pod on the node start again; what was to happen to them does not."""
    hit = [job for job, (_, places) in running.items() if node in places]
    for job in hit:
        began, places = running.pop(job)
        np.add.at(free, places, GPUS[size[job]])
        for pod, place in enumerate(places.tolist()):
            ending = Ending.LOST if place == node else Ending.STOPPED
            story.pod_runs.append((job, pod, int(size[job]), place, began, now, int(ending), 0.0, -1))
        story.failures[job] = int((places == node).sum())
        story.restarts[job] = story.restarts.get(job, 0) + 1
    free[node] = 0
    waiting.extendleft(reversed(hit))
    left = [event for event in events if event[1] not in (1, 2) or event[2] not in hit]
    heapq.heapify(left)
    return left


def note(story, job, places, size, began, ended, ending, kept, beneficiary):  # type: ignore[no-untyped-def]
    for pod, node in enumerate(places.tolist()):
        shape = int(size[job])
        story.pod_runs.append((job, pod, shape, node, began, ended, int(ending), kept, beneficiary))


def run_of(story, end, random, submitted, count, size, length, nodes, until, seed, conf, queues):  # type: ignore[no-untyped-def]
    jobs = len(submitted)
    shapes = np.array([[g * 7_000, g * (48 << 30), g * 1_000] for g in GPUS], np.int64)
    # By weight of its queue; a queue's users have names of their own.
    of_queue = random.choice(len(queues), jobs, p=shares(len(queues))).astype(np.int32)
    known = submitted <= end
    state = np.full(jobs, State.WAITING, np.uint8)
    state[list(story.started)] = State.RUNNING
    state[list(story.finished)] = State.COMPLETED
    if until is None and jobs > 40:
        state[random.choice(list(story.finished), jobs // 40, replace=False)] = State.FAILED
    run = Run(
        title=f"{jobs} jobs on {nodes} nodes",
        conf=conf,
        seed=seed,
        end=float(end),
        is_complete=until is None,
        cycles=int(end),
        resources=RESOURCES,
        queues=list(queues),
        shapes=shapes,
        jobs=Jobs(
            names=[f"team-{q}/train-{job:05d}" for job, q in enumerate(of_queue.tolist())],
            users=[f"user-{n:02d}" for n in random.integers(0, 30, jobs).tolist()],
            queue=of_queue,
            state=state,
            submitted=submitted,
            started=column(story.started, jobs),
            finished=column(story.finished, jobs),
            run_seconds=length,
            estimate=np.where(random.random(jobs) < 0.7, np.round(length * 1.5, 1), np.nan),
            pods=count,
            minimum=count,
            evictions=column(story.evictions, jobs, 0).astype(np.int32),
            failures=column(story.failures, jobs, 0).astype(np.int32),
            restarts=column(story.restarts, jobs, 0).astype(np.int32),
            requests=shapes[size] * count[:, None],
            shape=size.astype(np.int32),
        ),
        pod_runs=pod_runs_of(story),
        nodes=nodes_of(nodes, end, submitted[-1]),
        samples=samples_of(end, len(queues), nodes),
        notes=["run times were taken from the trace, requests were rounded to whole GPUs"],
    )
    return only(run, known) if not known.all() else run


def shares(queues: int) -> np.ndarray:
    weights = np.resize(WEIGHTS, queues)
    return weights / weights.sum()


def column(values: dict[int, float], size: int, missing: float = np.nan) -> np.ndarray:
    full = np.full(size, float(missing))
    full[list(values)] = list(values.values())
    return full


def pod_runs_of(story: Story) -> PodRuns:
    rows = sorted(story.pod_runs, key=lambda row: row[5])
    job, pod, shape, node, began, ended, ending, kept, beneficiary = (
        (np.array(part) for part in zip(*rows, strict=True)) if rows else (np.zeros(0) for _ in range(9))
    )
    whole = [part.astype(np.int32) for part in (job, pod, shape, node, beneficiary)]
    return PodRuns(
        *whole[:4],
        began.astype(float),
        ended.astype(float),
        ending.astype(np.uint8),
        kept.astype(float),
        whole[4],
    )


def nodes_of(nodes: int, end: float, last: float) -> Nodes:
    """The last of several nodes is away from a third to half of the time in which jobs come."""
    names = [f"node-{row:04d}" for row in range(nodes)]
    began = [0.0] * nodes + ([last / 2] if nodes > 1 and last / 2 < end else [])
    service = [*range(nodes), nodes - 1][: len(began)]
    ended = [float(end)] * len(began)
    if nodes > 1:
        ended[nodes - 1] = min(end, last / 3)
    return Nodes(
        names, np.tile(NODE, (nodes, 1)), np.array(service, np.int32), np.array(began), np.array(ended)
    )


def samples_of(end: float, queues: int, nodes: int) -> Samples:
    times = np.linspace(0, end, 60) if end else np.zeros(0)
    deserved = (shares(queues)[:, None] * NODE * nodes)[None].repeat(len(times), 0)
    swing = 1 + 0.2 * np.sin(np.linspace(0, 9, len(times)))[:, None, None]
    return Samples(times, deserved * swing)


def only(run: Run, known: np.ndarray) -> Run:
    """The run without the jobs that were never handed in; they come last, so that numbers stay true."""
    kept = int(known.sum())
    columns = {name: getattr(run.jobs, name)[:kept] for name in run.jobs.__dataclass_fields__}
    return replace(run, jobs=Jobs(**columns))


def empty_run() -> Run:
    """Nothing was submitted and there were no nodes."""
    run = made_run(jobs=1, nodes=1)
    none = {
        name: [] if name in ("names", "users") else getattr(run.jobs, name)[:0]
        for name in run.jobs.__dataclass_fields__
    }
    away = {name: getattr(run.pod_runs, name)[:0] for name in run.pod_runs.__dataclass_fields__}
    nodes = Nodes([], np.zeros((0, 3), np.int64), np.zeros(0, np.int32), np.zeros(0), np.zeros(0))
    samples = Samples(np.zeros(0), np.zeros((0, len(run.queues), 3)))
    return replace(
        run,
        title="nothing",
        jobs=Jobs(**none),
        pod_runs=PodRuns(**away),
        nodes=nodes,
        samples=samples,
        end=0.0,
        notes=[],
    )


def repeated(run: Run, times: int) -> Run:
    """The same run again and again, one after another: many jobs in little time."""
    jobs, pod_runs = run.jobs, run.pod_runs

    def again(values: np.ndarray, step: float) -> np.ndarray:
        return np.concatenate([values + (step * number if step else 0) for number in range(times)]).astype(
            values.dtype
        )

    moments = {"submitted", "started", "finished", "began", "ended"}
    steps = {"job": len(jobs)} | dict.fromkeys(moments, run.end)
    columns = {
        name: again(value, steps.get(name, 0))
        for part in (jobs, pod_runs)
        for name, value in vars(part).items()
        if isinstance(value, np.ndarray) and name not in ("shape", "requests")
    }
    return replace(
        run,
        end=run.end * times,
        jobs=Jobs(
            names=[f"{name}-{number}" for number in range(times) for name in jobs.names],
            users=jobs.users * times,
            requests=np.tile(jobs.requests, (times, 1)),
            shape=np.tile(jobs.shape, times),
            **{name: columns[name] for name in vars(jobs) if name in columns},
        ),
        pod_runs=PodRuns(
            shape=np.tile(pod_runs.shape, times),
            **{name: columns[name] for name in vars(pod_runs) if name in columns},
        ),
        nodes=nodes_of(len(run.nodes.names), run.end * times, run.end * times),
    )
