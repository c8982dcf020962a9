"""Traces: files with one job per row, read a row at a time, in order of time, however many there are.

A file is gone through once before anything is taken from it: every row is checked, so that an error is told
before an hour of simulation and not after, and what has to be there at the start (queues, priority classes)
is known. Only if rows are out of order are their places kept, as plain numbers.
"""

from __future__ import annotations

import csv
import math
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import Generic, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from hekla.objects import Manifest, ObjectMeta, PriorityClass, Queue
from hekla.objects.complaint import quoted
from hekla.objects.quantity import DAY
from hekla.simulation.workloads.model import Account, Submission
from hekla.simulation.workloads.selection import Content, ReadingOptions
from hekla.simulation.workloads.source import Piece, Source

Row = TypeVar("Row")

DEFAULT_QUEUE = "default"
NAMED_TWICE = "a name that occurs more than once: the line number is added"


class Broken(Exception):
    """A row that cannot be what it should be: why, and what exactly."""

    def __init__(self, why: str, detail: str) -> None:
        super().__init__(f"{why}: {detail}")
        self.why = why


class StartsAt(Enum):
    """The moment from which times count."""

    FIRST_ROW = "first row"
    ZERO = "zero"
    ZERO_IF_NEAR = "zero if near"
    """Zero, unless nothing happens for a day from then: a part of a log, or dates as seconds since 1970."""


class Trace(msgspec.Struct, Generic[Row], frozen=True):
    """How the rows of a file become jobs."""

    source: Source
    pieces: Callable[[], Iterator[Piece]]
    """The rows, without headers, comments and blank lines."""
    parse: Callable[[Piece], Row]
    """Raises `Broken`."""
    time: Callable[[Row], float]
    """When it is due; infinite where it never was."""
    builder: Callable[[], Callable[[Sequence[Row], float, Account], Submission | None]]
    """For one reading: what makes a job of the rows that belong together and the time of the first."""
    group: Callable[[Row], object] | None = None
    """What rows of one job have in common; none: every row is a job."""
    starts_at: StartsAt = StartsAt.FIRST_ROW
    priorities: Callable[[str], int] = lambda _name: 0
    """The value of a priority class that jobs name."""
    queues: Sequence[str] = ()
    """Those that the file declares."""
    has_dependencies: bool = False


@dataclass
class Survey:
    """What jobs have been seen to name; jobs themselves only as numbers, until equal ones are found."""

    queues: set[str] = field(default_factory=set)
    priority_classes: set[str] = field(default_factory=set)
    jobs: int = 0
    _keys: array[int] = field(default_factory=lambda: array("q"))

    def take(self, job: Submission | None) -> None:
        if job is not None:
            self.queues.add(job.queue)
            self.priority_classes.add(job.priority_class)
            self.jobs += 1
            self._keys.append(hash(job.key))

    def taken_twice(self) -> frozenset[int]:
        """The hashes of keys that more than one job has; asked once, all keys are then forgotten."""
        keys = np.frombuffer(self._keys, np.int64)
        keys.sort()
        twice = frozenset(keys[1:][keys[1:] == keys[:-1]].tolist())
        self._keys = array("q")
        return twice


class Places:
    """Where rows stand, and when they are due: two dozen bytes for each."""

    def __init__(self) -> None:
        self.times = array("d")
        self._groups = array("q")
        self._offsets = array("q")
        self._lengths = array("i")
        self._lines = array("I")

    def note(self, piece: Piece, time: float, group: int | None) -> None:
        """The row of a group is given with its number; a row that stands alone with none."""
        self.times.append(time)
        if group is not None:
            self._groups.append(group)
        self._offsets.append(piece.offset)
        self._lengths.append(len(piece.content))
        self._lines.append(piece.line)

    @property
    def are_in_order(self) -> bool:
        times = np.frombuffer(self.times)
        return not self._groups and bool((times[1:] >= times[:-1]).all())

    def put_in_order(self) -> None:
        """By time; rows of one group stand together, where the first of them belongs."""
        order = self._order()
        self.times, self._groups = array("d"), array("q")
        for column in (self._offsets, self._lengths, self._lines):
            numbers = np.frombuffer(column, column.typecode)
            numbers[:] = numbers[order]

    def _order(self) -> npt.NDArray[np.int64]:
        times = np.frombuffer(self.times)
        if not self._groups:
            return np.argsort(times, kind="stable")
        groups = np.frombuffer(self._groups, np.int64)
        rows = np.argsort(groups, kind="stable")
        begins = np.flatnonzero(np.append(True, np.diff(groups[rows])))
        first_times = np.minimum.reduceat(times[rows], begins)
        rank = np.empty(len(begins), np.int32)
        rank[np.lexsort((rows[begins], first_times))] = np.arange(len(begins), dtype=np.int32)
        return rows[np.argsort(np.repeat(rank, np.diff(begins, append=len(rows))), kind="stable")]

    def pieces(self, source: Source) -> Iterator[Piece]:
        with source.open() as file:
            for line, offset, length in zip(self._lines, self._offsets, self._lengths, strict=True):
                file.seek(offset)
                yield Piece(line, offset, file.read(length))


class Reading(Generic[Row]):
    """A trace that has been gone through once."""

    def __init__(self, trace: Trace[Row], options: ReadingOptions) -> None:
        self._trace = trace
        self._lenient = options.lenient
        self._start = 0.0
        self._places: Places | None = None
        """None: the rows are in order in the file."""
        self.twice: frozenset[int] = frozenset()
        """The hashes of keys that more than one job has."""
        self.survey = Survey()
        self._go_through()

    def _go_through(self) -> None:
        """Check every row, note where it stands, and see what jobs name."""
        places = self._noted()
        if self._trace.group is None:
            # Before rows are put in order: keys and orders need not be held at once.
            self.twice = self.survey.taken_twice()
        if not places.are_in_order:
            places.put_in_order()
            self._places = places
        if self._trace.group is not None:
            for job in self.jobs(Account()):
                self.survey.take(job)
            self.twice = self.survey.taken_twice()

    def _noted(self) -> Places:
        """Where all rows stand; those that are a job each are surveyed in passing."""
        build, account, places = self._trace.builder(), Account(), Places()
        group, last, start = self._trace.group, 0.0, inf
        for piece in self._trace.pieces():
            row = self._parsed(piece, account)
            if row is None:
                places.note(piece, last, None if group is None else piece.offset)
                continue
            last = self._trace.time(row)
            start = min(start, last)
            places.note(piece, last, None if group is None else hash(group(row)))
            if group is None:
                self.survey.take(build((row,), last, account))
        self._start = self._begin(start)
        return places

    def _begin(self, first: float) -> float:
        """The moment of the file that is the start, if the first job is due at that one."""
        rule = self._trace.starts_at
        if first == inf or rule is StartsAt.ZERO or (rule is StartsAt.ZERO_IF_NEAR and first <= DAY):
            return 0.0
        return first

    def _parsed(self, piece: Piece, account: Account) -> Row | None:
        try:
            return self._trace.parse(piece)
        except Broken as broken:
            if not self._lenient:
                raise self._trace.source.wrong(piece.line, str(broken)) from broken
            account.dropped[f"broken: {broken.why}"] += 1
            return None

    def jobs(self, account: Account) -> Iterator[Submission]:
        """The jobs in order of time."""
        build = self._trace.builder()
        if self._trace.starts_at is StartsAt.ZERO_IF_NEAR and self._start:
            days = f"{self._start / DAY:,.0f} days"
            account.changed[f"the first job comes {days} after the start: time begins with it"] += 1
        for line, rows in self._groups(account):
            moment = min(map(self._trace.time, rows)) - self._start
            job = build(rows, moment, account)
            if job is None:
                continue
            if self.twice and hash(job.key) in self.twice:
                account.changed[NAMED_TWICE] += 1
                job = replace(job, name=f"{job.name}-{line}")
            yield job

    def _groups(self, account: Account) -> Iterator[tuple[int, Sequence[Row]]]:
        """Rows that are one job, with the line of the first."""
        group = self._trace.group
        together: list[Row] = []
        first, common = 0, None
        for piece in self._pieces():
            row = self._parsed(piece, account)
            if row is None:
                continue
            if group is None:
                yield piece.line, (row,)
                continue
            if together and group(row) != common:
                yield first, together
                together = []
            if not together:
                first, common = piece.line, group(row)
            together.append(row)
        if together:
            yield first, together

    def _pieces(self) -> Iterator[Piece]:
        if self._places is None:
            return self._trace.pieces()
        return self._places.pieces(self._trace.source)


def content_of(trace: Trace[Row], options: ReadingOptions) -> Content:
    """The jobs of a trace, and the queues and priority classes that they name."""
    reading = Reading(trace, options)
    survey = reading.survey
    queues = dict.fromkeys([*trace.queues, *sorted(survey.queues)])
    objects: list[Manifest] = [
        Queue(metadata=ObjectMeta(name=name)) for name in queues if name != DEFAULT_QUEUE
    ]
    objects += [
        PriorityClass(metadata=ObjectMeta(name=name), value=trace.priorities(name))
        for name in sorted(filter(None, survey.priority_classes))
    ]
    return Content(
        name=trace.source.stem,
        jobs=reading.jobs,
        objects=tuple(objects),
        count=survey.jobs,
        has_dependencies=trace.has_dependencies,
    )


_NAME = re.compile(r"(?=.{1,200}\Z)[a-z0-9]+(?:[-.][a-z0-9]+)*\Z")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9.]+")


def rows_of(source: Source, *, skip: int = 0) -> Iterator[Piece]:
    """The lines that say something, without the first few."""
    for piece in source.lines():
        if piece.line > skip and piece.content.strip():
            yield piece


def cells_of(content: bytes, delimiter: str = ",") -> list[str]:
    """The cells of a line of separated values, without blanks around them."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Broken("not a text in UTF-8", quoted(content.decode("latin-1"))) from error
    found = next(csv.reader([text], delimiter=delimiter)) if '"' in text else text.split(delimiter)
    return [cell.strip() for cell in found]


def expect_cells(cells: Sequence[str], columns: Sequence[str]) -> None:
    if len(cells) != len(columns):
        expected = f"expected {len(columns)} ({', '.join(columns)}), got {len(cells)}"
        raise Broken("wrong number of columns", expected)


def number(cell: str | bytes, column: str) -> float:
    """The finite number in a cell."""
    try:
        found = float(cell)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        text = cell.decode("latin-1") if isinstance(cell, bytes) else cell
        raise Broken("not a number", f"{column}: {quoted(text)}")
    return found


def amount(cell: str, column: str) -> float:
    """A number that is not negative; an empty cell is 0."""
    found = number(cell, column) if cell else 0.0
    if found < 0:
        raise Broken("a negative number", f"{column}: {quoted(cell)}")
    return found


def moment(cell: str, column: str) -> float | None:
    """A time that is not negative; none where the cell is empty."""
    if not cell:
        return None
    found = number(cell, column)
    if found < 0:
        raise Broken("a negative time", f"{column}: {quoted(cell)}")
    return found


def as_name(text: str, otherwise: str = "unnamed") -> str:
    """The text as a name that Kubernetes would take."""
    if _NAME.match(text):
        return text
    parts = (part.strip("-.") for part in _NOT_IN_NAMES.sub("-", text.lower()).split("."))
    return ".".join(part for part in parts if part)[:200].strip("-.") or otherwise
