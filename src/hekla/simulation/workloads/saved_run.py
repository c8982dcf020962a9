"""Saved runs: the jobs of a simulation that was saved as JSON, as they came."""

from __future__ import annotations

from typing import Annotated

import msgspec

from hekla.errors import InputError
from hekla.objects import ObjectMeta, Queue
from hekla.objects.quantity import LONGEST
from hekla.simulation.workloads.model import Account, Restart, Submission
from hekla.simulation.workloads.selection import Content, ReadingOptions
from hekla.simulation.workloads.short_jobs import MOST_PODS
from hekla.simulation.workloads.source import Source
from hekla.simulation.workloads.table import TableJobBuilder, TableRow, in_units
from hekla.simulation.workloads.trace import DEFAULT_QUEUE

Seconds = Annotated[float, msgspec.Meta(ge=0, le=LONGEST)]
Pods = Annotated[int, msgspec.Meta(ge=1, le=MOST_PODS)]
Amount = Annotated[float, msgspec.Meta(ge=0, le=2**62)]


class SavedJob(msgspec.Struct, rename="camel"):
    """What is read of a job; amounts are those of all its pods."""

    name: str
    namespace: str
    queue: str
    submitted: Seconds
    pods: Pods
    minimum: Annotated[int, msgspec.Meta(ge=0)]
    user: str | None = ""
    run_seconds: Seconds | None = None
    """None: it never ends."""
    estimate: Seconds | None = None
    requests: dict[str, Amount | None] = {}

    def row(self, number: int, options: ReadingOptions) -> TableRow:
        texts = {"name": self.name, "namespace": self.namespace, "queue": self.queue, "user": self.user or ""}
        asked = (in_units(name, amount or 0.0, options, []) for name, amount in self.requests.items())
        return TableRow(
            line=number,
            submitted=self.submitted,
            runs=self.run_seconds,
            texts=texts,
            estimate=self.estimate,
            pods=self.pods,
            minimum=self.minimum,
            units={name: amount for name, amount in asked if amount},
            remarks=(),
        )


class SavedJobs(msgspec.Struct):
    jobs: list[SavedJob]


def is_saved_run(head: bytes) -> bool:
    """Whether a file begins as a run that was saved as JSON does."""
    return head.startswith(b'{"title"') and b'"configuration"' in head and b'"isComplete"' in head


def read_saved_run(source: Source, options: ReadingOptions) -> Content:
    """The jobs of a saved run."""
    try:
        saved = msgspec.json.decode(source.content(), type=SavedJobs)
    except msgspec.MsgspecError as error:
        raise InputError(f"{source.name}: no saved run: {error}") from error
    builder = TableJobBuilder(options, Restart.POD, is_endless=True)
    made = (
        builder.build((job.row(number, options),), job.submitted, Account())
        for number, job in enumerate(saved.jobs, start=1)
    )
    jobs: list[Submission] = sorted(filter(None, made), key=lambda job: job.submitted)
    queues = sorted({job.queue for job in jobs} - {DEFAULT_QUEUE})
    return Content(
        name=source.stem,
        jobs=lambda _account: iter(jobs),
        objects=tuple(Queue(metadata=ObjectMeta(name=name)) for name in queues),
        count=len(jobs),
    )
