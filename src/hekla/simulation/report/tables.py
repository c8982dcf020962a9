"""Tables: headers and rows as HTML, every word escaped; and which queues share a row.

There are not more than eight colours that every reader can tell apart. The queues with most jobs get them,
all other queues share a ninth.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from hekla.engine.model.resources import CPU, MEMORY, PODS, is_whole
from hekla.simulation.measures import JobSeries, Summary, UseSeries
from hekla.simulation.measures.words import spoken_number, spoken_part, spoken_seconds, unit_of
from hekla.simulation.report.charts import Bars
from hekla.simulation.run import Floats, Run
from hekla.text import counted, escaped


class Table(msgspec.Struct, frozen=True):
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


def meter_html(part: float) -> str:
    """A bar as long as the part; attributes, because the page's policy knows no styles in elements."""
    filled = f'<rect class="part" width="{100 * min(1.0, part):.1f}%" height="100%"/>'
    whole = '<rect class="whole" width="100%" height="100%"/>'
    return f'<div><svg class="meter" aria-hidden="true">{whole}{filled}</svg></div>'


COLOURS = 8


class QueueGroups(msgspec.Struct, frozen=True):
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


GIB = 1 << 30
MAIN = (CPU, MEMORY)


class Unit(msgspec.Struct, frozen=True):
    """One resource as it is shown."""

    resource: str
    label: str
    """Its name without the vendor's."""
    unit: str
    """What one counts."""
    per: int
    """Canonical units in one of these."""

    def shown(self, amount: float) -> float:
        return round(float(amount) / self.per, 3)


def shown_units(runs: Sequence[Run]) -> list[Unit]:
    """Resources that every run knows and some node has, devices first: clusters are bought for them."""
    known = [name for name in runs[0].resources if all(name in run.resources for run in runs)]
    there = [name for name in known if any(has_any(run, name) for run in runs)] or known
    return [
        Unit(name, name.rsplit("/", 1)[-1], several(name), per(name)) for name in sorted(there, key=_rank)
    ]


def has_any(run: Run, resource: str) -> bool:
    return bool(run.nodes.allocatable[:, run.resources.index(resource)].any())


def several(resource: str) -> str:
    """`cores`, `pods`, `GiB`, `GPU`."""
    unit = unit_of(resource)
    return f"{unit}s" if resource in (CPU, PODS) else unit


def per(resource: str) -> int:
    if resource == PODS:
        return 1
    return GIB if is_whole(resource) else 1000


def _rank(resource: str) -> int:
    if "/" in resource:
        return 0
    return 1 + MAIN.index(resource) if resource in MAIN else 1 + len(MAIN)


MOST_NAMED = 6
"""Queues that a sentence names; more is a table."""


def use_caption(run: Run, use: UseSeries, summary: Summary, units: Sequence[Unit]) -> str:
    """`gpu: 71% in use on average, 98% at most (at 3.2 h).`"""
    utilisation = {resource.name: resource.utilisation for resource in summary.resources}
    sentences = []
    for unit in units:
        at = run.resources.index(unit.resource)
        capacity, used = use.capacity[:, at], use.used[:, :, at].sum(axis=1)
        part = np.divide(used, capacity, out=np.zeros_like(used), where=capacity > 0)
        if len(part) and capacity.any():
            most = f"{spoken_part(float(part.max()))} at most (at {spoken_seconds(use.times[part.argmax()])})"
            sentences.append(
                f"{unit.label}: {spoken_part(utilisation[unit.resource])} in use on average, {most}."
            )
    return " ".join(sentences) or "There was no capacity."


def presence_caption(jobs: JobSeries, counts: Floats, what: str) -> str:
    """`On average 12.5 jobs waited; most, 80, at 3.2 h.`"""
    total = counts.sum(axis=1)
    if not len(total) or not total.any():
        return f"No job {what}."
    most = f"most, {spoken_number(float(total.max()))}, at {spoken_seconds(jobs.times[total.argmax()])}"
    return f"On average {spoken_number(float(total.mean()))} jobs {what}; {most}."


def shares_caption(summary: Summary) -> str:
    """`research held 38% of the cluster on average and was entitled to 40%; ...`"""
    wanted = sorted(summary.fairness, key=lambda queue: -queue.share)[:MOST_NAMED]
    if not wanted:
        return "No queue had jobs."
    said = [
        f"{queue.queue} held {spoken_part(queue.share)} of the cluster on average and was entitled to "
        f"{spoken_part(queue.entitled)}"
        for queue in wanted
    ]
    return "; ".join(said) + "."


def waits_caption(summary: Summary) -> str:
    wait = summary.overall.wait
    if not wait.count:
        return "No job started."
    return f"Wait: p50 {spoken_seconds(wait.p50)}, p90 {spoken_seconds(wait.p90)}; {_never(summary)}."


def _never(summary: Summary) -> str:
    never = summary.overall.never_started
    return f"{never:,} never started" if never else "all of them started"


def gantt_caption(run: Run, drawn: Bars) -> str:
    """How many bars there are, and which are not drawn."""
    of_what = f"{counted(len(run.pod_runs), 'pod run')} on {counted(len(run.nodes.names), 'node')}"
    shown = f"{counted(len(drawn), 'bar')} for {of_what}."
    if not drawn.left_out:
        return shown
    return (
        f"{shown} Thinned out: the shortest, {counted(drawn.left_out, 'bar')}, are left out of this chart, "
        f"{spoken_part(drawn.time_left_out)} of the time that pods ran; figures and other charts count them."
    )


def heat_caption(run: Run, per_row: int) -> str:
    nodes = counted(len(run.nodes.names), "node")
    if per_row > 1:
        return f"{nodes}; every row is the mean of {per_row}."
    return f"{nodes}, a row each."
