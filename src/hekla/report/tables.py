"""Tables: headers and rows as HTML, every word escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Table:
    """What stands in the cells is text already; the first column names its row."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""


def table_html(table: Table) -> str:
    """Numbers are set to the right: all columns but the first."""
    head = "".join(f'<th scope="col">{escape(header)}</th>' for header in table.headers)
    body = "\n".join(_row(row) for row in table.rows)
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    return (
        f'<div class="wide" tabindex="0"><table class="figures">{caption}'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _row(cells: Sequence[str]) -> str:
    name, *values = cells
    return f'<tr><th scope="row">{escape(name)}</th>{"".join(f"<td>{escape(value)}</td>" for value in values)}</tr>'
