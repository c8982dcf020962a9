"""A cluster as a picture for the terminal: its jobs, queues and nodes, and what happened last.

It is as wide and high as the terminal. Where that is small, bars and names become shorter, lists end in how
many more there are, and the oldest events go first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from rich.console import Console, ConsoleDimensions, Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from hekla.engine.framework.session import Session
from hekla.engine.ledger.axis import CPU_COLUMN
from hekla.engine.model.job import COMPLETED, PENDING, Job
from hekla.engine.model.status import Status
from hekla.engine.model.task import NOWHERE, Task
from hekla.text import escaped, shortened_inside

# About halfway between black and white, so that they are read on both.
GREEN, RED, BLUE, TEAL, PURPLE, ORANGE = "#008700", "#d70000", "#5f5fff", "#008787", "#d700d7", "#af5f00"
STYLES = {
    "enqueue": TEAL,
    "allocate": GREEN,
    "backfill": BLUE,
    "preempt": RED,
    "reclaim": PURPLE,
    "shuffle": ORANGE,
}
MARKS = {
    Status.RUNNING: ("●", GREEN),
    Status.BOUND: ("●", GREEN),
    Status.BINDING: ("◐", GREEN),
    Status.ALLOCATED: ("◐", ORANGE),
    Status.PIPELINED: ("◌", ORANGE),
    Status.PENDING: ("○", "dim"),
    Status.RELEASING: ("✕", RED),
    Status.SUCCEEDED: ("✓", "dim"),
    Status.FAILED: ("!", RED),
    Status.UNKNOWN: ("?", RED),
}
"""One mark per pod, by what it does."""
LEGEND = "● running  ◐ binding  ◌ pipelined  ○ pending  ✕ releasing  ✓ done  ! failed"

JOBS, BARS = ("job", "queue", "phase", "ready", "pods"), ("name", "bar", "figure")
"""The columns on the left and on the right."""
LEAST = {"job": 6, "queue": 6, "pods": 8, "name": 6, "bar": 4, "figure": 8}
"""Columns that give way, and how narrow they become at most."""
BAR = 16
"""The length of a bar where there is room, and how many pods have a mark each at most."""
GAP, BETWEEN = 1, 3
LISTS, EVENTS, FEWEST_EVENTS = 6, 5, 3
"""Lines that lists and events have; where there is no room for both, events have fewer, and lists are cut."""
FRAME = 2
AROUND = 3
"""Lines for heading, legend, and the cursor below the picture, which would scroll it otherwise."""
KEPT = 16
"""Events, and lines of them at most."""

Widths = Mapping[str, int]


class BarRow(NamedTuple):
    """A queue or a node: how much of its processors is used, and a figure."""

    name: str
    used: int
    total: int
    figure: str


class Screen:
    """The latest picture, and the last few sentences."""

    def __init__(self, title: str, start: float) -> None:
        self._title = title
        self._start = start
        self._events: deque[tuple[Text, Text]] = deque(maxlen=KEPT)
        # They never become smaller again: columns that move from cycle to cycle cannot be read.
        self._naturals = {"job": 3, "queue": 5, "phase": len(COMPLETED), "ready": 5, "pods": 4}
        self._naturals |= {"name": 5, "bar": BAR, "figure": len("1 cordoned")}

    def tell(self, moment: float, lines: Iterable[tuple[str, str]]) -> None:
        for action, sentence in lines:
            head = Text().append(f"t+{moment - self._start:>5.0f}s  ", style="dim")
            head.append(f"{action:10}", style=STYLES.get(action, ""))
            self._events.append((head, Text(escaped(sentence))))

    def picture(self, session: Session, size: ConsoleDimensions) -> RenderableType:
        heading = Text(f"{escaped(self._title)}   t+{session.now - self._start:.0f}s", style="bold")
        room = size.height - AROUND - FRAME
        lists = self._lists(session, size.width, max(LISTS, room - EVENTS))[: max(2, room - FEWEST_EVENTS)]
        told = self._told(size.width, min(KEPT, max(1, room - len(lists))))
        legend = Text(LEGEND, style="dim", no_wrap=True, overflow="ellipsis")
        return Group(heading, *lists, told, legend)

    def _lists(self, session: Session, width: int, height: int) -> list[Text]:
        """Jobs on the left, queues and nodes on the right."""
        jobs = sorted(session.jobs.values(), key=lambda job: (job.phase == COMPLETED, job.created, job.uid))
        queues, nodes = list(queue_rows(session)), list(node_rows(session))
        self._widen(JOBS, map(job_words, jobs))
        self._widen(BARS, ((row.name, "", row.figure) for row in (*queues, *nodes)))
        gaps = GAP * (len(JOBS) + len(BARS) - 2) + BETWEEN
        widths = fitted(self._naturals, width - gaps)
        left = [header(JOBS, JOBS, widths), *limited([job_line(job, widths) for job in jobs], height - 1)]
        right = [
            header(("queue", "cpu", "cores"), BARS, widths),
            *limited([bar_line(row, widths) for row in queues], max(2, height // 2 - 1)),
        ]
        right.append(header(("node", "cpu", "pods"), BARS, widths))
        right += limited([bar_line(row, widths) for row in nodes], max(2, height - len(right)))
        return beside(left, right, sum(widths[column] for column in JOBS) + GAP * (len(JOBS) - 1) + BETWEEN)

    def _widen(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        for row in rows:
            for column, word in zip(columns, row, strict=True):
                self._naturals[column] = max(self._naturals[column], len(word))

    def _told(self, width: int, height: int) -> Panel:
        """The newest events, as many of their lines as there is room for."""
        inside = width - len("│ ") - len(" │")
        lines = [line for head, sentence in self._events for line in indented(head, sentence, inside)]
        told = Group(*lines[-height:]) if lines else Text("nothing yet", style="dim")
        return Panel(told, title="what happened", title_align="left", height=height + FRAME)


def indented(head: Text, sentence: Text, width: int) -> list[Text]:
    """The sentence behind its head, in as many lines as it takes."""
    lines = sentence.wrap(Console(width=width), width - len(head))
    heads = [head, *[Text(" " * len(head))] * (len(lines) - 1)]
    return [one.copy().append_text(line) for one, line in zip(heads, lines, strict=True)]


def fitted(naturals: Widths, room: int) -> dict[str, int]:
    """The widths of columns: where there is too little room for all, the one that can gives way most."""
    widths = dict(naturals)
    while sum(widths.values()) > room:
        yielding = [column for column, least in LEAST.items() if widths[column] > least]
        if not yielding:
            break
        widths[max(yielding, key=lambda column: widths[column] - LEAST[column])] -= 1
    return widths


def beside(left: Sequence[Text], right: Sequence[Text], at: int) -> list[Text]:
    """Lines side by side, those on the right from the same column on."""
    lines = []
    for one, other in zip_longest(left, right, fillvalue=Text()):
        line = one.copy()
        line.no_wrap, line.overflow = True, "ellipsis"
        line.pad_right(at - len(line))
        lines.append(line.append_text(other))
    return lines


def limited(lines: Sequence[Text], height: int) -> list[Text]:
    """The first of them; the last one says how many more there are."""
    if len(lines) <= height:
        return list(lines)
    return [*lines[: height - 1], Text(f"and {len(lines) - height + 1} more", style="dim")]


def header(words: Sequence[str], columns: Sequence[str], widths: Widths) -> Text:
    cells = [Text(word, style="bold") for word in words]
    return joined(cells, columns, widths)


def joined(cells: Sequence[Text], columns: Sequence[str], widths: Widths) -> Text:
    """The cells of a line, each as wide as its column."""
    for cell, column in zip(cells, columns, strict=True):
        cell.truncate(widths[column], overflow="ellipsis", pad=True)
    return Text(" " * GAP).join(cells)


def job_words(job: Job) -> tuple[str, str, str, str, str]:
    phase = job.phase or PENDING
    marks = " " * min(len(job.roster), BAR)
    return escaped(job.title), escaped(job.queue), escaped(phase), f"{job.roster.ready}/{job.minimum}", marks


def job_line(job: Job, widths: Widths) -> Text:
    title, queue, phase, ready, _ = job_words(job)
    names = [Text(shortened_inside(title, widths["job"])), Text(shortened_inside(queue, widths["queue"]))]
    return joined([*names, Text(phase), Text(ready), pod_marks(job, widths["pods"])], JOBS, widths)


def pod_marks(job: Job, width: int) -> Text:
    """One mark per pod; where there are too many for that, how many of each."""
    counts = [(mark, style, len(job.roster.having(status))) for status, (mark, style) in MARKS.items()]
    is_room = len(job.roster) <= min(BAR, width)
    text = Text()
    for mark, style, count in counts:
        text.append(mark * count if is_room else f"{mark}{count}" if count else "", style=style)
    return text


def queue_rows(session: Session) -> Iterator[BarRow]:
    """Of the whole cluster, what each queue with jobs uses."""
    used = dict.fromkeys((job.queue for job in session.jobs.values()), 0)
    for task in session.tasks:
        if is_placed(task) and task.job in session.jobs:
            used[session.jobs[task.job].queue] += int(task.vector[CPU_COLUMN])
    total = int(session.total[CPU_COLUMN])
    for name, amount in used.items():
        yield BarRow(escaped(name), amount, total, f"{amount / 1000:g} of {total / 1000:g}")


def node_rows(session: Session) -> Iterator[BarRow]:
    nodes = session.nodes
    for row, name in enumerate(nodes.names):
        used, total = int(nodes.used[row, CPU_COLUMN]), int(nodes.allocatable[row, CPU_COLUMN])
        pods = sum(map(is_placed, nodes.tasks_on[row].values()))
        mark = " cordoned" if nodes.nodes[row].manifest.spec.unschedulable else ""
        yield BarRow(escaped(name), used, total, f"{pods}{mark}")


def is_placed(task: Task) -> bool:
    """Takes up room now; a promise does not."""
    return task.node != NOWHERE and task.status is not Status.PIPELINED


def bar_line(row: BarRow, widths: Widths) -> Text:
    name = Text(shortened_inside(row.name, widths["name"]))
    return joined([name, bar(row.used, row.total, widths["bar"]), Text(row.figure)], BARS, widths)


def bar(used: int, total: int, length: int) -> Text:
    filled = min(round(length * used / total), length) if total else 0
    text = Text().append("█" * filled, style=GREEN if used <= total else RED)
    return text.append("░" * (length - filled), style="dim")
