"""Text fit to be printed: escaped, counted, in tables.

Names, labels, annotations and messages may hold what moves a cursor, rings a bell, hides or turns around what
stands beside it. Whatever cannot be seen is written out instead: `\x1b`, `\u202e`. Tables have upper-case
headers and three spaces between columns, and are cut to the terminal's width.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Sequence

_UNSEEN = re.compile(r"[^\n\x20-\x7e]")


GAP = "   "
SHORTEST = 8
UNCUT = sys.maxsize
"""The width of a table that no terminal cuts."""


def escaped(text: str) -> str:
    """The text on one line, with everything in it to be seen."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _written(char) for char in text)


def escaped_lines(text: str) -> str:
    """The same, line by line."""
    return "\n".join(map(escaped, text.split("\n")))


def escaped_json(text: str) -> str:
    """The JSON text with everything in it to be seen; it means what it meant."""
    return _UNSEEN.sub(lambda found: found[0] if found[0].isprintable() else _in_json(found[0]), text)


def _written(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def _in_json(char: str) -> str:
    """As pairs of surrogates where one unit of 16 bits is not enough."""
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def table(headers: Sequence[str], rows: Iterable[Sequence[object]], width: int | None = None) -> str:
    """Rows under their headers; the last column gives way where the terminal is narrow."""
    cells = [
        [escaped(header.upper()) for header in headers],
        *([escaped(str(cell)) for cell in row] for row in rows),
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headers))]
    limit = width if width is not None else terminal_width()
    if limit is not None:
        widths[-1] = max(SHORTEST, min(widths[-1], limit - sum(widths[:-1]) - len(GAP) * (len(widths) - 1)))
    return "\n".join(
        GAP.join(shortened(cell, at).ljust(at) for cell, at in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )


def counted(count: int, thing: str, things: str = "") -> str:
    """`1 cycle`, `2 cycles`, `1,200 cycles`; `things` where no -s makes the plural."""
    return f"{count:,} {thing if count == 1 else things or f'{thing}s'}"


def aligned(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with upper-case headers; the first column is text, the rest are figures, aligned right."""
    cells = [[header.upper() for header in headers], *rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headers))]
    return [
        "  ".join((row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))))
        for row in cells
    ]


def some_of(names: Sequence[str], most: int) -> str:
    """`a, b and 3 more`."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def shortened_inside(text: str, width: int) -> str:
    """Names that are too long without their middle: they differ at both ends, as `gpu-a…-17` does."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def terminal_width() -> int | None:
    """The terminal's width; None where the output goes to a file or a pipe, which is never cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
