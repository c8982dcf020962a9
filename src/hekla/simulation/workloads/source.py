"""Source: a file that can be read again from any place, whether it is plain, packed or standard input."""

from __future__ import annotations

import gzip
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from shutil import copyfileobj
from typing import IO, BinaryIO
from weakref import finalize

import msgspec

from hekla.errors import InputError
from hekla.objects.read import LARGEST_FILE

STDIN = "-"
LONGEST_LINE = 1024 * 1024
HEAD = 64 * 1024

_GZIP = b"\x1f\x8b"
_MARK = b"\xef\xbb\xbf"
"""How some editors begin a text in UTF-8."""
_PACKED = ".gz"
_RECORDING = b'{"record":"header"'
_GZIP_WINDOW = 31


class Piece(msgspec.Struct, frozen=True):
    """A part of a file that says one thing: a line, or an element of a list."""

    line: int
    offset: int
    content: bytes


class Source:
    """A file by name; what is packed or comes from standard input lies in a temporary file meanwhile."""

    def __init__(self, path: str | Path) -> None:
        self.name = "stdin" if str(path) == STDIN else str(path)
        self._path = Path(path)
        try:
            if str(path) == STDIN:
                self._path = self._copied(sys.stdin.buffer)
            elif not self._path.is_file():
                reason = "a folder, no file" if self._path.is_dir() else "no such file"
                raise InputError(f"{self.name}: {reason}")
            self.is_recording = _begins_a_recording(self.head(HEAD))
            """Whether it is a recording of cycles, which is read as it is: its end may be missing."""
            if self.head(2) == _GZIP and not self.is_recording:
                self._path = self._unpacked()
        except OSError as error:
            raise InputError(f"{self.name}: {(error.strerror or 'cannot be read').lower()}") from error

    @property
    def suffix(self) -> str:
        """How the name ends, in lower case, `.gz` aside."""
        name = self.name.lower()
        return Path(name.removesuffix(_PACKED)).suffix

    @property
    def stem(self) -> str:
        name = Path(self.name).name
        return Path(name[: -len(_PACKED)] if name.lower().endswith(_PACKED) else name).stem

    @property
    def path(self) -> Path:
        """Where the content lies."""
        return self._path

    def open(self) -> BinaryIO:
        return self._path.open("rb")

    def head(self, size: int = HEAD) -> bytes:
        with self.open() as file:
            return file.read(size)

    def content(self) -> bytes:
        """All of it, for what cannot be read piece by piece."""
        size = self._path.stat().st_size
        if size > LARGEST_FILE:
            message = f"{size} bytes are too much at once; write it as JSON lines, which are read one by one"
            raise InputError(f"{self.name}: {message}")
        return self._path.read_bytes()

    def lines(self) -> Iterator[Piece]:
        """The lines, without their ends; one that is too long to be meant is an error."""
        with self.open() as file:
            number, offset = 0, len(_MARK) if file.read(len(_MARK)) == _MARK else 0
            file.seek(offset)
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    message = f"a line of more than {LONGEST_LINE} bytes; is this the right format?"
                    raise InputError(f"{self.name}:{number}: {message}")
                yield Piece(number, offset, line.rstrip(b"\r\n"))
                offset += len(line)

    def wrong(self, line: int, message: str) -> InputError:
        return InputError(f"{self.name}:{line}: {message}" if line else f"{self.name}: {message}")

    def _unpacked(self) -> Path:
        try:
            with self.open() as packed, gzip.open(packed) as plain:
                return self._copied(plain)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            message = f"the packed file is cut off or damaged ({error}); fetch it again"
            raise InputError(f"{self.name}: {message}") from error

    def _copied(self, file: IO[bytes] | gzip.GzipFile) -> Path:
        """A copy that goes when this source goes."""
        number, name = tempfile.mkstemp(prefix="hekla-")
        copy = Path(name)
        finalize(self, copy.unlink, missing_ok=True)
        with open(number, "wb") as out:
            copyfileobj(file, out)
        return copy


def _begins_a_recording(head: bytes) -> bool:
    if head[:2] != _GZIP:
        return False
    try:
        return zlib.decompressobj(_GZIP_WINDOW).decompress(head, len(_RECORDING)) == _RECORDING
    except zlib.error:
        return False
