"""RunLog: what happened, row by row; closed, it is a Run.

Rows are kept as bare numbers: hundreds of thousands of pods leave a few megabytes.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap
from struct import Struct

import numpy as np

from hekla.simulation.run import (
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


class NameTable(dict[str, int]):
    """Things by number, in the order in which they were first heard of."""

    def __missing__(self, name: str) -> int:
        number = self[name] = len(self)
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


POD_RUN = np.dtype(
    [
        ("job", "<i4"),
        ("pod", "<i4"),
        ("shape", "<i4"),
        ("node", "<i4"),
        ("began", "<f8"),
        ("ended", "<f8"),
        ("ending", "u1"),
        ("kept", "<f8"),
        ("beneficiary", "<i4"),
    ]
)
"""A row of `PodRuns`."""
PodRunRow = tuple[int, int, int, int, float, float, int, float, int]
_packed = Struct("<iiiiddBdi").pack


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
        self._pod_runs = bytearray()
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
        rows.queue.append(self.queues[queue])
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

    def enter_pod_runs(self, runs: Iterable[PodRunRow]) -> range:
        """The rows of pod runs that are over."""
        first = len(self._pod_runs) // POD_RUN.itemsize
        self._pod_runs += b"".join(starmap(_packed, runs))
        return range(first, len(self._pod_runs) // POD_RUN.itemsize)

    def undo_pod_run(self, row: int, kept: float) -> None:
        """What was done in it has to be done again, all but so many seconds."""
        np.frombuffer(self._pod_runs, POD_RUN)[["ending", "kept"]][row] = Ending.STOPPED, kept

    def node_up(self, name: str, room: Request, now: float) -> None:
        number = self.nodes[name]
        if number == len(self._rooms):
            self._rooms.append(room)
        self._up_since.setdefault(number, now)

    def node_down(self, name: str, now: float) -> None:
        number = self.nodes[name]
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
        rows = np.frombuffer(self._pod_runs, POD_RUN)
        return Run(
            title=title,
            conf=conf,
            seed=seed,
            end=end,
            is_complete=is_complete,
            cycles=cycles,
            resources=resources,
            queues=list(self.queues),
            shapes=self.shapes.matrix(resources),
            jobs=self._jobs(resources),
            pod_runs=PodRuns(**{name: rows[name].copy() for name in POD_RUN.names or ()}),
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

    def _nodes(self, resources: Sequence[str], end: float) -> Nodes:
        service = [*self._service, *((number, began, end) for number, began in self._up_since.items())]
        rooms = [[room.get(name, 0) for name in resources] for room in self._rooms]
        return Nodes(
            names=list(self.nodes),
            allocatable=np.array(rooms, dtype=np.int64).reshape(len(rooms), len(resources)),
            service=np.array([number for number, _, _ in service], dtype=np.int32),
            service_began=np.array([began for _, began, _ in service], dtype=np.float64),
            service_ended=np.array([ended for _, _, ended in service], dtype=np.float64),
        )
