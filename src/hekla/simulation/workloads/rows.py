"""Rows of tables: cells by column, numbers out of cells, names out of whatever stands there."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Sequence

from hekla.objects.complaint import quoted
from hekla.simulation.workloads.source import Piece, Source
from hekla.simulation.workloads.trace import Broken

_NOT_IN_NAMES = re.compile(r"[^a-z0-9.]+")


def rows_of(source: Source, *, skip: int = 0) -> Iterator[Piece]:
    """The lines that say something, without the first few."""
    for piece in source.lines():
        if piece.line > skip and piece.content.strip():
            yield piece


def cells_of(content: bytes) -> list[str]:
    """The cells of a line of comma-separated values, without blanks around them."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Broken("not a text in UTF-8", quoted(content.decode("latin-1"))) from error
    found = next(csv.reader([text])) if '"' in text else text.split(",")
    return [cell.strip() for cell in found]


def expect_cells(cells: Sequence[str], columns: Sequence[str]) -> None:
    if len(cells) != len(columns):
        expected = f"expected {len(columns)} ({', '.join(columns)}), got {len(cells)}"
        raise Broken("wrong number of columns", expected)


def number(cell: str | bytes, column: str) -> float:
    """The finite number in a cell."""
    try:
        found = float(cell)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        text = cell.decode("latin-1") if isinstance(cell, bytes) else cell
        raise Broken("not a number", f"{column}: {quoted(text)}")
    return found


def amount(cell: str, column: str) -> float:
    """A number that is not negative; an empty cell is 0."""
    found = number(cell, column) if cell else 0.0
    if found < 0:
        raise Broken("a negative number", f"{column}: {quoted(cell)}")
    return found


def moment(cell: str, column: str) -> float | None:
    """A time that is not negative; none where the cell is empty."""
    if not cell:
        return None
    found = number(cell, column)
    if found < 0:
        raise Broken("a negative time", f"{column}: {quoted(cell)}")
    return found


def as_name(text: str, otherwise: str = "unnamed") -> str:
    """The text as a name that Kubernetes would take."""
    parts = (part.strip("-.") for part in _NOT_IN_NAMES.sub("-", text.lower()).split("."))
    return ".".join(part for part in parts if part)[:200].strip("-.") or otherwise
