"""Page: template, style, scripts and data put together into one HTML file that needs nothing else.

Names of jobs and queues are users' words. In the HTML they are escaped, in the data no `<` is left, the
scripts make text nodes of them, and a policy in the page lets no other script run and nothing be fetched.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template

from hekla.errors import InputError
from hekla.simulation.measures import summarize
from hekla.simulation.measures.words import spoken_part, spoken_seconds
from hekla.simulation.report.headline import Card, cards, queue_table, side_by_side
from hekla.simulation.report.pictures import Shown, page_data
from hekla.simulation.report.tables import Table, escape, queue_groups, shown_units, table_html
from hekla.simulation.run import Run

SCRIPTS = (
    *("data", "words", "dom", "state", "axes", "job", "timecharts", "waits"),
    *("gantt_view", "gantt_paint", "gantt", "gantt_input", "heatmap", "jobs", "main"),
)
"""They share one scope, and `main` starts the page."""

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
    differences: Table | None = None,
) -> None:
    """Writes the page; equal runs give equal bytes."""
    page = report_html(runs, title=title, verdict=verdict, differences=differences)
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
    differences: Table | None = None,
) -> str:
    """The page of one run, or of several side by side.

    `verdict` stands below the title, `differences` after the figures; both are text and are escaped.
    """
    several = [runs] if isinstance(runs, Run) else list(runs)
    if not several:
        raise InputError("a report needs a run to show, and there is none")
    shown = [Shown(run, summarize(run), label) for run, label in zip(several, labels(several), strict=True)]
    data = page_data(shown, queue_groups(several), shown_units(several))
    style, script = asset("style.css"), joined_scripts()
    return Template(asset("page.html")).substitute(
        policy=policy(style, script),
        title=escape(title or " / ".join(dict.fromkeys(run.title for run in several)) or "A run"),
        style=style,
        script=script,
        data=json_for_html(data),
        verdict=f'<p class="verdict">{escape(verdict)}</p>' if verdict else "",
        facts="\n".join(facts_html(one, len(shown) > 1) for one in shown),
        figures=figures_html(shown),
        differences=table_html(differences) if differences else "",
        queues="\n".join(queues_html(one, len(shown) > 1) for one in shown),
        notes=notes_html(shown),
    )


def labels(runs: Sequence[Run]) -> list[str]:
    """What tells the runs apart: the configuration, else the title, else a number."""
    for names in ([run.conf for run in runs], [run.title for run in runs]):
        if all(names) and len(set(names)) == len(names):
            return names
    count: Counter[str] = Counter()
    numbered = []
    for run in runs:
        count[run.conf] += 1
        numbered.append(f"{run.conf or 'run'} ({count[run.conf]})")
    return numbered


@cache
def asset(name: str) -> str:
    return (files("hekla.simulation.report") / "assets" / name).read_text("utf-8")


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


def facts_html(shown: Shown, has_label: bool) -> str:
    """What was run, in a line; a run that did not come to its end says so."""
    run = shown.run
    named = f'<li class="mark">{escape(shown.label)}</li>' if has_label else ""
    said = shown.label if has_label else ""
    facts = (
        ("run", run.title if has_label else ""),
        ("configuration", run.conf),
        ("seed", str(run.seed)),
        ("nodes", f"{len(run.nodes.names):,}"),
        ("jobs", f"{len(run.jobs):,}"),
        ("span", spoken_seconds(run.end)),
        ("cycles", f"{run.cycles:,}"),
        ("", "complete" if run.is_complete else "interrupted"),
    )
    items = "".join(
        f"<li>{name} <b>{escape(value)}</b></li>" for name, value in facts if value and value != said
    )
    return f'<ul class="facts">{named}{items}</ul>{"" if run.is_complete else INTERRUPTED}'


def figures_html(shown: Sequence[Shown]) -> str:
    if len(shown) == 1:
        return f'<div class="cards">{"".join(card_html(card) for card in cards(shown[0].summary))}</div>'
    return table_html(side_by_side([cards(one.summary) for one in shown], [one.label for one in shown]))


def card_html(card: Card) -> str:
    lines = "".join(line_html(name, value) for name, value in card.lines)
    meters = "".join(line_html(name, spoken_part(part)) + meter_html(part) for name, part in card.meters)
    return (
        f'<div class="card"><h3>{escape(card.title)}</h3><p class="value">{escape(card.value)}</p>'
        f'<p class="means">{escape(card.means)}</p><dl>{lines}{meters}</dl></div>'
    )


def line_html(name: str, value: str) -> str:
    return f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"


def meter_html(part: float) -> str:
    """A bar as long as the part; attributes, because the page's policy knows no styles in elements."""
    filled = f'<rect class="part" width="{100 * min(1.0, part):.1f}%" height="100%"/>'
    whole = '<rect class="whole" width="100%" height="100%"/>'
    return f'<div><svg class="meter" aria-hidden="true">{whole}{filled}</svg></div>'


def queues_html(shown: Shown, has_label: bool) -> str:
    table = queue_table(shown.summary)
    return table_html(Table(table.headers, table.rows, shown.label if has_label else ""))


def notes_html(shown: Sequence[Shown]) -> str:
    """What was left out or assumed; a note that all runs share is said once."""
    notes = dict.fromkeys(note for one in shown for note in one.run.notes)
    if not notes:
        return "<p>Nothing was left out or assumed.</p>"
    return f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in notes)}</ul>"
