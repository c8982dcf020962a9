"""Alibaba's GPU trace of 2023 ("openb"): one pod per row, in no order of time.

A share of a GPU is rounded up to a whole one, or, with `gpu_shares`, every GPU is counted in thousandths
under a name of its own; which card a share lies on is not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import msgspec

from hekla.simulation.workloads.cells import header_of
from hekla.simulation.workloads.model import Account, Submission
from hekla.simulation.workloads.selection import Content, ReadingOptions
from hekla.simulation.workloads.shapes import GPU, GPU_MODEL, Choice, Requests, Shapes
from hekla.simulation.workloads.source import Piece, Source
from hekla.simulation.workloads.trace import (
    Broken,
    Trace,
    amount,
    as_name,
    cells_of,
    content_of,
    moment,
    rows_of,
)

GPU_SHARE = "alibabacloud.com/gpu-milli"
"""Thousandths of GPUs."""
WHOLE = 1000
COLUMNS = (
    "name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "qos", "pod_phase",
    "creation_time", "deletion_time", "scheduled_time",
)  # fmt: skip
PRIORITIES = {"qos-ls": 3000, "qos-guaranteed": 2000, "qos-burstable": 1000, "qos-be": 0}
"""Latency-sensitive, guaranteed, burstable, best effort."""
ROUNDED_UP = "a share of a GPU: rounded up to a whole one"


class Row(msgspec.Struct, frozen=True):
    name: str
    cpu: int
    memory: int
    gpus: int
    share: int
    models: tuple[str, ...]
    qos: str
    created: float
    deleted: float | None
    scheduled: float | None


def is_table(names: Sequence[str]) -> bool:
    """Whether the first row of a table may be that of such a list: a header, or a pod."""
    return {"cpu_milli", "name"} <= set(names) or (len(names) == len(COLUMNS) and names[1].isdigit())


def read_openb(source: Source, options: ReadingOptions) -> Content:
    """The pods of a list; each is a job of its own."""
    head, columns = columns_of(source)
    shapes = Shapes()

    def builder(rows: Sequence[Row], submitted: float, account: Account) -> Submission | None:
        return job_of(rows[0], submitted, shapes, options, account)

    return content_of(
        Trace[Row](
            source,
            pieces=lambda: rows_of(source, skip=head),
            parse=lambda piece: parse(piece, columns),
            time=lambda row: row.created,
            builder=lambda: builder,
            priorities=lambda name: PRIORITIES.get(name, 0),
        ),
        options,
    )


def columns_of(source: Source) -> tuple[int, Sequence[str]]:
    """The last line before the rows, and the columns that a header names, else the usual ones."""
    header = header_of(source)
    if len(header.names) == len(COLUMNS) and header.names[1].isdigit():
        return 0, COLUMNS
    header.places(COLUMNS, source, "a list of pods")
    return header.line, header.names


def parse(piece: Piece, columns: Sequence[str]) -> Row:
    cells = cells_of(piece.content)
    if len(cells) != len(columns):
        raise Broken("wrong number of columns", f"the header has {len(columns)}, the row {len(cells)}")
    cell = dict(zip(columns, cells, strict=True))
    created = moment(cell["creation_time"], "creation_time")
    if created is None:
        raise Broken("a missing time", "creation_time is empty")
    return Row(
        name=cell["name"],
        cpu=int(amount(cell["cpu_milli"], "cpu_milli")),
        memory=int(amount(cell["memory_mib"], "memory_mib")),
        gpus=int(amount(cell["num_gpu"], "num_gpu")),
        share=int(amount(cell["gpu_milli"], "gpu_milli")),
        models=tuple(filter(None, cell["gpu_spec"].split("|"))),
        qos=cell["qos"],
        created=created,
        deleted=moment(cell["deletion_time"], "deletion_time"),
        scheduled=moment(cell["scheduled_time"], "scheduled_time"),
    )


def job_of(
    row: Row, submitted: float, shapes: Shapes, options: ReadingOptions, account: Account
) -> Submission | None:
    runs = run_seconds(row, options, account)
    if runs is None:
        return None
    if not (row.cpu or row.memory or row.gpus):
        account.dropped["asks for nothing"] += 1
        return None
    nodes: Choice = ((GPU_MODEL, row.models),) if row.models and not options.any_gpu else ()
    template = shapes.template(requests_of(row, options, account), nodes)
    return Submission(
        name=as_name(row.name, "pod"),
        submitted=submitted,
        run_seconds=runs,
        roles=(shapes.role("pod", 1, template),),
        priority_class=f"qos-{as_name(row.qos)}" if row.qos else "",
    )


def run_seconds(row: Row, options: ReadingOptions, account: Account) -> float | None:
    """From being scheduled to being deleted; a pod never scheduled or never deleted has none."""
    if row.scheduled is not None and row.deleted is not None:
        if row.deleted >= row.scheduled:
            return row.deleted - row.scheduled
        account.dropped["deleted before it was scheduled"] += 1
        return None
    if options.duration is not None:
        account.changed[f"run time unknown: {options.duration:g} s are assumed"] += 1
        return options.duration
    was = "was never scheduled" if row.scheduled is None else "was never deleted"
    account.dropped[f"a pod that {was}: its run time is unknown"] += 1
    return None


def requests_of(row: Row, options: ReadingOptions, account: Account) -> Requests:
    thousandths = row.share if row.gpus == 1 and 0 < row.share < WHOLE else row.gpus * WHOLE
    return (*cpu_and_memory(row.cpu, row.memory), *gpu_request(thousandths, options, account))


def cpu_and_memory(millicores: int, mebibytes: int) -> Requests:
    """What is asked for; nothing of what is not."""
    asked = (("cpu", f"{millicores}m", millicores), ("memory", f"{mebibytes}Mi", mebibytes))
    return tuple((name, text) for name, text, amount in asked if amount)


def gpu_request(thousandths: int, options: ReadingOptions, account: Account) -> Requests:
    """GPUs in thousandths, or whole ones."""
    if thousandths <= 0:
        return ()
    if options.gpu_shares:
        return ((GPU_SHARE, str(thousandths)),)
    if thousandths % WHOLE:
        account.changed[ROUNDED_UP] += 1
    return ((GPU, str(ceil(thousandths / WHOLE))),)
