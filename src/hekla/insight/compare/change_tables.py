"""Tables of changes in HTML: each change with its arrow, its word, and its interval as a picture."""

from __future__ import annotations

from hekla.insight.compare.changes import change_of
from hekla.insight.compare.compare import Against, Comparison
from hekla.insight.compare.differences import FigureDifference, Judgement
from hekla.insight.compare.figures import FigureUnit
from hekla.insight.compare.text import Rows
from hekla.insight.compare.verdict import headlines
from hekla.simulation.report import escape, key_html


def matrix_html(comparison: Comparison) -> str:
    """A row per figure, and a column per candidate."""
    found = {
        against.name: {each.measure.label: each for each in headlines(against.differences)}
        for against in comparison.against
    }
    labels = dict.fromkeys(label for its in found.values() for label in its)
    heads = "".join(f'<th scope="col">{_key(comparison, name)}{escape(name)}</th>' for name in found)
    rows = "\n".join(
        f'<tr><th scope="row">{escape(label)}</th>'
        f"{''.join(_matrix_cell(name, its.get(label)) for name, its in found.items())}</tr>"
        for label in labels
    )
    base = f"{_key(comparison, comparison.names[0])}{escape(comparison.names[0])}"
    return (
        f'<table class="matrix"><caption>Against {base}</caption>'
        f'<thead><tr><th scope="col">Figure</th>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody></table>'
    )


def _matrix_cell(name: str, difference: FigureDifference | None) -> str:
    if difference is None:
        return "<td>-</td>"
    spoken = difference.measure.spoken
    sides = f"{spoken(difference.base)} → {spoken(difference.candidate)}"
    return (
        f'<td class="{difference.judgement.value}" data-of="{escape(name)}">{pill_html(difference)} '
        f'<span class="sides">{sides}</span>'
        f'<span class="reach">{escape(change_of(difference).interval)}</span></td>'
    )


def changes_html(comparison: Comparison, against: Against, rows: Rows, what: str = "figure") -> str:
    """A row per figure: both sides, the change with its arrow, and the interval as a picture and as text."""
    names = (against.base, against.name)
    sides = "".join(f'<th scope="col">{_key(comparison, name)}{escape(name)}</th>' for name in names)
    level = f"{comparison.confidence * 100:g} % interval"
    body = "\n".join(change_html(label, difference) for label, difference in rows)
    return (
        f'<table class="changes"><thead><tr><th scope="col">{escape(_capital(what))}</th>{sides}'
        f'<th scope="col">Change</th><th scope="col">{level}</th></tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table>"
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _key(comparison: Comparison, name: str) -> str:
    """The line that stands for the configuration in the charts, if its run is there."""
    drawn = [run.conf for run in comparison.runs]
    return key_html(drawn.index(name)) if name in drawn else ""


def change_html(label: str, difference: FigureDifference) -> str:
    change, measure = change_of(difference), difference.measure
    unknown = "none" if difference.judgement is Judgement.UNKNOWN else ""
    interval = (
        f"{strip_html(difference)}<span>{escape(change.interval)}</span>" if change.interval else unknown
    )
    return (
        f'<tr class="{difference.judgement.value}"><th scope="row">{escape(label)}</th>'
        f"<td>{measure.spoken(difference.base)}</td><td>{measure.spoken(difference.candidate)}</td>"
        f'<td class="change">{pill_html(difference)}</td><td class="interval">{interval}</td></tr>'
    )


def pill_html(difference: FigureDifference) -> str:
    """The change and what it means; whether it is good is said in colour and in a word."""
    change = change_of(difference)
    meaning = "" if difference.judgement is Judgement.UNKNOWN else f" <b>{change.meaning}</b>"
    return f'<span class="pill">{escape(change.text)}{meaning}</span>'


STRIP = (120, 18)
"""Width and height of the picture of an interval, in pixels."""


def strip_html(difference: FigureDifference) -> str:
    """The interval as a line around the difference, zero in the middle."""
    width, height = STRIP
    estimate, half, middle = difference.estimate, width / 2, height / 2
    least = -abs(difference.base) if _has_floor(difference) else -float("inf")
    ends = [max(amount, least) for amount in (estimate.low, estimate.difference, estimate.high)]
    reach = max(map(abs, ends)) or 1.0
    low, at, high = (half + (half - 5) * amount / reach for amount in ends)
    good = 0 if difference.measure.is_less_better else half
    return (
        f'<svg class="strip" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'aria-hidden="true">'
        f'<rect class="good" x="{good:g}" width="{half:g}" height="{height}"/>'
        f'<path class="zero" d="M{half:g} 0V{height}"/>'
        f'<path class="reach" d="M{low:.1f} {middle:g}H{high:.1f}"/>'
        f'<circle class="at" cx="{at:.1f}" cy="{middle:g}" r="4"/></svg>'
    )


def _has_floor(difference: FigureDifference) -> bool:
    """Whether nothing can be more than all of it less."""
    return difference.measure.unit not in (FigureUnit.PART, FigureUnit.INDEX)
