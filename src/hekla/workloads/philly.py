"""Microsoft's Philly trace: a JSON list of jobs, each with its attempts and the GPUs of every machine.

A job is a gang of one pod per machine of its last attempt, with as many GPUs as it had there. Its virtual
cluster is its queue. Nothing is known of processors and memory, and none are asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from hekla.objects.complaint import quoted
from hekla.workloads.elements import elements_of
from hekla.workloads.model import Account, Restart, Submission
from hekla.workloads.options import Options
from hekla.workloads.rows import as_name
from hekla.workloads.selection import Content
from hekla.workloads.shapes import GPU, Shapes
from hekla.workloads.source import Piece, Source
from hekla.workloads.trace import Broken, Trace, content_of


class Machine(msgspec.Struct):
    gpus: list[str] = []


class Attempt(msgspec.Struct):
    start_time: str | None = None
    end_time: str | None = None
    detail: list[Machine] = []


class Job(msgspec.Struct):
    jobid: str
    submitted_time: str
    vc: str = ""
    user: str | None = None
    attempts: list[Attempt] = []
    submitted: float = 0.0


_JOB = msgspec.json.Decoder(Job)


def read_philly(source: Source, options: Options) -> Content:
    """The jobs of a `cluster_job_log`."""
    shapes = Shapes()

    def build(rows: Sequence[Job], submitted: float, account: Account) -> Submission | None:
        return job_of(rows[0], submitted, shapes, options, account)

    return content_of(
        Trace[Job](
            source,
            pieces=lambda: elements_of(source),
            parse=parse,
            time=lambda job: job.submitted,
            builder=lambda: build,
        ),
        options,
    )


def parse(piece: Piece) -> Job:
    try:
        job = _JOB.decode(piece.content)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise Broken("not a job", f"{str(error)[:1].lower()}{str(error)[1:]}") from error
    job.submitted = seconds_of(job.submitted_time, "submitted_time")
    for attempt in job.attempts:
        for text in (attempt.start_time, attempt.end_time):
            if text:
                seconds_of(text, "attempts")
    return job


def seconds_of(text: str, what: str) -> float:
    """A time such as "2017-10-09 07:02:33"; all are of one zone, which does not matter."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except ValueError as error:
        raise Broken("not a time", f"{what}: {quoted(text)}") from error


def job_of(
    job: Job, submitted: float, shapes: Shapes, options: Options, account: Account
) -> Submission | None:
    runs = run_seconds(job, options, account)
    if runs is None:
        return None
    pods_by_gpus = Counter(len(machine.gpus) for machine in job.attempts[-1].detail if machine.gpus)
    if not pods_by_gpus:
        account.dropped["no GPUs are known of its last attempt"] += 1
        return None
    return Submission(
        name=as_name(job.jobid, "job"),
        submitted=submitted,
        run_seconds=runs,
        roles=tuple(
            shapes.role(f"gpu-{gpus}", pods, shapes.template(((GPU, str(gpus)),)))
            for gpus, pods in sorted(pods_by_gpus.items(), reverse=True)
        ),
        queue=as_name(job.vc, "default"),
        user=job.user or "",
        restart=Restart.JOB,
    )


def run_seconds(job: Job, options: Options, account: Account) -> float | None:
    """The time of all attempts together."""
    began = [attempt for attempt in job.attempts if attempt.start_time]
    if not began:
        account.dropped["a job that never ran (no attempts)"] += 1
        return None
    total = 0.0
    for attempt in began:
        if not attempt.end_time:
            if options.duration is None:
                account.dropped["an attempt that did not end: the run time is unknown"] += 1
                return None
            account.changed[f"an attempt that did not end: {options.duration:g} s are assumed"] += 1
            total += options.duration
            continue
        start, end = seconds_of(attempt.start_time or "", ""), seconds_of(attempt.end_time, "")
        if end < start:
            account.dropped["an attempt that ended before it began"] += 1
            return None
        total += end - start
    if len(began) > 1:
        account.changed["several attempts: their run times are added up"] += 1
    return total
