"""Alibaba's GPU trace of 2020 (PAI): tasks in a table without a header, tasks of one job are a gang.

Processors and GPUs are in percent (600 is six cores, 50 half a GPU), memory in gigabytes. The table of jobs,
if it is given, knows users and the times of submission.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from math import inf
from pathlib import Path

import msgspec
import numpy as np

from hekla.simulation.workloads.cells import header_of
from hekla.simulation.workloads.model import Account, Restart, Role, Submission
from hekla.simulation.workloads.openb import cpu_and_memory, gpu_request
from hekla.simulation.workloads.selection import Content, ReadingOptions
from hekla.simulation.workloads.shapes import GPU_MODEL, Choice, Requests, Shapes
from hekla.simulation.workloads.short_jobs import MOST_PODS
from hekla.simulation.workloads.source import Piece, Source
from hekla.simulation.workloads.trace import (
    Broken,
    Trace,
    amount,
    as_name,
    cells_of,
    content_of,
    expect_cells,
    moment,
    rows_of,
)

TASKS = (
    "job_name", "task_name", "inst_num", "status", "start_time", "end_time", "plan_cpu", "plan_mem",
    "plan_gpu", "gpu_type",
)  # fmt: skip
JOBS = ("job_name", "inst_id", "user", "status", "start_time", "end_time")
NO_MODEL = frozenset({"", "CPU", "MISC"})
"""What stands for no particular GPU."""


class PaiRow(msgspec.Struct, frozen=True):
    job: str
    task: str
    pods: int
    began: float | None
    ended: float | None
    cpu: int
    memory: int
    gpu: int
    model: str


def is_table(names: Sequence[str]) -> bool:
    """Whether the first row of a table may be that of such a table of tasks: a header, or a task."""
    return len(names) == len(TASKS) or has_header(names)


def has_header(names: Sequence[str]) -> bool:
    return TASKS[0] in names


def read_pai(source: Source, options: ReadingOptions) -> Content:
    """The jobs of a table of tasks."""
    shapes = Shapes()
    head, places = places_of(source)
    table = JobTable(options.job_table) if options.job_table is not None else None

    def build(rows: Sequence[PaiRow], submitted: float, account: Account) -> Submission | None:
        user = table.user_of(rows[0].job) if table else ""
        return job_of(rows, submitted, shapes, options, account, user=user)

    def time(row: PaiRow) -> float:
        said = table.start_of(row.job) if table else None
        if said is not None:
            return said
        return inf if row.began is None else row.began

    return content_of(
        Trace[PaiRow](
            source,
            pieces=lambda: rows_of(source, skip=head),
            parse=lambda piece: parse(piece, places),
            time=time,
            builder=lambda: build,
            group=lambda row: row.job,
        ),
        options,
    )


def places_of(source: Source) -> tuple[int, Sequence[int]]:
    """The last line before the rows, and where each column stands, as a header says or as is usual."""
    header = header_of(source)
    if not has_header(header.names):
        return 0, range(len(TASKS))
    return header.line, header.places(TASKS, source, "a table of tasks")


def parse(piece: Piece, places: Sequence[int]) -> PaiRow:
    cells = cells_of(piece.content)
    if len(cells) <= max(places):
        expect_cells(cells, TASKS)
    job, task, pods, _, began, ended, cpu, memory, gpu, model = (cells[place] for place in places)
    if not job:
        raise Broken("a missing name", "job_name is empty")
    return PaiRow(
        job=job,
        task=task,
        pods=int(amount(pods, "inst_num")),
        began=moment(began, "start_time"),
        ended=moment(ended, "end_time"),
        cpu=round(amount(cpu, "plan_cpu") * 10),
        memory=round(amount(memory, "plan_mem") * 1024),
        gpu=round(amount(gpu, "plan_gpu") * 10),
        model=model,
    )


def job_of(
    rows: Sequence[PaiRow],
    submitted: float,
    shapes: Shapes,
    options: ReadingOptions,
    account: Account,
    *,
    user: str,
) -> Submission | None:
    """One role per task; tasks that never ran or ask for no pods are left out of the gang."""
    roles = tuple(role for row in rows if (role := role_of(row, shapes, options, account)))
    pods = sum(role.replicas for role in roles)
    if not roles or pods > MOST_PODS:
        reason = "none of its tasks can be played" if not roles else f"more than {MOST_PODS} pods"
        account.dropped[f"a job: {reason}"] += 1
        return None
    return Submission(
        name=as_name(rows[0].job, "job"),
        submitted=submitted,
        run_seconds=max(role.run_seconds or 0.0 for role in roles),
        roles=distinct(roles, shapes),
        user=user,
        restart=Restart.JOB,
    )


def role_of(row: PaiRow, shapes: Shapes, options: ReadingOptions, account: Account) -> Role | None:
    runs = run_seconds(row, options, account)
    if runs is None:
        return None
    if row.pods < 1:
        account.dropped["a task of no instances"] += 1
        return None
    model = row.model if row.model not in NO_MODEL and row.gpu and not options.any_gpu else ""
    nodes: Choice = ((GPU_MODEL, (model,)),) if model else ()
    template = shapes.template(requests_of(row, options, account), nodes)
    return shapes.role(as_name(row.task, "task"), row.pods, template, None, runs)


def distinct(roles: Sequence[Role], shapes: Shapes) -> tuple[Role, ...]:
    """The roles under names of their own."""
    names = [role.name for role in roles]
    return tuple(
        role
        if names.count(role.name) == 1
        else shapes.role(f"{role.name}-{i}", role.replicas, role.template, None, role.run_seconds)
        for i, role in enumerate(roles, start=1)
    )


def run_seconds(row: PaiRow, options: ReadingOptions, account: Account) -> float | None:
    if row.began is not None and row.ended is not None:
        if row.ended >= row.began:
            return row.ended - row.began
        account.dropped["a task that ended before it began"] += 1
        return None
    if row.began is not None and options.duration is not None:
        account.changed[f"a task that did not end: {options.duration:g} s are assumed"] += 1
        return options.duration
    never = "never began" if row.began is None else "did not end: its run time is unknown"
    account.dropped[f"a task that {never}"] += 1
    return None


def requests_of(row: PaiRow, options: ReadingOptions, account: Account) -> Requests:
    return (*cpu_and_memory(row.cpu, row.memory), *gpu_request(row.gpu, options, account))


class JobTable:
    """Users and times of submission by job, as numbers: a million jobs take 20 megabytes."""

    def __init__(self, path: Path) -> None:
        source = Source(path)
        keys, users, starts = array("q"), array("q"), array("d")
        self._number_by_user: dict[str, int] = {}
        for piece in rows_of(source):
            if piece.line == 1 and piece.content.startswith(JOBS[0].encode()):
                continue
            try:
                cells = cells_of(piece.content)
                expect_cells(cells, JOBS)
                start = moment(cells[4], "start_time")
            except Broken as broken:
                raise source.wrong(piece.line, str(broken)) from broken
            keys.append(hash(cells[0]))
            users.append(self._number_by_user.setdefault(cells[2], len(self._number_by_user)))
            starts.append(float("nan") if start is None else start)
        order = np.argsort(np.frombuffer(keys, np.int64), kind="stable")
        self._keys = np.frombuffer(keys, np.int64)[order]
        self._user_numbers = np.frombuffer(users, np.int64)[order]
        self._starts = np.frombuffer(starts)[order]
        self._users = list(self._number_by_user)

    def user_of(self, job: str) -> str:
        row = self._row_of(job)
        return "" if row is None else self._users[self._user_numbers[row]]

    def start_of(self, job: str) -> float | None:
        row = self._row_of(job)
        return None if row is None or np.isnan(self._starts[row]) else float(self._starts[row])

    def _row_of(self, job: str) -> int | None:
        key = hash(job)
        row = int(np.searchsorted(self._keys, key))
        return row if row < len(self._keys) and self._keys[row] == key else None
