"""Page: a comparison as an HTML report: the verdict, then charts, then queues; everything else is folded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hekla.insight.compare.basis import interruption, interval_words, reservations
from hekla.insight.compare.change_tables import changes_html, matrix_html
from hekla.insight.compare.compare import Against, Comparison
from hekla.insight.compare.differences import FigureDifference, Judgement, of_queues_and_sizes
from hekla.insight.compare.figures import ALL
from hekla.insight.compare.text import BY_GROUP, MARKS, MOST_QUEUES, Rows, group_label
from hekla.insight.compare.verdict import ComparisonVerdict, groups_told, headlines, verdict_of
from hekla.simulation.report import Section, escape, write_report
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
    """For every candidate the verdict in a sentence; the figures with arrows; what they rest on."""
    stopped = "".join(
        f'<p class="warning">{escape(_sentence(text))}</p>' for text in interruption(comparison)
    )
    verdicts = "\n".join(verdict_html(comparison, against) for against in comparison.against)
    matrix = matrix_html(comparison) if len(comparison.against) > 1 else ""
    body = f'{stopped}<div class="verdicts">{verdicts}</div>\n{matrix}\n{basis_html(comparison)}'
    return Section("verdict", "Verdict", body, nav="Verdict")


def verdict_html(comparison: Comparison, against: Against) -> str:
    """The only candidate brings its figures; several have them side by side, below."""
    verdict = verdict_of(against)
    mark, _ = MARKS[verdict.outcome]
    rows = [(each.measure.label, each) for each in headlines(against.differences)]
    figures = changes_html(comparison, against, rows) if len(comparison.against) == 1 else ""
    return (
        f'<div class="verdict {verdict.outcome.value}"><p class="headline">'
        f'<span class="verdict-mark" aria-hidden="true">{mark}</span> '
        f"<span>{escape(verdict.headline)}</span></p>\n"
        f'<div class="beside">{figures}{_groups_html(against)}</div>'
        f"{_causes_html(verdict)}{_apart_html(verdict)}</div>"
    )


def basis_html(comparison: Comparison) -> str:
    """What the figures rest on, and, folded, how to read them."""
    basis = " ".join(_sentence(text) for text in (interval_words(comparison), *_charted(comparison)))
    doubts = "".join(f"<p>{escape(_sentence(text))}</p>" for text in reservations(comparison))
    return (
        f'<p class="explains">{escape(basis)}</p>\n'
        f'<details class="explains"><summary>How to read it</summary>\n{LEGEND}{doubts}</details>\n'
    )


LEGEND = (
    "<p>↓ lower, ↑ higher than the base; ≈ that may be chance; = no difference worth a word. The line is the "
    "interval around the difference, zero is the dotted mark, and the shaded side of it the better one.</p>"
)


def _charted(comparison: Comparison) -> Iterator[str]:
    """Charts are of one seed, and figures of all."""
    if len(comparison.seeds) > 1 and comparison.runs:
        yield f"figures are means over seeds; charts show the runs of seed {comparison.runs[0].seed}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _groups_html(against: Against) -> str:
    """Who gains and who loses, of queues and sizes."""
    lists = ""
    for judgement, title in ((Judgement.BETTER, "Better off"), (Judgement.WORSE, "Worse off")):
        items = "".join(f"<li>{escape(text)}</li>" for text in groups_told(against, judgement))
        if items:
            lists += f'<div class="{judgement.value}"><h3>{title}</h3><ul>{items}</ul></div>'
    return f'<div class="groups">{lists}</div>' if lists else ""


def _causes_html(verdict: ComparisonVerdict) -> str:
    """What jobs waited longer for, or less long."""
    said = escape(_sentence(f"waited for: {'; '.join(verdict.causes)}"))
    return f"<p>{said}</p>" if verdict.causes else ""


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
