"""Tables: any CSV with a job per row; which column says what is named, or known as in `jobs.csv`.

`jobs.csv` is what a simulation saves: amounts of all pods together, times from the start of the run.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import ceil

import msgspec

from hekla.simulation.workloads.cells import (
    MomentReader,
    TableHeader,
    count,
    has_zone,
    header_of,
    is_number,
    is_unknown,
    quantity,
    span,
    without_formula_sign,
    wrong,
    zone_called,
)
from hekla.simulation.workloads.columns import TEXTS, Column, Columns, factor_of, is_amount, suggested
from hekla.simulation.workloads.model import Account, Restart, Submission
from hekla.simulation.workloads.openb import GPU_SHARE, ROUNDED_UP, WHOLE
from hekla.simulation.workloads.selection import Content, ReadingOptions
from hekla.simulation.workloads.shapes import GPU, Shapes
from hekla.simulation.workloads.short_jobs import MOST_PODS
from hekla.simulation.workloads.source import Piece, Source
from hekla.simulation.workloads.totals import CPU, MEMORY, MILLI, RolesByTotal
from hekla.simulation.workloads.trace import (
    DEFAULT_QUEUE,
    Broken,
    StartsAt,
    Trace,
    as_name,
    content_of,
    rows_of,
)

SAVED: Columns = {
    "name": Column("name"),
    "namespace": Column("namespace"),
    "queue": Column("queue"),
    "user": Column("user"),
    "submit": Column("submitted"),
    "run": Column("run_seconds"),
    "estimate": Column("estimate"),
    "pods": Column("pods"),
    "minAvailable": Column("minimum"),
}
"""The columns of a table of jobs that a simulation has saved; its resources come behind them."""
_PLAIN_RESOURCES = frozenset({CPU, MEMORY, "ephemeral-storage"})


def is_saved(header: Collection[str]) -> bool:
    """Whether a table is that of a simulation's jobs."""
    return {column.name for column in SAVED.values()} <= set(header)


def read_table(source: Source, options: ReadingOptions) -> Content:
    """The jobs of a table."""
    header = header_of(source)
    is_own = not options.columns and is_saved(header.names)
    columns = saved_columns(header) if is_own else options.columns
    if not columns:
        listed = ", ".join(header.names[:12])
        hint = f'say which column is what, as in --columns "{suggested(header.names)}"'
        raise source.wrong(header.line, f"a table with the columns {listed} is none that is known; {hint}")
    rows = TableReader(source, header, columns, options)
    builder = TableJobBuilder(options, Restart.POD if is_own else Restart.JOB, is_endless=is_own)
    return content_of(
        Trace[TableRow](
            source,
            pieces=lambda: rows_of(source, skip=header.line),
            parse=rows.parse,
            time=lambda row: row.submitted,
            builder=lambda: builder.build,
            starts_at=StartsAt.ZERO if is_own else rows.starts_at(),
        ),
        options,
    )


def saved_columns(header: TableHeader) -> dict[str, Column]:
    """The columns of a table that a simulation has saved; resources are those of all pods together."""
    resources = (name for name in header.names if name in _PLAIN_RESOURCES or "/" in name)
    return {**SAVED, **{name: Column(name, is_total=True) for name in resources}}


class TableRow(msgspec.Struct, frozen=True):
    """What a row says; None where it says nothing."""

    line: int
    submitted: float
    runs: float | None
    texts: Mapping[str, str]
    estimate: float | None
    pods: int
    minimum: int | None
    units: Mapping[str, int]
    """What all pods ask for together."""
    remarks: Sequence[str]
    """What was assumed."""


class TableReader:
    """Reads the rows of one table."""

    def __init__(
        self, source: Source, header: TableHeader, columns: Columns, options: ReadingOptions
    ) -> None:
        self._source = source
        self._header = header
        self._columns = columns
        self._options = options
        self._moments = MomentReader(zone_called(options.time_zone))
        self._places = {key: header.place(column.name, source) for key, column in columns.items()}
        self._texts = [key for key in TEXTS if key in columns]
        self._amounts = [key for key in columns if is_amount(key)]

    def starts_at(self) -> StartsAt:
        """Dates count from the first row; plain numbers may count from the start already."""
        first = next(rows_of(self._source, skip=self._header.line), None)
        try:
            cells = [] if first is None else self._header.cells(first.content)
        except Broken:
            cells = []
        is_dated = bool(cells) and not is_number(self._cell(cells, self._arrival(cells)))
        return StartsAt.FIRST_ROW if is_dated else StartsAt.ZERO_IF_NEAR

    def parse(self, piece: Piece) -> TableRow:
        cells, remarks = self._header.cells(piece.content), list[str]()
        pods = self._count("pods", cells, least=1) or 1
        if pods > MOST_PODS:
            raise wrong("too many pods", self._columns["pods"].name, f"at most {MOST_PODS}", str(pods))
        return TableRow(
            line=piece.line,
            submitted=self._submitted(cells, remarks),
            runs=self._runs(cells),
            texts={key: without_formula_sign(self._cell(cells, key)) for key in self._texts},
            estimate=self._span("estimate", cells),
            pods=pods,
            minimum=self._count("minAvailable", cells, least=0),
            units=dict(self._units(cells, pods, remarks)),
            remarks=remarks,
        )

    def _cell(self, cells: Sequence[str], key: str) -> str:
        return cells[self._places[key]] if key in self._places else ""

    def _arrival(self, cells: Sequence[str]) -> str:
        """What says when a job arrived: where it was submitted, else where it began."""
        return "start" if is_unknown(self._cell(cells, "submit")) else "submit"

    def _submitted(self, cells: Sequence[str], remarks: list[str]) -> float:
        key = self._arrival(cells)
        found = self._moment(key, cells)
        if found is None:
            column = self._columns.get("submit") or self._columns["start"]
            raise wrong("a missing time", column.name, "the time at which the job came", "")
        if key == "start":
            remarks.append("the time of submission is not known: the start is taken")
        if not has_zone(self._cell(cells, key)):
            remarks.append(f"a time without a zone: {self._options.time_zone} is taken")
        return found

    def _runs(self, cells: Sequence[str]) -> float | None:
        """The span that is said, else that from start to end."""
        said = self._span("run", cells)
        if said is not None:
            return said
        start, end = self._moment("start", cells), self._moment("end", cells)
        if start is None or end is None:
            return None
        if end < start:
            cell = self._cell(cells, "end")
            raise wrong("an end before the start", self._columns["end"].name, "a later moment", cell)
        return end - start

    def _units(self, cells: Sequence[str], pods: int, remarks: list[str]) -> Iterator[tuple[str, int]]:
        for key in self._amounts:
            column = self._columns[key]
            found = quantity(self._cell(cells, key), column.name, factor_of(key, column))
            resource, amount = in_units(key, found, self._options, remarks)
            if amount:
                yield resource, amount if column.is_total else amount * pods

    def _moment(self, key: str, cells: Sequence[str]) -> float | None:
        column = self._columns.get(key)
        if column is None:
            return None
        return self._moments.moment(self._cell(cells, key), column.name, column.unit or "s")

    def _span(self, key: str, cells: Sequence[str]) -> float | None:
        column = self._columns.get(key)
        return None if column is None else span(self._cell(cells, key), column.name, column.unit or "s")

    def _count(self, key: str, cells: Sequence[str], least: int) -> int | None:
        column = self._columns.get(key)
        return None if column is None else count(self._cell(cells, key), column.name, least)


def in_units(key: str, amount: float, options: ReadingOptions, remarks: list[str]) -> tuple[str, int]:
    """The resource that a key means, and how many units of it; parts of what is whole are rounded up."""
    if key == CPU:
        return CPU, round(amount * MILLI)
    if key != "gpu":
        return key, ceil(amount)
    if options.gpu_shares:
        return GPU_SHARE, round(amount * WHOLE)
    if amount % 1:
        remarks.append(ROUNDED_UP)
    return GPU, ceil(amount)


class TableJobBuilder:
    """Makes jobs of rows; where `is_endless`, one without a run time never ends."""

    def __init__(self, options: ReadingOptions, restart: Restart, *, is_endless: bool) -> None:
        self._duration = options.duration
        self._restart = restart
        self._is_endless = is_endless
        self._roles = RolesByTotal(Shapes())

    def build(self, rows: Sequence[TableRow], submitted: float, account: Account) -> Submission | None:
        (row,) = rows
        runs = self._run_seconds(row, account)
        if runs is None:
            return None
        account.changed.update(row.remarks)
        return Submission(
            name=as_name(row.texts.get("name", ""), f"job-{row.line}"),
            namespace=as_name(row.texts.get("namespace", ""), "default"),
            submitted=submitted,
            run_seconds=runs,
            roles=self._roles.roles(row.units, row.pods),
            queue=as_name(row.texts.get("queue", ""), DEFAULT_QUEUE),
            user=row.texts.get("user", ""),
            priority_class=as_name(row.texts.get("priorityClass", ""), ""),
            min_available=min(row.minimum, row.pods) if row.minimum else None,
            estimate=row.estimate if row.estimate and math.isfinite(row.estimate) else None,
            restart=self._restart,
        )

    def _run_seconds(self, row: TableRow, account: Account) -> float | None:
        if row.runs is not None:
            return row.runs
        if self._is_endless:
            return math.inf
        if self._duration is None:
            account.dropped["a job that has not ended, or never ran: its run time is unknown"] += 1
        else:
            account.changed[f"run time unknown: {self._duration:g} s are assumed"] += 1
        return self._duration
