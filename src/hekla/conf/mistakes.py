"""Mistakes: what is wrong with a configuration, said where it stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from hekla.objects import complaint
from hekla.objects.complaint import printable

Severity = Literal["error", "warning"]

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
    return f"{where}.{printable(key)}" if where else printable(key)


def line_of(where: str, lines: Mapping[str, int]) -> int | None:
    """The line of the value at a path, or of the nearest value around it."""
    while where and where not in lines:
        where = where[: max(where.rfind("."), where.rfind("["), 0)]
    return lines.get(where)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: the nearest known one, or all if they are few."""
    names = sorted(known)
    near = complaint.did_you_mean(word, names)
    return near or (f"; known are {', '.join(names)}" if 0 < len(names) <= MOST_LISTED else "")
