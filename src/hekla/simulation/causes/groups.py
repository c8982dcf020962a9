"""Wait groups: jobs that wait for the same, a row per group in arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hekla.engine.ledger.arrays import Amounts, Floats, Indices, Mask
from hekla.engine.model.job import Job
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.simulation.causes.log import WaitLog
from hekla.simulation.jobs import SimJob

Causes = npt.NDArray[np.int16]
"""Numbers of causes in the log."""

FEWEST_ROWS = 16
UNKNOWN = -1
"""Where no cause has been found yet, or none that binds."""


@dataclass(eq=False, slots=True)
class WaitGroup:
    """Jobs of one queue that ask for the same and have come as far: one cause binds all of them."""

    key: Hashable
    number: int
    """In the log."""
    queue: str
    is_pending: bool
    """Its jobs ask to be admitted."""
    lacking: list[Task]
    """Of an admitted job of the group, the tasks that it lacks to start; none where they do not exist yet."""
    row: int = UNKNOWN
    members: dict[SimJob, None] = field(default_factory=dict)


class GroupTable:
    """Groups at one stage: what a job of each asks for, and what binds it."""

    def __init__(self, resources: int) -> None:
        self.groups: list[WaitGroup | None] = []
        self.queues: Counter[str] = Counter()
        """How many groups each queue has here."""
        self.number_of_queue: dict[str, int] = {}
        self._spare: list[int] = []
        self.has_new = False
        """Groups came for which no cause has been found yet."""
        self.asks: Floats = np.zeros((resources, 0))
        """(R, rows) Less than anything where nothing is asked for. Groups are many, resources few."""
        self.queue: Indices = np.zeros(0, dtype=np.intp)
        self.is_used: Mask = np.zeros(0, dtype=np.bool_)
        self.cause = np.zeros(0, dtype=np.int16)
        self.fixed = np.zeros(0, dtype=np.int16)
        """What binds it whatever the cluster has, such as a gate."""

    def __len__(self) -> int:
        return len(self.groups) - len(self._spare)

    def add(self, group: WaitGroup, asks: Amounts, fixed: int = UNKNOWN) -> None:
        if not self._spare:
            self._grow()
        row = group.row = self._spare.pop()
        self.has_new = True
        self.groups[row] = group
        self.queues[group.queue] += 1
        self.asks[:, row] = np.where(asks > 0, asks, -np.inf)
        self.queue[row] = self.number_of_queue.setdefault(group.queue, len(self.number_of_queue))
        self.is_used[row] = True
        self.fixed[row] = fixed
        self.cause[row] = UNKNOWN

    def remove(self, group: WaitGroup) -> None:
        row = group.row
        self.groups[row] = None
        self.queues[group.queue] -= 1
        if not self.queues[group.queue]:
            del self.queues[group.queue]
        self.asks[:, row] = -np.inf
        self.is_used[row] = False
        self._spare.append(row)

    def _grow(self) -> None:
        old, more = len(self.groups), max(FEWEST_ROWS, len(self.groups))
        self.groups += [None] * more
        self._spare = list(range(old + more - 1, old - 1, -1))
        self.asks = np.concatenate([self.asks, np.full((len(self.asks), more), -np.inf)], axis=1)
        self.queue = np.append(self.queue, np.zeros(more, dtype=np.intp))
        self.is_used = np.append(self.is_used, np.zeros(more, dtype=np.bool_))
        none = np.full(more, UNKNOWN, dtype=np.int16)
        self.cause, self.fixed = np.append(self.cause, none), np.append(self.fixed, none)

    def bind(self, causes: Causes, log: WaitLog, now: float) -> None:
        """From now on these bind the groups; what is news is entered."""
        self.has_new = False
        before, self.cause = self.cause, causes
        for row in (causes != before).nonzero()[0].tolist():
            group = self.groups[row]
            if group is not None:
                log.bind(group.number, int(causes[row]), now)

    def per_queue(self, columns: Mapping[str, Floats], otherwise: float) -> Floats:
        """(R, rows) What was said of each group's queue; (R, 1) where there never was but one."""
        if len(columns) == len(self.number_of_queue) == 1:
            (column,) = columns.values()
            return column[:, None]
        table = np.full((len(self.asks), len(self.number_of_queue)), otherwise)
        for queue, column in columns.items():
            table[:, self.number_of_queue[queue]] = column
        return table[:, self.queue]


def missing_tasks(job: Job) -> list[Task]:
    """Tasks that wait, as many as the job lacks to start."""
    roster = job.roster
    waiting = [*roster.having(Status.PENDING).values(), *roster.having(Status.PIPELINED).values()]
    lacking = max(job.minimum, 1) - (len(roster) - len(waiting))
    return waiting[: max(lacking, 0)]


def some_of(holds: Mask) -> Mask:
    """(rows,) Where it holds of a resource.   holds: (R, rows)"""
    found: Mask = np.logical_or.reduce(holds)
    return found
