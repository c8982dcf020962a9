"""Waiting: jobs that wait, by kind, in two tables that are kept between cycles.

A row is a kind of jobs: those of one queue that ask for the same. Each row has an upper bound that only what
is given back can raise; while it is too low for one job of the kind, the row sleeps, and none of its jobs is
looked at. See docs/concepts/waiting.md.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Mapping
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from hekla.engine.ledger.arrays import Amounts, Floats, Indices, Mask
from hekla.engine.ledger.demand import Books, minimum_of
from hekla.engine.ledger.nodes import Journal, NodeLedger
from hekla.engine.model.benefit import benefit_of
from hekla.engine.model.job import INQUEUE, Job
from hekla.engine.model.status import Status

SortKey = tuple[Any, ...]
Entry = tuple[SortKey, Job]
"""A job, and what jobs are ordered by: no two are equal."""

FEWEST_ROWS = 16
UNLIMITED = np.finfo(np.float64).max
MOST_CELLS = 2**20
"""So many numbers are worked out at once."""

order = itemgetter(0)


class JobKind(NamedTuple):
    """Equal for jobs that wait for the same: so many tasks that ask for as much each, in one queue."""

    queue: str
    asked: tuple[tuple[int, int], ...]
    """Amounts by column; of resources that are not named any amount will do."""
    size: int


class WaitingTable:
    """A row per kind, with its jobs in order, and a column per row in each array."""

    not_asked = 0.0
    """What stands for resources that a kind does not name."""

    def __init__(self, resources: int) -> None:
        self._row_of: dict[JobKind, int] = {}
        self._kinds: list[JobKind | None] = []
        self._counts: list[int] = []
        """How many jobs a row has, newcomers included."""
        self._jobs: list[list[Entry]] = []
        self._newcomers: dict[str, Job] = {}
        """Jobs of which no session has said yet where they stand among the others."""
        self._spare: list[int] = []
        self._row_of_job: dict[str, int] = {}
        self._key_of_job: dict[str, SortKey] = {}
        self._lines: dict[str, RowsInOrder] = {}
        """By queue the rows that have jobs, newcomers left aside."""
        self._queue_numbers: dict[str, int] = {}
        self._queue: Indices = np.zeros(0, dtype=np.intp)
        self.asks: Floats = np.zeros((resources, 0))
        """(R, rows)"""

    def __len__(self) -> int:
        """How many jobs there are."""
        return len(self._row_of_job)

    def __contains__(self, uid: object) -> bool:
        return uid in self._row_of_job

    def jobs(self) -> list[Job]:
        return [*[job for row in self._jobs for _, job in row], *self._newcomers.values()]

    def row_of(self, uid: str) -> int:
        return self._row_of_job[uid]

    @property
    def queues(self) -> Collection[str]:
        """Those that have jobs here, newcomers left aside."""
        return self._lines.keys()

    def add(self, job: Job, kind: JobKind) -> None:
        row = self._row_of_job[job.uid] = self.row_for(kind)
        self._counts[row] += 1
        self._newcomers[job.uid] = job

    def row_for(self, kind: JobKind) -> int:
        """The kind's row; a new one where there is none."""
        row = self._row_of.get(kind)
        if row is None:
            if not self._spare:
                self._grow()
            row = self._row_of[kind] = self._spare.pop()
            self._kinds[row] = kind
            self._fill(row, kind)
        return row

    def remove(self, uid: str) -> bool:
        """Whether the job was here."""
        row = self._row_of_job.pop(uid, None)
        if row is None:
            return False
        self._counts[row] -= 1
        if self._newcomers.pop(uid, None) is None:
            jobs, key = self._jobs[row], self._key_of_job.pop(uid)
            at = bisect_left(jobs, key, key=order)
            del jobs[at]
            if at == 0:
                self._move(row, key, jobs[0][0] if jobs else None)
        if not self._counts[row]:
            self._give_up(row)
        return True

    def _give_up(self, row: int) -> None:
        """The row has no jobs any more."""
        kind = self._kinds[row]
        assert kind is not None
        del self._row_of[kind]
        self._kinds[row] = None
        self._empty(row)
        self._spare.append(row)

    def put_in_order(self, key_of: Callable[[Job], SortKey]) -> None:
        """Give newcomers their place among the others."""
        for uid, job in self._newcomers.items():
            row, key = self._row_of_job[uid], key_of(job)
            jobs = self._jobs[row]
            first = jobs[0][0] if jobs else None
            insort(jobs, (key, job), key=order)
            self._key_of_job[uid] = key
            if jobs[0][0] != first:
                self._move(row, first, jobs[0][0])
        self._newcomers.clear()

    def _move(self, row: int, before: SortKey | None, now: SortKey | None) -> None:
        """The row has another first job."""
        kind = self._kinds[row]
        assert kind is not None
        line = self._lines.get(kind.queue)
        if line is None:
            line = self._lines[kind.queue] = RowsInOrder()
        if before is not None:
            line.remove(before)
        if now is not None:
            line.add(now, row)
        if not line.keys:
            del self._lines[kind.queue]

    def _first(self, rows: Indices, chosen: Mask, passed_over: Collection[int]) -> Job | None:
        """The first job of the first of these rows that is chosen and not passed over."""
        if passed_over:
            is_passed_over = np.zeros(len(self._kinds), dtype=np.bool_)
            is_passed_over[list(passed_over)] = True
            chosen &= ~is_passed_over[rows]
        at = int(chosen.argmax())
        return self._jobs[rows[at]][0][1] if chosen[at] else None

    def _grow(self) -> None:
        old, more = len(self._kinds), max(FEWEST_ROWS, len(self._kinds))
        self._kinds += [None] * more
        self._counts += [0] * more
        self._jobs += [[] for _ in range(more)]
        self._queue = np.append(self._queue, np.zeros(more, dtype=np.intp))
        self._spare = list(range(old + more - 1, old - 1, -1))
        self.asks = np.concatenate([self.asks, np.full((len(self.asks), more), np.inf)], axis=1)

    def _fill(self, row: int, kind: JobKind) -> None:
        """The columns of a new row."""
        self._queue[row] = self._queue_numbers.setdefault(kind.queue, len(self._queue_numbers))
        asks = [self.not_asked] * len(self.asks)
        for column, amount in kind.asked:
            asks[column] = amount
        self.asks[:, row] = asks

    def _empty(self, row: int) -> None:
        """No room is enough for a row that is not used."""
        self.asks[:, row] = np.inf


class RowsInOrder:
    """The rows of one queue, in the order of their first jobs."""

    def __init__(self) -> None:
        self.keys: list[SortKey] = []
        self._rows: Indices = np.zeros(FEWEST_ROWS, dtype=np.intp)

    @property
    def rows(self) -> Indices:
        return self._rows[: len(self.keys)]

    def add(self, key: SortKey, row: int) -> None:
        at, count = bisect_left(self.keys, key), len(self.keys)
        if count == len(self._rows):
            self._rows = np.append(self._rows, self._rows)
        self._rows[at + 1 : count + 1] = self._rows[at:count]
        self._rows[at] = row
        self.keys.insert(at, key)

    def remove(self, key: SortKey) -> None:
        at = bisect_left(self.keys, key)
        self._rows[at : len(self.keys) - 1] = self._rows[at + 1 : len(self.keys)]
        del self.keys[at]


class AdmissionBacklog(WaitingTable):
    """Jobs that are not admitted, by what they would reserve."""

    not_asked = -np.inf
    """There is room for what is not asked for, however little is left."""

    def __init__(self, resources: int) -> None:
        super().__init__(resources)
        self._room: Floats = np.zeros((0, resources))
        """What was left to each queue when that was last known. (queues, R)"""

    def first_to_fit(self, queue: str, room: Floats | None, passed_over: Collection[int]) -> Job | None:
        """The first job of the queue that asks for no more than so much; None: there is no limit."""
        if queue not in self._lines:
            return None
        rows = self._lines[queue].rows
        return self._first(rows, self._fits(rows, room), passed_over)

    def fits(self, row: int, room: Floats | None) -> bool:
        return room is None or bool((self.asks[:, row] <= room).all())

    def limit(self, room: Mapping[str, Floats]) -> None:
        """So much is left to each queue; one that is not named has no limit."""
        self._room[:] = UNLIMITED
        for queue, amounts in room.items():
            self._room[self._queue_numbers[queue]] = np.minimum(amounts, UNLIMITED)

    def is_any_to_fit(self, more: Amounts) -> bool:
        """Whether some job fits into what was left to its queue, and so much more."""
        limits = (self._room + more).take(self._queue, axis=0)
        return bool(np.count_nonzero(np.logical_and.reduce(limits >= self.asks.T, axis=1)))

    def _fits(self, rows: Indices, room: Floats | None) -> Mask:
        if room is None:
            return np.ones(len(rows), dtype=np.bool_)
        fits: Mask = np.logical_and.reduce(self.asks.take(rows, axis=1) <= room[:, None])
        return fits

    def _fill(self, row: int, kind: JobKind) -> None:
        super()._fill(row, kind)
        if len(self._room) < len(self._queue_numbers):
            self._room = np.append(self._room, np.full((1, len(self.asks)), UNLIMITED), axis=0)


class PlacementBacklog(WaitingTable):
    """Admitted jobs of which nothing has a place, by what each of their tasks asks for at least.

    `most` is how many such tasks the nodes can take, or more: placements only lower it, and a node on which
    room grows raises it by what then fits there.
    """

    def __init__(self, resources: int) -> None:
        super().__init__(resources)
        self.size: Floats = np.zeros(0)
        self.most: Floats = np.zeros(0)
        self._journal: Journal | None = None
        self._seen = 0
        self._room = np.zeros((0, resources), dtype=np.int64)
        """What each node had at that moment. (N, R)"""

    def follow(self, nodes: NodeLedger) -> None:
        """Bring `most` up to date with what was given back since it last was."""
        journal = nodes.journal
        if not self._row_of:
            # Rows that come are counted before anything is known of them.
            self._journal = None
        elif journal is not self._journal:
            # Other nodes are there: every row is awake until it is counted.
            self._journal, self._room = journal, room_of(nodes).copy()
            self.most[self.size < np.inf] = np.inf
        elif journal.now != self._seen:
            rows = journal.since(self._seen)
            room = room_of(nodes)[rows]
            grown = room > self._room[rows]
            if grown.any():
                self._raise(room[grown.any(axis=1)])
            self._room[rows] = room
        self._seen = journal.now

    def _raise(self, room: Floats) -> None:
        step = max(MOST_CELLS // max(self.asks.size, 1), 1)
        for begin in range(0, len(room), step):
            self.most += fit_counts(room[begin : begin + step], self.asks).sum(axis=0)

    def is_any_awake(self, nodes: NodeLedger) -> bool:
        """Whether there may be room for some job."""
        self.count(nodes)
        return bool((self.most >= self.size).any())

    def first_awake(self, queue: str, passed_over: Collection[int]) -> Job | None:
        """The first job of the queue for which there may be room, but for those of some rows."""
        if queue not in self._lines:
            return None
        rows = self._lines[queue].rows
        return self._first(rows, self.most[rows] >= self.size[rows], passed_over)

    def count(self, nodes: NodeLedger) -> None:
        """Bring all bounds up to date; rows of which nothing is known are counted."""
        self.follow(nodes)
        for row in (self.most == np.inf).nonzero()[0].tolist():
            self.has_room(row, nodes)

    def has_room(self, row: int, nodes: NodeLedger) -> bool:
        """Whether the nodes have room for a job of the row, counted anew where they may.

        Where they have not, neither have they for whatever asks for at least as much.
        """
        self.follow(nodes)
        if self.most[row] < self.size[row]:
            return False
        kind = self._kinds[row]
        assert kind is not None
        count = self.most[row] = fit_count(room_of(nodes), kind)
        if count >= self.size[row]:
            return True
        larger = np.logical_and.reduce(self.asks >= self.asks[:, row : row + 1])
        np.minimum(self.most, count, out=self.most, where=larger)
        return False

    def has_room_for(self, kind: JobKind, nodes: NodeLedger) -> bool:
        """The same for a job that is in no row."""
        return fit_count(room_of(nodes), kind) >= kind.size

    def _grow(self) -> None:
        super()._grow()
        more = len(self._kinds) - len(self.size)
        self.size = np.append(self.size, np.full(more, np.inf))
        self.most = np.append(self.most, np.zeros(more))

    def _fill(self, row: int, kind: JobKind) -> None:
        super()._fill(row, kind)
        self.size[row] = kind.size
        self.most[row] = np.inf

    def _empty(self, row: int) -> None:
        super()._empty(row)
        self.size[row], self.most[row] = np.inf, 0.0


def room_of(nodes: NodeLedger) -> Any:
    """What each node has, now or once releases are done. (N, R)"""
    has_promises = nodes.has_promises or any(nodes.releasing_in_all.tolist())
    return np.maximum(nodes.idle, nodes.future) if has_promises else nodes.idle


def fit_count(room: Any, kind: JobKind) -> float:
    """How many of the kind's tasks fit on nodes with that room; any number of those that ask for nothing."""
    if not kind.asked:
        return np.inf
    (first, amount), *others = kind.asked
    counts = room[:, first] // amount
    for column, amount in others:
        np.minimum(counts, room[:, column] // amount, out=counts)
    return float(np.maximum(counts, 0).sum())


def fit_counts(room: Floats, asks: Floats) -> Floats:
    """How many tasks that ask for so much fit on nodes with that room, or a few more; for many kinds.

    room: (N, R), asks: (R, rows)   ->   (N, rows)
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.maximum(room, 0)[:, :, None] / asks
    # Of what is not asked for, 0 / 0 is no number, and never the least.
    counts: Floats = np.fmin.reduce(parts, axis=1, initial=np.inf)
    np.floor(counts, out=counts)
    return counts


def waits_for_admission_alone(job: Job) -> bool:
    """Whether the job takes no part in anything but its admission, whatever happens to other jobs."""
    return (
        job.is_pending
        and job.min_resources is not None
        and not job.has_topology
        and len(job.roster) > 0
        and holds_nothing(job)
    )


def waits_for_room_alone(job: Job) -> bool:
    """Whether nothing but room on nodes, or in its queue, can help the job, and part of it will not do."""
    return (
        # One that ran and has lost all its pods is about to ask for its admission anew.
        (job.is_pending or job.phase == INQUEUE)
        and 0 < job.minimum <= len(job.roster)
        and not job.has_policies
        and not job.has_topology
        # Those that ask for nothing count towards the minimum without a place.
        and not job.roster.pending_best_effort
        and holds_nothing(job)
        and benefit_of(job.pod_group.status) is None
        and not any([task.is_gated for task in job.tasks.values()])
    )


def holds_nothing(job: Job) -> bool:
    """All its tasks wait, and none was named a node."""
    roster = job.roster
    return len(roster) == len(roster.having(Status.PENDING)) and not any(
        [task.pod.status.nominated_node_name for task in roster.tasks.values()]
    )


def admission_kind(books: Books, job: Job) -> JobKind:
    asked = minimum_of(books, job).tolist()
    pods = books.axis.pods
    return JobKind(
        job.queue, tuple([(at, most) for at, most in enumerate(asked) if most > 0 and at != pods]), 1
    )


def placement_kind(job: Job) -> JobKind:
    """By what each of its tasks asks for at least: where too few of that fit, the job does not."""
    shapes = {task.shape for task in job.tasks.values()}
    least = map(min, zip(*[shape.amounts for shape in shapes], strict=True))
    return JobKind(
        job.queue, tuple([(at, amount) for at, amount in enumerate(least) if amount > 0]), job.minimum
    )
