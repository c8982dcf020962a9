"""Microsoft's Philly trace: a JSON list of jobs, each with its attempts and the GPUs of every machine.

A job is a gang of one pod per machine of its last attempt, with as many GPUs as it had there. Its virtual
cluster is its queue. Nothing is known of processors and memory, and none are asked for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from hekla.errors import InputError
from hekla.objects.complaint import quoted
from hekla.simulation.workloads.model import Account, Restart, Submission
from hekla.simulation.workloads.selection import Content, ReadingOptions
from hekla.simulation.workloads.shapes import GPU, Shapes
from hekla.simulation.workloads.source import Piece, Source
from hekla.simulation.workloads.trace import Broken, Trace, as_name, content_of

CHUNK = 1024 * 1024
LONGEST_ELEMENT = 64 * 1024 * 1024

_TO_NEXT_BRACKET = re.compile(rb'(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+")*+[{}\[\]]', re.DOTALL)
"""Over whole texts, in which brackets mean nothing."""
_OPENING = b"{["
_BLANK = re.compile(rb"[ \t\r\n]*")


class _Splitter:
    """Reads a file chunk by chunk, and keeps only what belongs to the element at hand."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._file = source.open()
        self._held = b""
        self._at = 0
        """How far what is held has been used up."""
        self._offset = 0
        self._line = 1

    def elements(self) -> Iterator[Piece]:
        with self._file:
            if self._next_sign() != b"[":
                raise self._wrong("expected a list, in square brackets")
            self._pass(1)
            sign = self._next_sign()
            while sign != b"]":
                yield self._element()
                sign = self._next_sign()
                if sign not in (b",", b"]"):
                    raise self._wrong('expected "," or the end of the list')
                if sign == b",":
                    self._pass(1)
                    sign = self._next_sign()
                    if sign == b"]":
                        raise self._wrong('expected another element after ","')

    def _element(self) -> Piece:
        """From here to where all brackets are closed again."""
        if self._next_sign() != b"{":
            raise self._wrong("expected an object, in curly brackets")
        depth, seen = 0, 0
        while True:
            while token := _TO_NEXT_BRACKET.match(self._held, self._at + seen):
                seen = token.end() - self._at
                depth += 1 if self._held[token.end() - 1] in _OPENING else -1
                if depth == 0:
                    piece = Piece(self._line, self._offset, self._held[self._at : self._at + seen])
                    self._pass(seen)
                    return piece
            if len(self._held) - self._at > LONGEST_ELEMENT:
                raise self._wrong(
                    f"more than {LONGEST_ELEMENT} bytes in one element; is it the right format?"
                )
            self._more("the file ends in the middle of an element; is it whole?")

    def _next_sign(self) -> bytes:
        """The first character that is not blank; all before it is used up."""
        while True:
            blank = _BLANK.match(self._held, self._at)
            assert blank is not None
            self._pass(len(blank.group()))
            if self._at < len(self._held):
                return self._held[self._at : self._at + 1]
            self._more("the file ends before the list does; is it whole?")

    def _more(self, otherwise: str) -> None:
        chunk = self._file.read(CHUNK)
        if not chunk:
            raise self._wrong(otherwise)
        self._held = self._held[self._at :] + chunk
        self._at = 0

    def _pass(self, count: int) -> None:
        self._line += self._held.count(b"\n", self._at, self._at + count)
        self._offset += count
        self._at += count

    def _wrong(self, message: str) -> InputError:
        return self._source.wrong(self._line, message)


def elements_of(source: Source) -> Iterator[Piece]:
    """The objects of a list, each with its first line; raises InputError where the list breaks off."""
    return _Splitter(source).elements()


class Machine(msgspec.Struct):
    gpus: list[str] = []


class Attempt(msgspec.Struct):
    start_time: str | None = None
    end_time: str | None = None
    detail: list[Machine] = []


class PhillyJob(msgspec.Struct):
    jobid: str
    submitted_time: str
    vc: str = ""
    user: str | None = None
    attempts: list[Attempt] = []
    submitted: float = 0.0


_JOB = msgspec.json.Decoder(PhillyJob)


def read_philly(source: Source, options: ReadingOptions) -> Content:
    """The jobs of a `cluster_job_log`."""
    shapes = Shapes()

    def build(rows: Sequence[PhillyJob], submitted: float, account: Account) -> Submission | None:
        return job_of(rows[0], submitted, shapes, options, account)

    return content_of(
        Trace[PhillyJob](
            source,
            pieces=lambda: elements_of(source),
            parse=parse,
            time=lambda job: job.submitted,
            builder=lambda: build,
        ),
        options,
    )


def parse(piece: Piece) -> PhillyJob:
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
    job: PhillyJob, submitted: float, shapes: Shapes, options: ReadingOptions, account: Account
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


def run_seconds(job: PhillyJob, options: ReadingOptions, account: Account) -> float | None:
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
