"""Text: a comparison for people at a terminal, the verdict first.

What matters fits 80 columns; all figures, which take 100, come where details are asked for. A line is made of
parts: which of them are good or bad news is for a terminal to colour, and the text says it anyway.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from textwrap import wrap

from hekla.insight.compare.basis import cautions, interval_words
from hekla.insight.compare.changes import change_of, signed
from hekla.insight.compare.compare import Against, Comparison
from hekla.insight.compare.differences import FigureDifference, Judgement, of_queues_and_sizes
from hekla.insight.compare.figures import ALL, FigureUnit
from hekla.insight.compare.verdict import ComparisonVerdict, VerdictKind, headlines, verdict_of
from hekla.simulation.measures.text import WIDTH
from hekla.text import aligned, counted, shortened, shortened_inside

NARROW = 80
LABEL = 14
LONGEST_NAME = 12
LONGEST_GROUP = 20
LONGEST_LABEL = 22
"""Of a figure; the causes of waits have long names."""
MOST_GROUPS = 6
"""Queues and sizes of the short table."""
MOST_QUEUES = 15
BY_GROUP = ("wait.mean", "completion.mean", "evictions")
GAP = "  "
_TIED = "\u00a0%"


@dataclass(frozen=True)
class JudgedText:
    """A part of a line, and which news it is."""

    text: str
    judgement: Judgement | None = None
    """What it says of the candidate; none: nothing."""


Line = tuple[JudgedText, ...]
Rows = Sequence[tuple[str, FigureDifference]]
"""What each is called in a table."""

MARKS = {
    VerdictKind.BETTER: ("✓", Judgement.BETTER),
    VerdictKind.WORSE: ("✗", Judgement.WORSE),
    VerdictKind.MIXED: ("±", None),
    VerdictKind.SAME: ("=", Judgement.SAME),
    VerdictKind.UNSURE: ("≈", Judgement.UNSURE),
}


def comparison_lines(comparison: Comparison, *, details: bool = False) -> list[str]:
    """The verdict on every candidate, the figures that matter, and what it all rests on."""
    return ["".join(part.text for part in line) for line in judged_lines(comparison, details=details)]


def judged_lines(comparison: Comparison, *, details: bool = False) -> Iterator[Line]:
    for against in comparison.against:
        verdict = verdict_of(against)
        yield from _headline(verdict)
        yield ()
        yield from detailed(against, verdict, comparison.confidence) if details else short(against, verdict)
        yield ()
    for text in (interval_words(comparison), *cautions(comparison)):
        yield from plain_lines(wrapped(text, WIDTH if details else NARROW))


def _headline(verdict: ComparisonVerdict) -> Iterator[Line]:
    mark, judgement = MARKS[verdict.outcome]
    first, *more = wrapped(verdict.headline, NARROW - 2)
    yield (JudgedText(f"{mark} {first}", judgement),)
    yield from ((JudgedText(f"  {line}", judgement),) for line in more)


def plain_lines(lines: Sequence[str]) -> Iterator[Line]:
    return ((JudgedText(line),) for line in lines)


def short(against: Against, verdict: ComparisonVerdict) -> Iterator[Line]:
    """Figures of all jobs, waits of the queues and sizes that differ most, and jobs that are in no pair."""
    overall = [(each.measure.label, each) for each in headlines(against.differences)]
    waits = differing_most(of_queues_and_sizes(against.differences, "wait.mean"))
    groups = [(group_label(each), each) for each in waits[:MOST_GROUPS]]
    yield from change_tables(against, [("all jobs", overall), ("wait, mean", groups)])
    beyond = len(waits) - MOST_GROUPS
    if beyond > 0:
        yield from plain_lines([f"and {beyond} more queues and sizes"])
    for label, said in (("waited for: ", verdict.causes), ("", verdict.apart)):
        if said:
            yield ()
            yield from plain_lines(wrapped(label + "; ".join(said), NARROW))


def differing_most(differences: Sequence[FigureDifference]) -> list[FigureDifference]:
    """Those that are sure first, and of these the largest first."""
    sure = (Judgement.BETTER, Judgement.WORSE)

    def rank(each: FigureDifference) -> tuple[bool, float]:
        return each.judgement not in sure, -abs(each.part) if each.base else -math.inf

    return sorted(differences, key=rank)


def change_tables(against: Against, tables: Sequence[tuple[str, Rows]]) -> Iterator[Line]:
    """A row per figure: both sides, the change, its interval, what it means. All columns are aligned."""
    names = [shortened(name, LONGEST_NAME) for name in (against.base, against.name)]
    heads = [tuple(map(str.upper, (what, *names, "change", "interval", ""))) for what, _ in tables]
    cells = [[_change_cells(*row) for row in rows] for _, rows in tables]
    widths = [max(map(len, column)) for column in zip(*heads, *chain(*cells), strict=True)]
    # Names of queues give way; figures do not.
    widths[0] -= max(0, sum(widths) + len(GAP) * (len(widths) - 1) - NARROW)
    for place, (_, rows) in enumerate(tables):
        if not rows:
            continue
        if place:
            yield ()
        yield _laid_out(heads[place], widths)
        for row, (_, difference) in zip(cells[place], rows, strict=True):
            yield _laid_out(row, widths, difference.judgement)


def _laid_out(cells: Sequence[str], widths: Sequence[int], judgement: Judgement | None = None) -> Line:
    label, base, candidate, *told = cells
    sides = (base.rjust(widths[1]), candidate.rjust(widths[2]), "")
    ends = GAP.join(text.ljust(width) for text, width in zip(told, widths[3:], strict=True)).rstrip()
    return (
        JudgedText(GAP.join((shortened(label, widths[0]).ljust(widths[0]), *sides))),
        JudgedText(ends, judgement),
    )


def _change_cells(label: str, difference: FigureDifference) -> tuple[str, ...]:
    change, measure = change_of(difference), difference.measure
    sides = (measure.spoken(difference.base), measure.spoken(difference.candidate))
    # That there is no interval is said where it would stand.
    is_known = bool(change.interval) or difference.judgement is not Judgement.UNKNOWN
    ends = (change.interval, change.meaning) if is_known else (change.meaning, "")
    return (label, *sides, change.text, *ends)


def detailed(against: Against, verdict: ComparisonVerdict, confidence: float) -> Iterator[Line]:
    """The verdict in sentences, and every figure."""
    yield from plain_lines(list(verdict_lines(verdict)))
    yield ()
    yield from plain_lines(figure_table(against, confidence))
    for key in BY_GROUP:
        table = group_table(against, key, confidence)
        if table:
            yield ()
            yield from plain_lines(table)


def verdict_lines(verdict: ComparisonVerdict) -> Iterator[str]:
    """All but the headline."""
    _, *labelled = verdict.lines
    for label, text in labelled:
        first, *more = wrapped(text, WIDTH - LABEL)
        yield f"  {label:{LABEL - 2}}{first}"
        yield from (" " * LABEL + line for line in more)


def figure_table(against: Against, confidence: float) -> list[str]:
    """All jobs and the whole cluster."""
    shown = [each for each in against.differences if each.group == ALL and not each.is_nothing]
    rows = [(shortened_inside(each.measure.label, LONGEST_LABEL), *cells(each)) for each in shown]
    return _table("all jobs", against, confidence, rows)


def group_table(against: Against, key: str, confidence: float) -> list[str]:
    """One measure, for each queue and each size; the queues with the most jobs where there are many."""
    found = [each for each in of_queues_and_sizes(against.differences, key) if not each.is_nothing]
    queues = sorted((each for each in found if each.queue), key=lambda each: -each.jobs)
    beyond = len(queues) - MOST_QUEUES
    shown = [*queues[:MOST_QUEUES], *(each for each in found if each.size)]
    if not shown:
        return []
    rows = [(shortened(group_label(each), LONGEST_GROUP), *cells(each)) for each in shown]
    more = [f"and {counted(beyond, 'queue')} with fewer jobs"] if beyond > 0 else []
    return _table(shown[0].measure.label, against, confidence, rows) + more


def group_label(difference: FigureDifference) -> str:
    if difference.size:
        return "1 pod" if difference.size == "1" else f"{difference.size} pods"
    return f"queue {difference.queue}"


def _table(what: str, against: Against, confidence: float, rows: Sequence[Sequence[str]]) -> list[str]:
    names = (shortened(name, LONGEST_NAME) for name in (against.base, against.name))
    heads = (what, *names, "difference", f"{confidence * 100:g}% interval", "change", "")
    return [line.rstrip() for line in aligned(heads, rows)]


def cells(difference: FigureDifference) -> Sequence[str]:
    """Base, candidate, difference, interval, part, judgement."""
    estimate, measure = difference.estimate, difference.measure
    low, high = (signed(difference, end) for end in (estimate.low, estimate.high))
    part = difference.part
    is_percent = measure.unit not in (FigureUnit.PART, FigureUnit.INDEX) and not math.isnan(part)
    return (
        measure.spoken(difference.base),
        measure.spoken(difference.candidate),
        signed(difference, estimate.difference),
        "-" if low == "-" else f"{low} to {high}",
        _spoken_part(part) if is_percent else "",
        {Judgement.UNKNOWN: ""}.get(difference.judgement, difference.judgement.value),
    )


def _spoken_part(part: float) -> str:
    text = f"{part:+.0%}"
    return "0%" if text in ("+0%", "-0%") else text


def wrapped(text: str, width: int) -> list[str]:
    """Lines of the text; a number and its per cent stay together."""
    return [
        line.replace(_TIED, " %") for line in wrap(text.replace(" %", _TIED), width, break_on_hyphens=False)
    ]
