"""JSON lines: one short job per line; the first line may say what is there at the start instead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from hekla.errors import InputError
from hekla.simulation.workloads.cluster_form import Names, waiting_for_themselves
from hekla.simulation.workloads.fields import Spot
from hekla.simulation.workloads.model import Account, Submission
from hekla.simulation.workloads.selection import Content, ReadingOptions
from hekla.simulation.workloads.shapes import Shapes
from hekla.simulation.workloads.short_jobs import short_job
from hekla.simulation.workloads.source import Piece, Source
from hekla.simulation.workloads.trace import Broken, Reading, StartsAt, Trace
from hekla.simulation.workloads.written import HEAD_KEYS, Draft


class Wait(msgspec.Struct, frozen=True):
    """What a job waits for, and the line that says so."""

    after: str
    line: int


_DECODER = msgspec.json.Decoder()


def read_lines(source: Source, options: ReadingOptions) -> Content:
    """The workload of a file of JSON lines."""
    draft = Draft(source.name, options, name=source.stem)
    has_head = read_head(source, draft)
    content, shapes = draft.content(), Shapes()
    names = Names(content.objects)

    waits: dict[str, Wait] = {}

    def parse(piece: Piece) -> Submission:
        job = job_in(piece, source, names, shapes, options)
        if job.after:
            waits[job.key] = Wait(job.after, piece.line)
        return job

    def build(rows: Sequence[Submission], _: float, __: Account) -> Submission:
        return rows[0]

    trace = Trace[Submission](
        source,
        pieces=lambda: job_lines(source, skip_first=has_head),
        parse=parse,
        time=lambda job: job.submitted,
        builder=lambda: build,
        starts_at=StartsAt.ZERO,
    )
    reading = Reading(trace, options)
    check_keys(trace, reading, waits)
    return Content(
        name=content.name,
        jobs=reading.jobs,
        objects=content.objects,
        faults=content.faults,
        hazards=content.hazards,
        count=reading.survey.jobs,
        has_dependencies=bool(waits),
    )


def read_head(source: Source, draft: Draft) -> bool:
    """Whether the first line is no job; what it says goes into the draft."""
    first = next(job_lines(source), None)
    data = None if first is None else decoded(first, source)
    if first is None or not isinstance(data, dict) or not data.keys() & (HEAD_KEYS - {"name"}):
        return False
    draft.head(data, Spot(source.name, line=first.line), HEAD_KEYS)
    if draft.settings is not None:
        raise source.wrong(first.line, '"generate" has no place among JSON lines; write it in YAML')
    return True


def job_lines(source: Source, *, skip_first: bool = False) -> Iterator[Piece]:
    for piece in source.lines():
        if not piece.content.strip():
            continue
        if skip_first:
            skip_first = False
            continue
        yield piece


def job_in(piece: Piece, source: Source, names: Names, shapes: Shapes, options: ReadingOptions) -> Submission:
    spot = Spot(source.name, line=piece.line)
    try:
        entry = short_job(decoded(piece, source), spot, shapes, options.duration)
        if entry.count > 1:
            raise spot.under("count").wrong("one line is one job; write repeated jobs in YAML")
        names.check(entry.submission, spot)
    except InputError as error:
        raise Broken(
            "a line that is no job", str(error).removeprefix(f"{source.name}:{piece.line}: ")
        ) from error
    return entry.submission


def decoded(piece: Piece, source: Source) -> object:
    try:
        return _DECODER.decode(piece.content)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise source.wrong(piece.line, f"not JSON: {error}") from error


def check_keys(trace: Trace[Submission], reading: Reading[Submission], waits: Mapping[str, Wait]) -> None:
    """No two jobs have one name, those that other jobs wait for exist, and none waits for itself."""
    twice, seen = reading.twice, set[str]()
    for piece in trace.pieces() if twice else ():
        key = trace.parse(piece).key
        if key in seen:
            raise trace.source.wrong(piece.line, f'two jobs are called "{key}"')
        if hash(key) in twice:
            seen.add(key)
    missing = {wait.after for wait in waits.values()}
    if missing:
        missing.difference_update(job.key for job in reading.jobs(Account()))
    for wait in waits.values():
        if wait.after in missing:
            raise trace.source.wrong(wait.line, f'after: no job "{wait.after}"')
    after = {key: wait.after for key, wait in waits.items()}
    for key in waiting_for_themselves(after):
        message = f'after: the job waits for itself by way of "{after[key]}"'
        raise trace.source.wrong(waits[key].line, message)
