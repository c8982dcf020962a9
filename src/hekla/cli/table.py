"""Plain tables: upper-case headers, three spaces between columns, cut to the terminal's width."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence

from hekla.safe_text import escaped

GAP = "   "
SHORTEST = 8


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


def counted(count: int, thing: str) -> str:
    """`1 cycle`, `2 cycles`."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def terminal_width() -> int | None:
    """The terminal's width; None where the output goes to a file or a pipe, which is never cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
