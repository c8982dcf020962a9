"""Slurm's accounting: what `sacct --parsable2` prints, one job per row, with job steps between them.

A job is a gang of one pod per node that it had, each with its share of the processors, memory and GPUs that
were allocated, else of those that were asked for. The parts of a heterogeneous job are one gang.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite

import msgspec
from msgspec.structs import replace

from hekla.objects.complaint import did_you_mean, quoted
from hekla.simulation.workloads.cells import (
    MomentReader,
    count,
    has_zone,
    header_of,
    is_unknown,
    span,
    wrong,
    zone_called,
)
from hekla.simulation.workloads.model import Account, Restart, Role, Submission
from hekla.simulation.workloads.selection import Content, ReadingOptions
from hekla.simulation.workloads.shapes import GPU_MODEL, Choice, Shapes
from hekla.simulation.workloads.short_jobs import MOST_PODS
from hekla.simulation.workloads.source import Piece, Source
from hekla.simulation.workloads.totals import CPU, RolesByTotal, units_of
from hekla.simulation.workloads.trace import DEFAULT_QUEUE, Broken, Trace, as_name, content_of, rows_of
from hekla.simulation.workloads.tres import Tres, memory_in, tres_in

FIELDS = (
    "JobID,JobName,User,Partition,State,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,NNodes,AllocTRES,"
    "ReqTRES"
)
"""What to ask sacct for."""
PARTITION = "Partition"
UNFINISHED = frozenset(
    {
        "COMPLETING", "CONFIGURING", "PENDING", "REQUEUED", "REQUEUE_HOLD", "RESIZING", "RESV_DEL_HOLD",
        "RUNNING", "SIGNALING", "SPECIAL_EXIT", "STAGE_OUT", "STOPPED", "SUSPENDED",
    }
)  # fmt: skip
"""States of jobs that have not come to their end."""
NEVER_RAN = "a job that never ran"
NO_GPUS_KNOWN = "neither AllocTRES nor ReqTRES is there: GPUs are not known, and none are asked for"

_NEEDED = (
    ("JobID", "JobIDRaw"),
    ("Submit",),
    ("ElapsedRaw", "Elapsed", "End"),
    ("AllocTRES", "ReqTRES", "AllocCPUS", "NCPUS", "ReqCPUS"),
)
"""Of each of these one column at least."""
_JOB = re.compile(r"[0-9]+(?P<task>_(?:[0-9]+|\[.*))?(?P<part>\+[0-9]+)?\Z")
_MINUTES = "min"
_NO_LIMIT = frozenset({"invalid", "partition_limit"})
"""What stands for a limit that a job has not set itself."""


class SacctRow(msgspec.Struct, frozen=True):
    """A job, or a part of a heterogeneous one."""

    job: str
    """Its number, and that of the task of an array."""
    title: str
    state: str
    submitted: float
    has_begun: bool
    runs: float | None
    queue: str
    user: str
    estimate: float | None
    nodes: int
    tres: Tres
    remarks: Sequence[str]
    """What was assumed."""


def is_header(names: Sequence[str]) -> bool:
    """Whether the first row of a table is that of sacct."""
    known = {name.lower() for name in names}
    return bool(known & {"jobid", "jobidraw"}) and bool(known & {"submit", "start", "state", "elapsed"})


def read_sacct(source: Source, options: ReadingOptions) -> Content:
    """The jobs of an accounting log."""
    reader = SacctReader(source, options)
    builder = SacctJobBuilder(options)

    content = content_of(
        Trace[SacctRow](
            source,
            pieces=reader.job_rows,
            parse=reader.parse,
            time=lambda row: row.submitted,
            builder=lambda: builder.build,
            group=(lambda row: row.job) if reader.has_parts() else None,
        ),
        options,
    )
    return content if reader.knows_gpus else replace(content, changed=Counter({NO_GPUS_KNOWN: 1}))


class SacctReader:
    """Reads the rows of one log."""

    def __init__(self, source: Source, options: ReadingOptions) -> None:
        self._source = source
        self._moments = MomentReader(zone_called(options.time_zone))
        self._zone = options.time_zone
        self._header = header_of(source)
        self._places = {name.lower(): place for place, name in enumerate(self._header.names)}
        self._queue = options.queue_from
        self._check()
        self._id = min(self._places[name] for name in ("jobid", "jobidraw") if name in self._places)

    @property
    def knows_gpus(self) -> bool:
        return "alloctres" in self._places or "reqtres" in self._places

    def _check(self) -> None:
        """Raise InputError where a column is missing that is needed."""
        needed = [*_NEEDED, *([] if self._queue == PARTITION else [(self._queue,)])]
        for choice in needed:
            if not any(name.lower() in self._places for name in choice):
                missing = " or ".join(map(quoted, choice))
                near = did_you_mean(choice[0], self._header.names) or f"; call sacct with --format={FIELDS}"
                raise self._source.wrong(self._header.line, f"no column {missing}{near}")

    def job_rows(self) -> Iterator[Piece]:
        """The rows of jobs; those of their steps, as `123.batch`, say nothing more."""
        for piece in rows_of(self._source, skip=self._header.line):
            if b"." not in self._id_in(piece):
                yield piece

    def has_parts(self) -> bool:
        """Whether some jobs are heterogeneous."""
        return any(b"+" in self._id_in(piece) for piece in self.job_rows())

    def _id_in(self, piece: Piece) -> bytes:
        cells = piece.content.split(self._header.delimiter.encode(), self._id + 1)
        return cells[self._id] if len(cells) > self._id else b""

    def parse(self, piece: Piece) -> SacctRow:
        cells, remarks = self._cells(piece), list[str]()
        job = cells["jobid" if "jobid" in cells else "jobidraw"]
        shape = _JOB.match(job)
        if shape is None:
            raise wrong("not a job", "JobID", 'a number, as "123", "123_4" or "123+0"', job)
        tres = tres_in(cells.get("alloctres", ""), "AllocTRES") or tres_in(
            cells.get("reqtres", ""), "ReqTRES"
        )
        nodes = self._count(cells, "NNodes", "AllocNodes", "ReqNodes") or tres.nodes or 1
        tres = self._completed(tres, cells, nodes)
        remarks += [f"{name} is not asked for" for name in tres.others]
        return SacctRow(
            job=job.removesuffix(shape["part"] or ""),
            title=cells.get("jobname", ""),
            state=next(iter(cells.get("state", "").split()), "").upper(),
            submitted=self._submitted(cells, remarks),
            has_begun=not is_unknown(cells["start"]) if "start" in cells else True,
            runs=self._runs(cells),
            queue=as_name(cells.get(self._queue.lower(), ""), DEFAULT_QUEUE),
            user=cells.get("user", ""),
            estimate=self._estimate(cells),
            nodes=nodes,
            tres=tres,
            remarks=remarks,
        )

    def _cells(self, piece: Piece) -> Mapping[str, str]:
        """The cells by name; sacct quotes nothing, and puts one more delimiter at the end if asked to."""
        try:
            cells = piece.content.decode("utf-8").split(self._header.delimiter)
        except UnicodeDecodeError as error:
            raise Broken("not a text in UTF-8", quoted(piece.content.decode("latin-1"))) from error
        if len(cells) != len(self._header.names):
            detail = f"the header has {len(self._header.names)}, the row {len(cells)}"
            raise Broken("wrong number of columns", detail)
        return {name: cells[place].strip() for name, place in self._places.items()}

    def _submitted(self, cells: Mapping[str, str], remarks: list[str]) -> float:
        """When it could have begun: before, it waited for other jobs or for a date."""
        submitted = self._moments.moment(cells["submit"], "Submit")
        if submitted is None:
            raise wrong("a missing time", "Submit", "the time at which the job came", cells["submit"])
        if not has_zone(cells["submit"]):
            remarks.append(f"a time without a zone: {self._zone} is taken")
        eligible = self._moments.moment(cells.get("eligible", ""), "Eligible")
        if eligible is None or eligible <= submitted:
            return submitted
        remarks.append("a job that had to wait for another or for a date: it comes when it became eligible")
        return eligible

    def _runs(self, cells: Mapping[str, str]) -> float | None:
        for column in ("ElapsedRaw", "Elapsed"):
            found = span(cells.get(column.lower(), ""), column)
            if found is not None:
                return found
        start = self._moments.moment(cells.get("start", ""), "Start")
        end = self._moments.moment(cells.get("end", ""), "End")
        if start is None or end is None:
            return None
        if end < start:
            raise wrong("an end before the start", "End", "a later moment", cells["end"])
        return end - start

    def _estimate(self, cells: Mapping[str, str]) -> float | None:
        """The limit that the user has set."""
        said = cells.get("timelimitraw", ""), cells.get("timelimit", "")
        for column, cell in zip(("TimelimitRaw", "Timelimit"), said, strict=True):
            if cell and cell.lower() not in _NO_LIMIT:
                found = span(cell, column, _MINUTES)
                return found if found and isfinite(found) else None
        return None

    def _completed(self, tres: Tres, cells: Mapping[str, str], nodes: int) -> Tres:
        """With what columns of their own say, where no TRES do."""
        cpus = tres.cpus or self._count(cells, "AllocCPUS", "NCPUS", "ReqCPUS") or 0
        memory = tres.memory or memory_in(cells.get("reqmem", ""), "ReqMem", cpus, nodes)
        return replace(tres, cpus=cpus, memory=memory)

    def _count(self, cells: Mapping[str, str], *columns: str) -> int | None:
        """What the first of the columns says that says more than nothing."""
        found = (count(cells.get(column.lower(), ""), column) for column in columns)
        return next(filter(None, found), None)


class SacctJobBuilder:
    """Makes jobs of rows, or of several that are the parts of one."""

    def __init__(self, options: ReadingOptions) -> None:
        self._options = options
        self._shapes = Shapes()
        self._roles_by_total = RolesByTotal(self._shapes, whole=(CPU,))

    def build(self, rows: Sequence[SacctRow], submitted: float, account: Account) -> Submission | None:
        runs = [self._run_seconds(row, account) for row in rows]
        if reason := reason_to_drop(rows, runs):
            account.dropped[reason] += 1
            return None
        for row in rows:
            account.changed.update(row.remarks)
        first = rows[0]
        return Submission(
            name=as_name(f"{as_name(first.title, 'slurm')}-{first.job}"),
            submitted=submitted,
            run_seconds=max(seconds or 0.0 for seconds in runs),
            roles=self._roles(rows, runs, account),
            queue=first.queue,
            user=first.user,
            estimate=first.estimate,
            restart=Restart.JOB,
        )

    def _run_seconds(self, row: SacctRow, account: Account) -> float | None:
        """How long it ran, whatever its end was; none where it has not ended, or never ran."""
        if row.state not in UNFINISHED and (row.runs is not None or not row.has_begun):
            return row.runs if row.has_begun else None
        duration = self._options.duration
        if duration is not None:
            account.changed[f"a job that has not ended: {duration:g} s are assumed"] += 1
        return duration

    def _roles(
        self, rows: Sequence[SacctRow], runs: Sequence[float | None], account: Account
    ) -> tuple[Role, ...]:
        """One for pods that are alike; those of parts have run times of their own."""
        if len(rows) == 1:
            return self._of_row(rows[0], account)
        parts = [
            (role, seconds)
            for row, seconds in zip(rows, runs, strict=True)
            for role in self._of_row(row, account)
        ]
        return tuple(
            self._shapes.role(f"part-{number}", role.replicas, role.template, None, seconds)
            for number, (role, seconds) in enumerate(parts, start=1)
        )

    def _of_row(self, row: SacctRow, account: Account) -> tuple[Role, ...]:
        tres = row.tres
        models = tres.models if tres.gpus and not self._options.any_gpu else ()
        if models:
            account.changed[f"GPUs of {' or '.join(models)}: on nodes with {GPU_MODEL}, see --any-gpu"] += 1
        nodes: Choice = ((GPU_MODEL, models),) if models else ()
        return self._roles_by_total.roles(units_of(tres.cpus, tres.memory, tres.gpus), row.nodes, nodes)


def reason_to_drop(rows: Sequence[SacctRow], runs: Sequence[float | None]) -> str:
    for row, seconds in zip(rows, runs, strict=True):
        if seconds is None:
            is_open = row.state in UNFINISHED or row.has_begun
            what = "a job that has not ended: its run time is unknown" if is_open else NEVER_RAN
            return f"{what} ({row.state})" if row.state else what
        if not (row.tres.cpus or row.tres.gpus):
            return "no processors"
    return f"more than {MOST_PODS} pods" if sum(row.nodes for row in rows) > MOST_PODS else ""
