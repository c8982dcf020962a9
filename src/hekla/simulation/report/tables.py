"""Tables: headers and rows as HTML, every word escaped; and which queues share a row.

There are not more than eight colours that everybody can tell apart. The queues with most jobs get them, all
others share a ninth.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekla.simulation.run import Floats, Run
from hekla.text import escaped


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


COLOURS = 8


@dataclass(frozen=True)
class QueueGroups:
    """Groups in the order in which they are drawn; the last one may stand for all other queues."""

    names: tuple[str, ...]
    number_of_queue: dict[str, int]
    colours: tuple[int, ...]
    """Numbers of colours in the style sheet."""

    def of(self, run: Run) -> npt.NDArray[np.intp]:
        """(Q,) The group of each queue of the run."""
        return np.array([self.number_of_queue[name] for name in run.queues], np.intp)

    def together(self, run: Run, values: Floats) -> Floats:
        """(T, Q) of the run's queues -> (G, T) of groups."""
        summed = np.zeros((len(self.names), len(values)))
        np.add.at(summed, self.of(run), values.T)
        return summed


def queue_groups(runs: Sequence[Run]) -> QueueGroups:
    jobs: Counter[str] = Counter()
    for run in runs:
        # Jobs that were refused may name a queue that is not there.
        counts = np.bincount(run.jobs.queue[run.jobs.queue >= 0], minlength=len(run.queues)).tolist()
        for name, count in zip(run.queues, counts, strict=True):
            jobs[name] += count
    names = list(jobs)
    if len(names) <= COLOURS:
        return QueueGroups(
            tuple(names), {name: at for at, name in enumerate(names)}, tuple(range(len(names)))
        )
    busiest = {name for name, _ in jobs.most_common(COLOURS)}
    shown = [name for name in names if name in busiest]
    others = f"{len(names) - COLOURS} other queues"
    numbers = {name: shown.index(name) if name in busiest else COLOURS for name in names}
    return QueueGroups((*shown, others), numbers, tuple(range(COLOURS + 1)))
