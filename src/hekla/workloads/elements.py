"""The elements of a JSON list, one at a time: a list of any length is never held."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hekla.errors import InputError
from hekla.workloads.source import Piece, Source

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
