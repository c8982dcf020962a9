"""Page: template, style, scripts and data put together into one HTML file that needs nothing else.

Names of jobs and queues are users' words. In the HTML they are escaped, in the data no `<` is left, the
scripts make text nodes of them, and a policy in the page lets no other script run and nothing be fetched.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Template

from msgspec.structs import replace

from hekla.errors import InputError
from hekla.simulation.measures import summarize
from hekla.simulation.measures.words import spoken_part, spoken_seconds
from hekla.simulation.report.causes import causes_table, idle_side_by_side, waits_side_by_side
from hekla.simulation.report.headline import Card, cards, queue_table, side_by_side
from hekla.simulation.report.pictures import Shown, page_data
from hekla.simulation.report.sections import (
    Section,
    asset,
    folded,
    nav_html,
    overlaid_sections,
    run_sections,
    section_html,
)
from hekla.simulation.report.tables import Table, escape, meter_html, queue_groups, shown_units, table_html
from hekla.simulation.run import Run

SCRIPTS = (
    *("data", "words", "dom", "state", "axes", "job", "timecharts", "causes", "waits"),
    *("gantt_view", "gantt_paint", "gantt", "gantt_input", "heatmap", "jobs", "overlaid", "main"),
)
"""They share one scope, and `main` starts the page."""

RUN_COLOURS = 6
"""For runs that lie over each other in a chart; the first is that of the base."""

INTERRUPTED = (
    '<p class="warning">This run was interrupted, or its time was limited: jobs that still waited or ran '
    "count as such, and figures of completed jobs leave them out.</p>"
)


def write_report(
    runs: Run | Sequence[Run],
    path: Path | str,
    *,
    title: str = "",
    verdict: str = "",
    before: Sequence[Section] = (),
    after: Sequence[Section] = (),
) -> None:
    """Writes the page; equal runs give equal bytes."""
    page = report_html(runs, title=title, verdict=verdict, before=before, after=after)
    try:
        Path(path).write_bytes(page.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise InputError(
            f"{path}: the report cannot be written: {error.strerror}; "
            "name a file in a folder that is there and that you may write to"
        ) from error


def report_html(
    runs: Run | Sequence[Run],
    *,
    title: str = "",
    verdict: str = "",
    before: Sequence[Section] = (),
    after: Sequence[Section] = (),
) -> str:
    """The page of one run, or of several.

    `verdict` is text that stands below the title. Sections `before` and `after` stand around what a reader
    sees without a click.
    """
    several = [runs] if isinstance(runs, Run) else list(runs)
    if not several:
        raise InputError("a report needs a run to show, and there is none")
    shown = [Shown(run, summarize(run), label) for run, label in zip(several, labels(several), strict=True)]
    data = page_data(shown, queue_groups(several), shown_units(several))
    sections = [*before, *first_sections(shown), *after, *further_sections(shown)]
    style, script = asset("style.css"), joined_scripts()
    return Template(asset("page.html")).substitute(
        policy=policy(style, script),
        title=escape(title or " / ".join(dict.fromkeys(run.title for run in several)) or "A run"),
        style=style,
        script=script,
        data=json_for_html(data),
        nav=nav_html(sections),
        verdict=f'<p class="said">{escape(verdict)}</p>' if verdict else "",
        facts=facts_html(shown),
        sections="\n".join(section_html(section) for section in sections),
    )


def first_sections(shown: Sequence[Shown]) -> list[Section]:
    """What a reader should see without a click: everything of one run, of several what tells them apart."""
    if len(shown) > 1:
        return [*overlaid_sections(), *lost_time_sections(shown)]
    return [figures_section(shown), *sections_of_runs(shown), queues_section(shown)]


def further_sections(shown: Sequence[Shown]) -> list[Section]:
    """Each of several runs by itself, folded; and what was left out or assumed."""
    notes = Section("notes", "Notes", notes_html(shown))
    if len(shown) == 1:
        return [notes]
    return [*folded([figures_section(shown), *sections_of_runs(shown), queues_section(shown)]), notes]


def sections_of_runs(shown: Sequence[Shown]) -> list[Section]:
    """Charts; those of causes only where it was watched why jobs waited, and some did."""
    has_causes = any(one.summary.lost_time and one.summary.lost_time.waits for one in shown)
    sections = [one for one in run_sections() if has_causes or one.id != "causes"]
    tables = "\n".join(causes_html(one, len(shown) > 1) for one in shown)
    return [replace(one, body=one.body + tables) if one.id == "causes" else one for one in sections]


def lost_time_sections(shown: Sequence[Shown]) -> list[Section]:
    """What jobs of several runs waited for, side by side, where that is known of all of them."""
    lost = [one.summary.lost_time for one in shown]
    known = [one for one in lost if one is not None and one.waits]
    if not known or None in lost:
        return []
    summaries, names = [one.summary for one in shown], [one.label for one in shown]
    tables = (
        table_html(waits_side_by_side(summaries, names)),
        table_html(idle_side_by_side(summaries, names)),
    )
    return [Section("lost-time", "Why time was lost", "\n".join(tables), nav="Why time was lost")]


def figures_section(shown: Sequence[Shown]) -> Section:
    return Section("figures", "Figures", figures_html(shown), nav="Figures")


def queues_section(shown: Sequence[Shown]) -> Section:
    return Section("queues", "Queues", "\n".join(queues_html(one, len(shown) > 1) for one in shown))


def labels(runs: Sequence[Run]) -> list[str]:
    """What tells the runs apart: the configuration, else the title, else the seed, else a number."""
    seeds = [f"{run.conf or 'run'}, seed {run.seed}" for run in runs]
    for names in ([run.conf for run in runs], [run.title for run in runs], seeds):
        if all(names) and len(set(names)) == len(names):
            return names
    return [f"{run.conf or 'run'} ({number})" for number, run in enumerate(runs, start=1)]


@cache
def joined_scripts() -> str:
    parts = "\n".join(asset(f"{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def policy(style: str, script: str) -> str:
    """Only this style and this script; nothing from elsewhere, not even a picture."""
    return (
        f"default-src 'none'; style-src '{fingerprint(style)}'; script-src '{fingerprint(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def fingerprint(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"


def json_for_html(data: object) -> str:
    """JSON that no text in it can break out of: a browser looks for `</script`, and there is no `<`."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def facts_html(shown: Sequence[Shown]) -> str:
    """What was run, in a line; of several runs what all share. A run that was interrupted says so."""
    first, *others = (facts_of(one.run) for one in shown)
    common = {name: value for name, value in first.items() if all(one[name] == value for one in others)}
    interrupted = any(not one.run.is_complete for one in shown)
    return _facts(common) + (INTERRUPTED if interrupted else "")


def key_facts_html(number: int, shown: Shown) -> str:
    """What one of several runs is, beside the line that stands for it."""
    mark = f'<li class="mark">{key_html(number)}{escape(shown.label)}</li>'
    facts = {name: value for name, value in facts_of(shown.run).items() if value != shown.label}
    return _facts(facts, mark)


def facts_of(run: Run) -> dict[str, str]:
    return {
        "configuration": run.conf,
        "seed": str(run.seed),
        "nodes": f"{len(run.nodes.names):,}",
        "jobs": f"{len(run.jobs):,}",
        "span": spoken_seconds(run.end),
        "cycles": f"{run.cycles:,}",
        "": "complete" if run.is_complete else "interrupted",
    }


def _facts(facts: Mapping[str, str], first: str = "") -> str:
    items = "".join(f"<li>{name} <b>{escape(value)}</b></li>" for name, value in facts.items() if value)
    return f'<ul class="facts">{first}{items}</ul>'


def key_html(number: int) -> str:
    """The line that stands for a run in charts where several lie over each other."""
    line = f'<path class="curve k{number % RUN_COLOURS}" d="M1 6H25"/>'
    return f'<svg class="key" width="26" height="12" viewBox="0 0 26 12" aria-hidden="true">{line}</svg>'


def figures_html(shown: Sequence[Shown]) -> str:
    if len(shown) == 1:
        return f'<div class="cards">{"".join(card_html(card) for card in cards(shown[0].summary))}</div>'
    facts = "\n".join(key_facts_html(number, one) for number, one in enumerate(shown))
    table = side_by_side([cards(one.summary) for one in shown], [one.label for one in shown])
    return f"{facts}\n{table_html(table)}"


def card_html(card: Card) -> str:
    lines = "".join(line_html(name, value) for name, value in card.lines)
    meters = "".join(line_html(name, spoken_part(part)) + meter_html(part) for name, part in card.meters)
    return (
        f'<div class="card"><h3>{escape(card.title)}</h3><p class="value">{escape(card.value)}</p>'
        f'<p class="means">{escape(card.means)}</p><dl>{lines}{meters}</dl></div>'
    )


def line_html(name: str, value: str) -> str:
    return f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"


def causes_html(shown: Shown, has_label: bool) -> str:
    """The table of what jobs of each queue waited for, where any did."""
    lost = shown.summary.lost_time
    if lost is None or not lost.waits:
        return ""
    return table_html(causes_table(lost, shown.label if has_label else ""))


def queues_html(shown: Shown, has_label: bool) -> str:
    table = queue_table(shown.summary)
    return table_html(Table(table.headers, table.rows, shown.label if has_label else ""))


def notes_html(shown: Sequence[Shown]) -> str:
    """What was left out or assumed; a note that all runs share is said once."""
    notes = dict.fromkeys(note for one in shown for note in one.run.notes)
    if not notes:
        return "<p>Nothing was left out or assumed.</p>"
    return f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in notes)}</ul>"
