"""Mistakes: what is wrong with a configuration, said where it stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

Severity = Literal["error", "warning"]

LONGEST_QUOTE = 60
"""Longer values are cut in messages and paths: a message is for reading, whatever the input."""
MOST_LISTED = 12


@dataclass(frozen=True)
class Mistake:
    """One thing wrong: an error is refused by Volcano too, a warning is what Volcano swallows."""

    where: str
    """The path of the value, such as `tiers[1].plugins[2].name`; empty for the whole text."""
    line: int | None
    message: str
    severity: Severity = "error"
    source: str = ""

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}" if self.source and self.line else self.source
        return ": ".join(part for part in (place, self.where, self.message) if part)


def warning(where: str, message: str) -> Mistake:
    """A mistake that Volcano would swallow; its line is filled in from its path."""
    return Mistake(where, None, message, "warning")


def error(where: str, message: str) -> Mistake:
    """A mistake that Volcano refuses; its line is filled in from its path."""
    return Mistake(where, None, message, "error")


def under(where: str, key: str) -> str:
    """The path of the value under `key` of the map at `where`."""
    return f"{where}.{shortened(key)}" if where else shortened(key)


def line_of(where: str, lines: Mapping[str, int]) -> int | None:
    """The line of the value at a path, or of the nearest value around it."""
    while where and where not in lines:
        where = where[: max(where.rfind("."), where.rfind("["), 0)]
    return lines.get(where)


def shortened(text: str) -> str:
    """The text on one line, cut where it becomes too long to read."""
    line = text if text.isprintable() else repr(text[:LONGEST_QUOTE])[1:-1]
    return line if len(line) <= LONGEST_QUOTE else line[:LONGEST_QUOTE] + "…"


def quoted(text: str) -> str:
    """The text in double quotes, as messages show it."""
    return f'"{shortened(text)}"'


def spoken(value: object) -> str:
    """A value as a message names it: `text "5"`, `number 5`, `a list`."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"number {value}"
        case str():
            return f"text {quoted(value)}"
        case list() | tuple():
            return "a list"
        case _:
            return "a map"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: the nearest known one, or all if they are few."""
    names = sorted(known)
    near = get_close_matches(word, names, n=1) if len(word) <= LONGEST_QUOTE else []
    if near:
        return f"; did you mean {quoted(near[0])}?"
    return f"; known are {', '.join(names)}" if 0 < len(names) <= MOST_LISTED else ""
