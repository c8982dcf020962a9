"""RunLog: what happened, row by row; closed, it is a Run.

Rows are kept as bare numbers: hundreds of thousands of pods leave a few megabytes.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hekla.simulation.run import (
    NOTHING,
    Amounts,
    Ending,
    Jobs,
    Nodes,
    PodRuns,
    Run,
    Samples,
    State,
    WaitCauses,
)

Request = Mapping[str, int]
"""Amounts in canonical units by resource."""


def _doubles() -> array[float]:
    return array("d")


def _numbers() -> array[int]:
    return array("i")


def _codes() -> array[int]:
    return array("B")


class NameTable:
    """Things by number, in the order in which they were first heard of."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}

    def number_of(self, name: str) -> int:
        number = self._numbers.setdefault(name, len(self.names))
        if number == len(self.names):
            self.names.append(name)
        return number


@dataclass
class JobRows:
    """Columns of `Jobs`, growing."""

    names: list[str] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    queue: array[int] = field(default_factory=_numbers)
    state: array[int] = field(default_factory=_codes)
    submitted: array[float] = field(default_factory=_doubles)
    started: array[float] = field(default_factory=_doubles)
    finished: array[float] = field(default_factory=_doubles)
    run_seconds: array[float] = field(default_factory=_doubles)
    estimate: array[float] = field(default_factory=_doubles)
    pods: array[int] = field(default_factory=_numbers)
    minimum: array[int] = field(default_factory=_numbers)
    evictions: array[int] = field(default_factory=_numbers)
    failures: array[int] = field(default_factory=_numbers)
    restarts: array[int] = field(default_factory=_numbers)
    shape: array[int] = field(default_factory=_numbers)
    size: array[int] = field(default_factory=_numbers)
    """Into the log's sizes: what all pods of the job ask for."""

    def __len__(self) -> int:
        return len(self.names)


@dataclass
class PodRunRows:
    """Columns of `PodRuns`, growing."""

    job: array[int] = field(default_factory=_numbers)
    pod: array[int] = field(default_factory=_numbers)
    shape: array[int] = field(default_factory=_numbers)
    node: array[int] = field(default_factory=_numbers)
    began: array[float] = field(default_factory=_doubles)
    ended: array[float] = field(default_factory=_doubles)
    ending: array[int] = field(default_factory=_codes)
    kept: array[float] = field(default_factory=_doubles)
    beneficiary: array[int] = field(default_factory=_numbers)


@dataclass
class RequestTable:
    """Requests by number; equal ones share a number."""

    rows: list[Request] = field(default_factory=list)
    _numbers: dict[tuple[tuple[str, int], ...], int] = field(default_factory=dict)

    def number_of(self, request: Request) -> int:
        key = tuple(sorted(request.items()))
        number = self._numbers.setdefault(key, len(self.rows))
        if number == len(self.rows):
            self.rows.append(request)
        return number

    def matrix(self, resources: Sequence[str]) -> Amounts:
        rows = [[row.get(name, 0) for name in resources] for row in self.rows]
        return np.array(rows, dtype=np.int64).reshape(len(rows), len(resources))


class RunLog:
    """Everything that a run is made of, while it happens."""

    def __init__(self) -> None:
        self.jobs = JobRows()
        self.pod_runs = PodRunRows()
        self.queues = NameTable()
        self.nodes = NameTable()
        self.shapes = RequestTable()
        self.sizes = RequestTable()
        self.notes: dict[str, None] = {}
        self.finished = 0
        self._rooms: list[Request] = []
        self._up_since: dict[int, float] = {}
        self._service: list[tuple[int, float, float]] = []

    def enter_job(
        self,
        name: str,
        *,
        user: str,
        queue: str,
        submitted: float,
        run_seconds: float,
        estimate: float | None,
        minimum: int,
        pods: int,
        shape: int,
        size: int,
    ) -> int:
        """The row of a new job."""
        rows = self.jobs
        rows.names.append(name)
        rows.users.append(user)
        rows.queue.append(self.queues.number_of(queue))
        rows.state.append(State.WAITING)
        rows.submitted.append(submitted)
        rows.started.append(math.nan)
        rows.finished.append(math.nan)
        rows.run_seconds.append(run_seconds)
        rows.estimate.append(math.nan if estimate is None else estimate)
        rows.pods.append(pods)
        rows.minimum.append(minimum)
        rows.evictions.append(0)
        rows.failures.append(0)
        rows.restarts.append(0)
        rows.shape.append(shape)
        rows.size.append(size)
        return len(rows) - 1

    def start(self, job: int, now: float) -> None:
        self.jobs.started[job] = now
        self.jobs.state[job] = State.RUNNING

    def finish(self, job: int, now: float, state: State) -> None:
        self.finished += 1
        self.jobs.finished[job] = now
        self.jobs.state[job] = state

    def enter_pod_run(
        self,
        *,
        job: int,
        pod: int,
        shape: int,
        node: int,
        began: float,
        ended: float,
        ending: Ending,
        kept: float,
        beneficiary: int = NOTHING,
    ) -> int:
        """The row of a pod run that is over."""
        rows = self.pod_runs
        rows.job.append(job)
        rows.pod.append(pod)
        rows.shape.append(shape)
        rows.node.append(node)
        rows.began.append(began)
        rows.ended.append(ended)
        rows.ending.append(ending)
        rows.kept.append(kept)
        rows.beneficiary.append(beneficiary)
        return len(rows.job) - 1

    def undo_pod_run(self, row: int, kept: float) -> None:
        """What was done in it has to be done again, all but so many seconds."""
        self.pod_runs.ending[row] = Ending.STOPPED
        self.pod_runs.kept[row] = kept

    def node_up(self, name: str, room: Request, now: float) -> None:
        number = self.nodes.number_of(name)
        if number == len(self._rooms):
            self._rooms.append(room)
        self._up_since.setdefault(number, now)

    def node_down(self, name: str, now: float) -> None:
        number = self.nodes.number_of(name)
        self._service.append((number, self._up_since.pop(number), now))

    def closed(
        self,
        *,
        title: str,
        conf: str,
        seed: int,
        end: float,
        is_complete: bool,
        cycles: int,
        samples: Samples,
        resources: tuple[str, ...],
        wall_seconds: float,
        waits: WaitCauses | None = None,
    ) -> Run:
        """The run as it stands; the log is not written in any more."""
        return Run(
            title=title,
            conf=conf,
            seed=seed,
            end=end,
            is_complete=is_complete,
            cycles=cycles,
            resources=resources,
            queues=list(self.queues.names),
            shapes=self.shapes.matrix(resources),
            jobs=self._jobs(resources),
            pod_runs=self._pod_runs(),
            nodes=self._nodes(resources, end),
            samples=samples,
            waits=waits,
            notes=list(self.notes),
            wall_seconds=wall_seconds,
        )

    def _jobs(self, resources: Sequence[str]) -> Jobs:
        rows = self.jobs
        return Jobs(
            names=rows.names,
            users=rows.users,
            queue=np.array(rows.queue, dtype=np.int32),
            state=np.array(rows.state, dtype=np.uint8),
            submitted=np.array(rows.submitted),
            started=np.array(rows.started),
            finished=np.array(rows.finished),
            run_seconds=np.array(rows.run_seconds),
            estimate=np.array(rows.estimate),
            pods=np.array(rows.pods, dtype=np.int32),
            minimum=np.array(rows.minimum, dtype=np.int32),
            evictions=np.array(rows.evictions, dtype=np.int32),
            failures=np.array(rows.failures, dtype=np.int32),
            restarts=np.array(rows.restarts, dtype=np.int32),
            requests=self.sizes.matrix(resources)[np.array(rows.size, dtype=np.int32)],
            shape=np.array(rows.shape, dtype=np.int32),
        )

    def _pod_runs(self) -> PodRuns:
        rows = self.pod_runs
        return PodRuns(
            job=np.array(rows.job, dtype=np.int32),
            pod=np.array(rows.pod, dtype=np.int32),
            shape=np.array(rows.shape, dtype=np.int32),
            node=np.array(rows.node, dtype=np.int32),
            began=np.array(rows.began),
            ended=np.array(rows.ended),
            ending=np.array(rows.ending, dtype=np.uint8),
            kept=np.array(rows.kept),
            beneficiary=np.array(rows.beneficiary, dtype=np.int32),
        )

    def _nodes(self, resources: Sequence[str], end: float) -> Nodes:
        service = [*self._service, *((number, began, end) for number, began in self._up_since.items())]
        rooms = [[room.get(name, 0) for name in resources] for room in self._rooms]
        return Nodes(
            names=list(self.nodes.names),
            allocatable=np.array(rooms, dtype=np.int64).reshape(len(rooms), len(resources)),
            service=np.array([number for number, _, _ in service], dtype=np.int32),
            service_began=np.array([began for _, began, _ in service], dtype=np.float64),
            service_ended=np.array([ended for _, _, ended in service], dtype=np.float64),
        )
