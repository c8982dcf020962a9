"""Notebook: a run where it is the last line of a cell, as HTML without scripts, and the pieces of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from hekla.simulation.measures import jobs_over_time, summarize, use_over_time
from hekla.simulation.measures.text import headlines
from hekla.simulation.report.svg import COLOURS, ChartCurve, areas
from hekla.simulation.report.tables import QueueGroups, escape, queue_groups, shown_units
from hekla.simulation.run import Floats, Run
from hekla.text import counted

BUCKETS = 200
CELL = "padding:2px 12px 2px 0;text-align:left;vertical-align:top;background:none"


def run_html(run: Run) -> str:
    """The figures that are looked at first, what was in use, and what waited."""
    nodes, jobs = counted(len(run.nodes.names), "node"), counted(len(run.jobs), "job")
    heading = f"{run.title or 'run'}: {jobs} on {nodes}, configuration {run.conf or 'default'}"
    figures = list(headlines(run, summarize(run)))
    return boxed(heading, table(figures), use_chart(run), waiting_chart(run), *map(paragraph, run.notes))


def use_chart(run: Run) -> str:
    """The resource that is looked at first, by queue, below what nodes offered."""
    groups, unit = queue_groups([run]), shown_units([run])[0]
    use, column = use_over_time(run, BUCKETS), run.resources.index(unit.resource)
    together = groups.together(run, use.used[:, :, column]) / unit.per
    curves = curves_of(groups, together)
    return areas(f"{unit.unit} in use", use.edges, curves, use.capacity[:, column] / unit.per)


def waiting_chart(run: Run) -> str:
    groups, jobs = queue_groups([run]), jobs_over_time(run, BUCKETS)
    return areas("jobs that wait", jobs.edges, curves_of(groups, groups.together(run, jobs.waiting)))


def curves_of(groups: QueueGroups, values: Floats) -> list[ChartCurve]:
    """One for each group of queues."""
    return [
        ChartCurve(name, np.asarray(row), COLOURS[colour])
        for name, row, colour in zip(groups.names, values, groups.colours, strict=True)
    ]


def boxed(heading: str, *parts: str) -> str:
    below = "".join(f"<div>{part}</div>" for part in parts)
    return f"<div><p><strong>{escape(heading)}</strong></p>{below}</div>"


def paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def preformatted(lines: Iterable[str]) -> str:
    text = "\n".join(map(escape, lines))
    return f'<pre style="white-space:pre;overflow-x:auto;background:none">{text}</pre>'


def table(rows: Iterable[Sequence[str]], headers: Sequence[str] = ()) -> str:
    """Rows of text, the first cell of each naming it."""
    head = "".join(f'<th style="{CELL}">{escape(word)}</th>' for word in headers)
    body = "".join(f"<tr>{_cells(row)}</tr>" for row in rows)
    return f"<table>{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"


def _cells(row: Sequence[str]) -> str:
    name, *values = row
    cells = "".join(f'<td style="{CELL}">{escape(value)}</td>' for value in values)
    return f'<th scope="row" style="{CELL}">{escape(name)}</th>{cells}'
