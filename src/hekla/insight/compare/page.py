"""Page: a comparison as an HTML report: the verdict, then charts, then queues; everything else is folded."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from hekla.insight.compare.basis import cautions, interval_words
from hekla.insight.compare.changes import change_of
from hekla.insight.compare.compare import Against, Comparison
from hekla.insight.compare.differences import FigureDifference, Judgement, of_queues_and_sizes
from hekla.insight.compare.figures import ALL, FigureUnit
from hekla.insight.compare.text import BY_GROUP, MARKS, MOST_QUEUES, Rows, group_label
from hekla.insight.compare.verdict import ComparisonVerdict, groups_told, headlines, verdict_of
from hekla.simulation.report import Section, escape, key_html, write_report
from hekla.text import counted


def write_comparison_report(comparison: Comparison, path: Path) -> None:
    """One HTML file: what differs, and the runs of the first seed in charts."""
    base, *others = comparison.names
    write_report(
        comparison.runs,
        path,
        title=f"{comparison.title}: {', '.join(others)} against {base}",
        before=[verdict_section(comparison)],
        after=[groups_section(comparison), differences_section(comparison)],
    )


def verdict_section(comparison: Comparison) -> Section:
    """For every candidate the verdict in a sentence, and its figures with arrows; then what they rest on."""
    cards = "\n".join(verdict_html(comparison, against) for against in comparison.against)
    basis = "".join(
        f'<p class="explains">{escape(_sentence(text))}</p>'
        for text in (interval_words(comparison), *cautions(comparison), *_charted(comparison))
    )
    return Section(
        "verdict", "Verdict", f'<div class="verdicts">{cards}</div>\n{LEGEND}\n{basis}', nav="Verdict"
    )


LEGEND = (
    '<p class="explains">↓ lower, ↑ higher than the base; ≈ that may be chance; = no difference worth a '
    "word. The line is the interval around the difference, the shaded side of it the better one.</p>"
)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _charted(comparison: Comparison) -> Iterator[str]:
    """Charts are of one seed, and figures of all."""
    if len(comparison.seeds) > 1 and comparison.runs:
        yield f"figures are means over seeds; charts show the runs of seed {comparison.runs[0].seed}"


def verdict_html(comparison: Comparison, against: Against) -> str:
    verdict = verdict_of(against)
    mark, _ = MARKS[verdict.outcome]
    table = changes_html(
        comparison, against, [(each.measure.label, each) for each in headlines(against.differences)]
    )
    return (
        f'<div class="verdict {verdict.outcome.value}"><p class="headline">'
        f'<span class="verdict-mark" aria-hidden="true">{mark}</span> '
        f"<span>{escape(verdict.headline)}</span></p>\n"
        f'<div class="beside">{table}{_groups_html(against)}</div>{_apart_html(verdict)}</div>'
    )


def _groups_html(against: Against) -> str:
    """Who gains and who loses, of queues and sizes."""
    lists = ""
    for judgement, title in ((Judgement.BETTER, "Better off"), (Judgement.WORSE, "Worse off")):
        items = "".join(f"<li>{escape(text)}</li>" for text in groups_told(against, judgement))
        if items:
            lists += f'<div class="{judgement.value}"><h3>{title}</h3><ul>{items}</ul></div>'
    return f'<div class="groups">{lists}</div>' if lists else ""


def _apart_html(verdict: ComparisonVerdict) -> str:
    return f'<p class="warning">{escape(_sentence("; ".join(verdict.apart)))}</p>' if verdict.apart else ""


def groups_section(comparison: Comparison) -> Section:
    """Waits by queue and size; other measures of them folded."""
    body = "\n".join(groups_html(comparison, against) for against in comparison.against)
    return Section("groups", "By queue and size", f'<div class="verdicts">{body}</div>\n', nav="Queues")


def groups_html(comparison: Comparison, against: Against) -> str:
    wait, *others = (_group_rows(against, key) for key in BY_GROUP)
    if not wait:
        return '<p class="nothing">All jobs are of one queue and one size.</p>'
    tables = [
        changes_html(comparison, against, rows, rows[0][1].measure.label) for rows in (wait, *others) if rows
    ]
    more = "\n".join(tables[1:])
    folded = f"<details><summary>Completion times and evictions</summary>\n{more}</details>" if more else ""
    return f"<div>{tables[0]}{_left_out(against)}{folded}</div>"


def _group_rows(against: Against, key: str) -> Rows:
    """The queues with the most jobs, and all sizes."""
    found = [each for each in of_queues_and_sizes(against.differences, key) if not each.is_nothing]
    queues = sorted((each for each in found if each.queue), key=lambda each: -each.jobs)
    shown = [*queues[:MOST_QUEUES], *(each for each in found if each.size)]
    return [(group_label(each), each) for each in shown]


def _left_out(against: Against) -> str:
    queues = sum(bool(each.queue) for each in of_queues_and_sizes(against.differences, BY_GROUP[0]))
    beyond = queues - MOST_QUEUES
    return f'<p class="explains">And {counted(beyond, "queue")} with fewer jobs.</p>' if beyond > 0 else ""


def differences_section(comparison: Comparison) -> Section:
    """Every figure of all jobs; of single queues and sizes only what is sure."""
    tables = "\n".join(
        changes_html(comparison, against, [(_whose_row(each), each) for each in _worth_a_row(against)])
        for against in comparison.against
    )
    title = f"All differences from {comparison.names[0]}; of queues and sizes those that are sure"
    return Section("differences", title, f'<div class="verdicts">{tables}</div>\n', is_folded=True)


def _worth_a_row(against: Against) -> Iterator[FigureDifference]:
    for each in against.differences:
        is_sure = each.judgement in (Judgement.BETTER, Judgement.WORSE)
        is_told = not each.is_nothing if each.group == ALL else is_sure
        if is_told and not (each.queue and each.size):
            yield each


def _whose_row(difference: FigureDifference) -> str:
    """`wait, mean` of all jobs, `wait, mean: queue research` of some."""
    label = difference.measure.label
    return label if difference.group == ALL else f"{label}: {group_label(difference)}"


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
    meaning = "" if difference.judgement is Judgement.UNKNOWN else f" <b>{change.meaning}</b>"
    pill = f'<span class="pill">{escape(change.text)}{meaning}</span>'
    is_known = not math.isnan(difference.estimate.low)
    interval = f"{strip_html(difference)}<span>{escape(change.interval)}</span>" if is_known else "none"
    return (
        f'<tr class="{difference.judgement.value}"><th scope="row">{escape(label)}</th>'
        f"<td>{measure.spoken(difference.base)}</td><td>{measure.spoken(difference.candidate)}</td>"
        f'<td class="change">{pill}</td><td class="interval">{interval}</td></tr>'
    )


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
