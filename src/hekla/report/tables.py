"""Tables: headers and rows as HTML, every word escaped."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from hekla.safe_text import escaped


@dataclass(frozen=True)
class Table:
    """What stands in the cells is text already; the first column names its row."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    leading: frozenset[int] = frozenset()
    """Rows that lead those below them, up to the next one; none: all rows are alike."""


def escape(text: str) -> str:
    """The text as HTML that shows all of it and is none itself."""
    return html.escape(escaped(text))


def table_html(table: Table) -> str:
    """Numbers are set to the right: all columns but the first."""
    head = "".join(f'<th scope="col">{escape(header)}</th>' for header in table.headers)
    body = "\n".join(_row(row, _kind(table, at)) for at, row in enumerate(table.rows))
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    return (
        f'<div class="wide" tabindex="0"><table class="figures">{caption}'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _kind(table: Table, row: int) -> str:
    if not table.leading:
        return ""
    return ' class="leads"' if row in table.leading else ' class="detail"'


def _row(cells: Sequence[str], kind: str) -> str:
    name, *values = cells
    filled = "".join(f"<td>{escape(value)}</td>" for value in values)
    return f'<tr{kind}><th scope="row">{escape(name)}</th>{filled}</tr>'
