"""Reading a recording, line by line; what the end of a killed process or a bad disk has left is used.

A record that is only half there is told and passed over. So is everything between a damaged place and the
next checkpoint, which begins a gzip stream of its own.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from hekla.errors import InputError
from hekla.server.recording.records import FORMAT, Checkpoint, Configuration, Cycle, Header, Line, read_line

GZIP = 31
MAGIC = b"\x1f\x8b"
MEMBER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00"
"""How a gzip stream begins that says neither a name nor a time."""
PIECE = 1 << 14
STEP = 1 << 12
"""So little is unpacked at once that not much before a damaged place is lost with it."""
NO_HEADER = "it does not begin with a header"


class Recording:
    """The file at a path; `complaints` tell what of it could not be read, once it has been."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.complaints: list[str] = []
        self.header = self._header()

    def __iter__(self) -> Iterator[Configuration | Checkpoint | Cycle]:
        """Everything but the header, in order."""
        self.complaints.clear()
        is_lost, last = False, 0
        for line in self._lines():
            record = None if line is None else _record(line)
            if record is None:
                if not is_lost:
                    self._complain(f"damaged after cycle {last}; what follows up to a checkpoint is left out")
                is_lost = True
                continue
            is_lost = is_lost and not isinstance(record, Checkpoint)
            if isinstance(record, Cycle):
                if is_lost:
                    continue
                last = record.number
            if not isinstance(record, Header):
                yield record

    def _header(self) -> Header:
        header = _record(next(self._lines(), None) or b"")
        if not isinstance(header, Header):
            raise InputError(f'"{self.path}" is no recording: {NO_HEADER}')
        if header.format > FORMAT:
            raise InputError(
                f'"{self.path}" was written by hekla {header.hekla or "?"} in format {header.format}, and '
                f"this one reads format {FORMAT} at most; use that version, or a newer one"
            )
        return header

    def _lines(self) -> Iterator[bytes | None]:
        """The lines that are whole; None where some are lost."""
        # A checkpoint is one line of very many pieces: put together once, at its end.
        begun: list[bytes] = []
        for piece in self._pieces():
            if piece is None:
                begun.clear()
                yield None
                continue
            first, *others = piece.split(b"\n")
            begun.append(first)
            for following in others:
                yield b"".join(begun)
                begun = [following]
        if any(begun):
            self._complain("the last record is only half there and left out: was the process killed?")

    def _pieces(self) -> Iterator[bytes | None]:
        """The text, as much of it as can be had."""
        try:
            with self.path.open("rb") as file:
                data = file.read(PIECE)
                if data[:2] != MAGIC:
                    what = "it is empty" if not data else "it is not compressed with gzip"
                    raise InputError(f'"{self.path}" is no recording: {what}')
                yield from _unpacked(data, iter(lambda: file.read(PIECE), b""))
        except OSError as error:
            raise InputError(f'cannot read "{self.path}": {error.strerror}') from error

    def _complain(self, text: str) -> None:
        self.complaints.append(f"{self.path}: {text}")


def _record(line: bytes) -> Line | None:
    """None where the line is no record."""
    try:
        return read_line(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _unpacked(data: bytes, more: Iterator[bytes]) -> Iterator[bytes | None]:
    """One gzip stream after another; None stands for what is lost."""
    stream = zlib.decompressobj(GZIP)
    while data or (data := next(more, b"")):
        if stream.eof:
            stream = zlib.decompressobj(GZIP)
        try:
            yield stream.decompress(data, STEP)
            data = stream.unconsumed_tail or stream.unused_data
        except zlib.error:
            yield None
            stream, data = zlib.decompressobj(GZIP), _from_next_stream(data, more)
    if not stream.eof:
        yield stream.flush()


def _from_next_stream(data: bytes, more: Iterator[bytes]) -> bytes:
    """What is left, from where another stream begins; nothing where none does."""
    data = data[1:]
    while (at := data.find(MEMBER)) < 0:
        following = next(more, b"")
        if not following:
            return b""
        data = data[-len(MEMBER) :] + following
    return data[at:]
