"""Reading a recording, line by line; what the end of a killed process or a bad disk has left is used.

A record that is only half there, and everything after a place that is damaged, is told and passed over.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from hekla.errors import InputError
from hekla.timetravel.records import FORMAT, Checkpoint, Configuration, Cycle, Header, Line, read_line

GZIP = 31
MAGIC = b"\x1f\x8b"
PIECE = 1 << 18


class Recording:
    """The file at a path; `complaints` tell what of it could not be read, once it has been."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.complaints: list[str] = []
        self.header = self._header()

    def __iter__(self) -> Iterator[Configuration | Checkpoint | Cycle]:
        """Everything but the header, in order."""
        self.complaints.clear()
        last = 0
        for line in self._lines():
            try:
                record = read_line(line)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                self._complain(f"what follows cycle {last} is damaged and left out: {error}")
                return
            if isinstance(record, Cycle):
                last = record.number
            if not isinstance(record, Header):
                yield record

    def _header(self) -> Header:
        try:
            first = next(self._lines(), b"")
            header: Line = read_line(first)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise InputError(f'"{self.path}" is no recording: it does not begin with a header') from None
        if not isinstance(header, Header):
            raise InputError(f'"{self.path}" is no recording: it does not begin with a header')
        if header.format > FORMAT:
            raise InputError(
                f'"{self.path}" was written by hekla {header.hekla or "?"} in format {header.format}, and '
                f"this one reads format {FORMAT} at most; use that version, or a newer one"
            )
        return header

    def _lines(self) -> Iterator[bytes]:
        rest = b""
        for piece in self._pieces():
            *lines, rest = (rest + piece).split(b"\n")
            yield from lines
        if rest:
            self._complain("the last record is only half there and left out: was the process killed?")

    def _pieces(self) -> Iterator[bytes]:
        """The text, as much of it as can be had."""
        try:
            with self.path.open("rb") as file:
                data = file.read(PIECE)
                if data[:2] != MAGIC:
                    what = "it is empty" if not data else "it is not compressed with gzip"
                    raise InputError(f'"{self.path}" is no recording: {what}')
                yield from self._unpacked(data, iter(lambda: file.read(PIECE), b""))
        except OSError as error:
            raise InputError(f'cannot read "{self.path}": {error.strerror}') from error

    def _unpacked(self, data: bytes, more: Iterator[bytes]) -> Iterator[bytes]:
        stream = zlib.decompressobj(GZIP)
        try:
            while data:
                if stream.eof:
                    stream = zlib.decompressobj(GZIP)
                yield stream.decompress(data)
                data = stream.unused_data or next(more, b"")
        except zlib.error as error:
            self._complain(f"the file is damaged; what follows is left out: {error}")

    def _complain(self, text: str) -> None:
        self.complaints.append(f"{self.path}: {text}")
