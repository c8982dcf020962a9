"""Complaints: what in the input cannot be used, said so that the rest can go on."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

import msgspec

from hekla.text import escaped, some_of

LONGEST_QUOTE = 80
"""Longer values are cut in messages: a message is for reading, whatever the input."""
MOST_NAMED = 20


class Complaint(msgspec.Struct, frozen=True):
    """Something in the input that cannot be used as it is; the rest goes on."""

    subject: str
    message: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.message}"


def printable(text: str) -> str:
    """The text on one line, cut where it becomes too long to read."""
    cut = text[:LONGEST_QUOTE]
    return f"{escaped(cut)}…" if len(text) > LONGEST_QUOTE else escaped(cut)


def quoted(value: object) -> str:
    """The value in double quotes, as messages show it."""
    if isinstance(value, int) and _is_endless(value):
        return "a number of very many digits"
    return f'"{printable(value if isinstance(value, str) else repr(value))}"'


def spoken(value: object) -> str:
    """A value as a message names it: `text "5"`, `number 5`, `a list`."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case int() if _is_endless(value):
            return "a number of very many digits"
        case int() | float():
            return f"number {value}"
        case str():
            return f"text {quoted(value)}"
        case list() | tuple():
            return "a list"
        case dict():
            return "a map"
    return type(value).__name__


def _is_endless(number: int) -> bool:
    """Python itself refuses to write such numbers down."""
    return not -(10**LONGEST_QUOTE) < number < 10**LONGEST_QUOTE


def known_ones(word: str, known: Iterable[str], things: str) -> str:
    """The end of a message about an unknown word: the nearest known one, and which there are.

    `; did you mean "research"? known queues: batch, research`
    """
    names = sorted(known)
    return f"{did_you_mean(word, names) or ';'} known {things}: {some_of(names, MOST_NAMED) or 'none'}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: the nearest known one, if one is near."""
    near = nearest(word, known)
    return f"; did you mean {quoted(near)}?" if near else ""


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that may be meant; empty where none is near."""
    near = get_close_matches(word, sorted(known), n=1) if len(word) <= LONGEST_QUOTE else []
    return near[0] if near else ""
