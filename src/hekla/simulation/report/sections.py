"""Sections: what the page has, in the order in which it is read.

A section holds HTML and empty hosts, which the scripts find by their ids and draw into. To add a chart: its
HTML in `assets/sections`, a section here, and a function in `assets/main.js` that draws into its host.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import msgspec
from msgspec.structs import replace

from hekla.simulation.report.tables import escape


class Section(msgspec.Struct, frozen=True):
    """A part of the page under a title of its own."""

    id: str
    title: str
    body: str
    """HTML; the words of users in it are escaped."""
    nav: str = ""
    """What the navigation calls it; empty: it is not there."""
    controls: str = ""
    """The id of a row of buttons beside the title."""
    is_folded: bool = False


@cache
def asset(name: str) -> str:
    return (files("hekla.simulation.report") / "assets" / name).read_text("utf-8")


def drawn(name: str, title: str, nav: str, controls: str = "") -> Section:
    """A section whose HTML is an asset: hosts for charts, and what to know about them."""
    return Section(name, title, asset(f"sections/{name}.html"), nav, controls)


def run_sections() -> list[Section]:
    """What there is to see of a run; of several, each chart once for every run, side by side."""
    return [
        drawn("use", "Use over time", "Use", "use-resource"),
        drawn("presence", "Jobs over time", "Jobs over time"),
        drawn("causes", "Why jobs waited", "Why jobs waited", "causes-resource"),
        drawn("shares", "Shares of the queues", "Shares"),
        drawn("waits", "Waits by queue and size", "Waits"),
        drawn("gantt", "Jobs on nodes", "Gantt", "gantt-colouring"),
        drawn("heat", "Use of the nodes", "Nodes", "heat-resource"),
        drawn("jobs", "Jobs", "Jobs", "jobs-run"),
    ]


def overlaid_sections() -> list[Section]:
    """The charts in which several runs lie over each other, one colour each.

    Three are enough to see why one configuration is better. Waits are what users feel, and the whole
    distribution shows who pays for a shorter mean. Utilisation is what the owner of the cluster pays for:
    shorter waits at the same utilisation come from another order of jobs, at a higher one from tighter
    packing. Waiting work shows when a configuration falls behind, and whether it catches up.
    """
    return [
        drawn("overlaid-waits", "Waits", "Waits"),
        drawn("overlaid-use", "Utilisation over time", "Utilisation", "overlaid-use-resource"),
        drawn("overlaid-backlog", "Waiting work over time", "Waiting work", "overlaid-backlog-resource"),
    ]


def folded(sections: Sequence[Section]) -> list[Section]:
    """The same, closed until a reader opens them, and not in the navigation."""
    return [replace(section, nav="", is_folded=True) for section in sections]


def section_html(section: Section) -> str:
    title, name = escape(section.title), f"{section.id}-title"
    controls = f'<div class="controls" id="{section.controls}"></div>' if section.controls else ""
    if section.is_folded:
        heading = f'<summary><h2 id="{name}">{title}</h2></summary>'
        return f'<details class="section" id="{section.id}">{heading}\n{controls}\n{section.body}</details>'
    head = f'<div class="head"><h2 id="{name}">{title}</h2>{controls}</div>'
    return f'<section id="{section.id}" aria-labelledby="{name}">\n{head}\n{section.body}</section>'


def nav_html(sections: Sequence[Section]) -> str:
    return "".join(f'<a href="#{one.id}">{escape(one.nav)}</a>' for one in sections if one.nav)
