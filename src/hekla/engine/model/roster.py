"""Roster: the tasks of a job or sub-job by status, and the counts that gang rules read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import attrgetter

from hekla.engine.model.status import (
    ALLOCATED_SET,
    COUNTS_AS_READY,
    SCHEDULED_SET,
    VALID_SET,
    Status,
)
from hekla.engine.model.task import Task

_BEST_EFFORT = len(Status)
"""Extra column of the role counts: Pending tasks that ask for nothing."""
_counted_by = attrgetter("status", "role", "is_best_effort")


class Roster:
    """Keeps counts while tasks move between statuses; iterates in the order tasks were added."""

    __slots__ = (
        "_by_role",
        "_by_status",
        "_is_mixed",
        "_latest",
        "minimum",
        "moves",
        "pending_best_effort",
        "ready",
        "tasks",
    )

    def __init__(self, minimum: int) -> None:
        self.minimum = minimum
        self.tasks: dict[str, Task] = {}
        self.pending_best_effort = 0
        self.moves = 0
        """How often tasks have moved since those of one status last stood in the order of arrival."""
        self.ready = 0
        """How many tasks count towards the gang's minimum; jobs are compared by it all the time."""
        self._by_status: list[dict[str, Task]] = [{} for _ in range(_BEST_EFFORT)]
        self._by_role: dict[str, list[int]] = {}
        self._latest = 0
        self._is_mixed = False
        """A task was added that arrived before the one added last."""

    def __len__(self) -> int:
        return len(self.tasks)

    def add(self, tasks: Iterable[Task]) -> None:
        for (status, role, is_best_effort), alike in groupby(tasks, key=_counted_by):
            by_uid, count = self._by_status[status], 0
            for task in alike:
                if task.number >= self._latest:
                    self._latest = task.number
                elif task.uid not in self.tasks:
                    self._is_mixed = True
                self.tasks[task.uid] = by_uid[task.uid] = task
                count += 1
            self._count(status, role, is_best_effort, count)

    def remove(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            del self.tasks[task.uid]
            self._strike_out(task)

    def swap(self, old: Task, task: Task) -> None:
        """Put the task in the place of one with the same UID."""
        self._strike_out(old)
        self.add((task,))
        self.moves += 1

    def _strike_out(self, task: Task) -> None:
        del self._by_status[task.status][task.uid]
        self._count(task.status, task.role, task.is_best_effort, -1)
        if not any(self._by_role[task.role]):
            del self._by_role[task.role]

    def _count(self, status: Status, role: str, is_best_effort: bool, change: int) -> None:
        counts = self._by_role.get(role)
        if counts is None:
            counts = self._by_role[role] = [0] * (_BEST_EFFORT + 1)
        counts[status] += change
        if COUNTS_AS_READY[status]:
            self.ready += change
        if is_best_effort and status is Status.PENDING:
            counts[_BEST_EFFORT] += change
            self.pending_best_effort += change

    def tidy(self) -> None:
        """Tasks of one status stand in the order of arrival again."""
        if self._is_mixed:
            tasks = sorted(self.tasks.values(), key=lambda task: task.number)
            self.tasks.clear()
            self.tasks.update((task.uid, task) for task in tasks)
            self._latest = tasks[-1].number if tasks else 0
        elif not self.moves:
            return
        self._is_mixed = False
        for by_status in filter(None, self._by_status):
            by_status.clear()
        for uid, task in self.tasks.items():
            self._by_status[task.status][uid] = task
        self.moves = 0

    def move(self, task: Task, status: Status) -> None:
        """Give the task another status; every count follows."""
        self.moves += 1
        del self._by_status[task.status][task.uid]
        self._by_status[status][task.uid] = task
        self._count(task.status, task.role, task.is_best_effort, -1)
        self._count(status, task.role, task.is_best_effort, 1)
        task.status = status

    def move_all(self, tasks: Iterable[Task], status: Status) -> None:
        """The same for many: those that count alike are counted together."""
        self.moves += 1
        arrived = self._by_status[status]
        for (before, role, is_best_effort), alike in groupby(tasks, key=_counted_by):
            left, count = self._by_status[before], 0
            for task in alike:
                del left[task.uid]
                arrived[task.uid] = task
                task.status = status
                count += 1
            self._count(before, role, is_best_effort, -count)
            self._count(status, role, is_best_effort, count)

    def having(self, status: Status) -> Mapping[str, Task]:
        """Tasks of one status by UID; a live view, so copy it before moving tasks."""
        return self._by_status[status]

    def by_status(self) -> Iterable[tuple[int, Mapping[str, Task]]]:
        """Every status, as a number, with its tasks."""
        return enumerate(self._by_status)

    def among(self, statuses: Iterable[Status]) -> Iterator[Task]:
        for status in statuses:
            yield from self._by_status[status].values()

    def count(self, statuses: Iterable[Status]) -> int:
        return sum(map(len, map(self._by_status.__getitem__, statuses)))

    @property
    def waiting(self) -> int:
        return len(self._by_status[Status.PIPELINED])

    @property
    def valid(self) -> int:
        return self.count(VALID_SET)

    @property
    def allocated(self) -> int:
        return self.count(ALLOCATED_SET)

    @property
    def scheduled(self) -> int:
        return self.count(SCHEDULED_SET)

    @property
    def releasing_on_nodes(self) -> int:
        return sum(bool(task.node_name) for task in self._by_status[Status.RELEASING].values())

    @property
    def missing(self) -> int:
        """How many tasks are lacking to the minimum; less than 0 where there are more."""
        return self.minimum - self.ready - self.pending_best_effort

    @property
    def is_ready(self) -> bool:
        return self.ready + self.pending_best_effort >= self.minimum

    @property
    def has_places(self) -> bool:
        """Whether the minimum has places: Pending tasks have none, whatever they ask for."""
        return self.ready >= self.minimum

    @property
    def is_pipelined(self) -> bool:
        return self.waiting + self.ready + self.pending_best_effort >= self.minimum

    @property
    def is_starving(self) -> bool:
        # Pending best-effort tasks are not counted here although `is_ready` counts them, as in Volcano.
        return self.waiting + self.ready < self.minimum

    def roles(self) -> Iterable[str]:
        return self._by_role

    def role_count(self, role: str, statuses: Iterable[Status], *, best_effort: bool = False) -> int:
        """Tasks of a role in these statuses; `best_effort` adds Pending ones that ask for nothing."""
        counts = self._by_role.get(role)
        if counts is None:
            return 0
        return sum([counts[status] for status in statuses]) + (counts[_BEST_EFFORT] if best_effort else 0)
