"""Standard Workload Format: one job per line, 18 numbers each, comments behind a semicolon.

A job of P processors is a gang of P pods with one processor each, or of fewer and larger ones. Nothing
starts before all of it can, and if one pod is lost, all start again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import isfinite

from hekla.simulation.workloads.model import Account, Restart, Role, Submission
from hekla.simulation.workloads.selection import Content, ReadingOptions
from hekla.simulation.workloads.shapes import Requests, Shapes
from hekla.simulation.workloads.short_jobs import MOST_PODS
from hekla.simulation.workloads.source import Piece, Source
from hekla.simulation.workloads.trace import (
    DEFAULT_QUEUE,
    Broken,
    StartsAt,
    Trace,
    as_name,
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

_QUEUE = re.compile(rb"^;\s*Queue:\s*(?P<number>\d+)[\s:-]+(?P<name>\S+)", re.IGNORECASE)

Row = Sequence[float]


def read_swf(source: Source, options: ReadingOptions) -> Content:
    """The jobs of a file in Standard Workload Format."""
    queues, shapes = declared_queues(source), Shapes()
    return content_of(
        Trace[Row](
            source,
            pieces=lambda: job_lines(source),
            parse=parse,
            time=lambda row: row[1],
            builder=lambda: Builder(queues, options, shapes).build,
            starts_at=StartsAt.ZERO_IF_NEAR,
            queues=list(queues.values()),
            has_dependencies=options.follow,
        ),
        options,
    )


def job_lines(source: Source) -> Iterator[Piece]:
    for piece in source.lines():
        text = piece.content.lstrip()
        if text and not text.startswith(b";"):
            yield piece


def declared_queues(source: Source) -> dict[int, str]:
    """The queues that the header names, by number; a name that is used twice names neither."""
    found: dict[int, str] = {}
    for piece in source.lines():
        text = piece.content.strip()
        if text and not text.startswith(b";"):
            break
        if declared := _QUEUE.match(text):
            name = as_name(declared["name"].decode("latin-1"))
            number_of_queue = int(declared["number"])
            is_taken = name in found.values() or name == "unnamed"
            found[number_of_queue] = f"queue-{number_of_queue}" if is_taken else name
    return found


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

    def __init__(self, queues: dict[int, str], options: ReadingOptions, shapes: Shapes) -> None:
        self._queues = queues
        self._options = options
        self._shapes = shapes
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
