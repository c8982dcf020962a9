"""Standard Workload Format: one job per line, 18 numbers each, comments behind a semicolon.

A job of P processors is a gang of P pods with one processor each, or of fewer and larger ones. Nothing
starts before all of it can, and if one pod is lost, all start again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite

from hekla.simulation.workloads.model import Account, Restart, Role, Submission
from hekla.simulation.workloads.selection import Content, ReadingOptions
from hekla.simulation.workloads.shapes import Requests, Shapes
from hekla.simulation.workloads.short_jobs import MOST_PODS
from hekla.simulation.workloads.source import Piece, Source
from hekla.simulation.workloads.swf_header import header_of, on_machine
from hekla.simulation.workloads.trace import (
    DEFAULT_QUEUE,
    Broken,
    StartsAt,
    Trace,
    content_of,
    number,
)

FIELDS = (
    "job number", "submit time", "wait time", "run time", "allocated processors", "average CPU time used",
    "used memory", "requested processors", "requested time", "requested memory", "status", "user", "group",
    "executable", "queue", "partition", "preceding job", "think time",
)  # fmt: skip
PARTIAL = frozenset({2, 3, 4})
"""Statuses of parts of a job that was checkpointed or swapped out; the whole has a line of its own."""
CANCELLED = 5

MOST_SIZES = 1024
"""Of so many the roles are remembered; those that come again are mostly these."""

Row = Sequence[float]


def read_swf(source: Source, options: ReadingOptions) -> Content:
    """The jobs of a file in Standard Workload Format, on the machine of its header unless nodes are named."""
    header, shapes = header_of(source), Shapes()
    builders: list[Builder] = []

    def builder() -> Callable[[Sequence[Row], float, Account], Submission | None]:
        builders.append(Builder(header.queues, options, shapes))
        return builders[-1].build

    content = content_of(
        Trace[Row](
            source,
            pieces=lambda: job_lines(source),
            parse=parse,
            time=lambda row: row[1],
            builder=builder,
            starts_at=StartsAt.ZERO_IF_NEAR,
            queues=list(header.queues.values()),
            has_dependencies=options.follow,
        ),
        options,
    )
    most_memory = max((each.most_memory for each in builders), default=0)
    return content if options.nodes else on_machine(content, header, most_memory)


def job_lines(source: Source) -> Iterator[Piece]:
    """The lines of jobs; a line of words before them names the fields."""
    is_first = True
    for piece in source.lines():
        text = piece.content.lstrip()
        if not text or text.startswith(b";"):
            continue
        if not (is_first and is_names(text)):
            yield piece
        is_first = False


def is_names(text: bytes) -> bool:
    """Whether a line holds words where numbers are expected, from its first to its last."""
    return not any(cell[:1].isdigit() or cell[:1] in b"+-." for cell in text.split())


def parse(piece: Piece) -> Row:
    cells = piece.content.split()
    if len(cells) != len(FIELDS):
        raise Broken("wrong number of fields", f"expected {len(FIELDS)}, got {len(cells)}")
    try:
        row = list(map(float, cells))
    except ValueError:
        row = [number(cell, name) for cell, name in zip(cells, FIELDS, strict=True)]
    if not isfinite(sum(row)):
        row = [number(cell, name) for cell, name in zip(cells, FIELDS, strict=True)]
    if row[1] < 0:
        raise Broken("a negative time", f"submit time: {row[1]:g}")
    return row


class Builder:
    """Makes jobs of rows; remembers which were taken where other jobs may wait for them."""

    def __init__(self, queues: Mapping[int, str], options: ReadingOptions, shapes: Shapes) -> None:
        self._queues = queues
        self._options = options
        self._shapes = shapes
        self.most_memory = 0
        """Of all jobs, in kilobytes per processor."""
        self._taken: set[int] = set()
        self._roles_by_size: dict[tuple[int, int], tuple[Role, ...]] = {}

    def build(self, rows: Sequence[Row], submitted: float, account: Account) -> Submission | None:
        (row,) = rows
        reason = self._reason_to_drop(row)
        if reason:
            account.dropped[reason] += 1
            return None
        runs = self._run_seconds(row, account)
        if runs is None:
            account.dropped["no run time, and no requested time to take for it"] += 1
            return None
        after, think = self._preceding(row, account)
        queue = int(row[14])
        return Submission(
            name=f"swf-{int(row[0])}",
            submitted=submitted,
            run_seconds=runs,
            roles=self._roles(row),
            queue=self._queues.get(queue, f"queue-{queue}") if queue >= 0 else DEFAULT_QUEUE,
            user=f"user-{int(row[11])}" if row[11] >= 0 else "",
            estimate=row[8] if row[8] > 0 else None,
            restart=Restart.JOB,
            after=after,
            think_seconds=think,
        )

    def _reason_to_drop(self, row: Row) -> str:
        status, wanted = int(row[10]), self._options.statuses
        if wanted is not None:
            if status not in wanted:
                return f"status {status} is not wanted"
        elif status in PARTIAL:
            return f"a part of a job that has a line of its own (status {status})"
        if status == CANCELLED and row[3] < 0:
            return "a job that never ran (status 5, no run time)"
        processors = processors_of(row)
        if processors < 1:
            return "no processors"
        if -(-processors // self._options.pod_cpus) > MOST_PODS:
            return f"more than {MOST_PODS} pods; try larger pods"
        return ""

    def _run_seconds(self, row: Row, account: Account) -> float | None:
        if row[3] >= 0:
            return row[3]
        if self._options.duration is not None:
            account.changed[f"run time missing: {self._options.duration:g} s are assumed"] += 1
            return self._options.duration
        if row[8] > 0:
            account.changed["run time missing: the requested time is taken"] += 1
            return row[8]
        return None

    def _preceding(self, row: Row, account: Account) -> tuple[str, float]:
        preceding = int(row[16])
        if self._options.follow:
            known = preceding in self._taken
            self._taken.add(int(row[0]))
            if known:
                return f"default/swf-{preceding}", max(0.0, row[17])
        if preceding > 0:
            reason = "is not there" if self._options.follow else "is not waited for"
            account.changed[f"a preceding job {reason}: the submit time alone counts"] += 1
        return "", 0.0

    def _roles(self, row: Row) -> tuple[Role, ...]:
        processors, memory = processors_of(row), int(row[9] if row[9] > 0 else row[6])
        found = self._roles_by_size.get((processors, memory))
        if found is None:
            if len(self._roles_by_size) >= MOST_SIZES:
                self._roles_by_size.clear()
            found = self._roles_by_size[processors, memory] = self._new_roles(processors, memory)
            self.most_memory = max(self.most_memory, memory)
        return found

    def _new_roles(self, processors: int, memory: int) -> tuple[Role, ...]:
        """Pods of the size that is wanted, and a smaller one for the rest."""
        size = self._options.pod_cpus
        whole, rest = divmod(processors, size)
        roles = []
        if whole:
            roles.append(self._shapes.role("worker", whole, self._shapes.template(requests(size, memory))))
        if rest:
            roles.append(self._shapes.role("rest", 1, self._shapes.template(requests(rest, memory))))
        return tuple(roles)


def processors_of(row: Row) -> int:
    """As many as were requested, else as many as were allocated."""
    return int(row[7] if row[7] > 0 else row[4])


def requests(processors: int, memory: int) -> Requests:
    """Memory is in kilobytes per processor; what is unknown is not asked for."""
    cpu: tuple[str, str] = ("cpu", str(processors))
    return (cpu, ("memory", f"{memory * processors}Ki")) if memory > 0 else (cpu,)
