"""Links lead somewhere, and the compatibility page knows what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hekla.actions import BUILTIN_ACTIONS
from hekla.conf import SWITCHES, describe_arguments
from hekla.framework.action import Action
from hekla.framework.plugin import Plugin
from hekla.framework.points import POINTS
from hekla.plugins import BUILTIN_PLUGINS

ROOT = Path(__file__).parents[2]
PAGES = [
    *ROOT.glob("*.md"),
    *(page for folder in ("docs", "examples") for page in (ROOT / folder).rglob("*.md")),
]
COMPAT = ROOT / "docs" / "compat.md"
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", sorted(PAGES), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    missing = [link for link in LINK.findall(page.read_text("utf-8")) if not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize(("title", "there"), [("Actions", BUILTIN_ACTIONS), ("Plugins", BUILTIN_PLUGINS)])
def test_compat_lists_what_is_there(title: str, there: dict[str, type]) -> None:
    section = COMPAT.read_text("utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| ([a-z-]+) \| (yes|not yet) \|", section, flags=re.MULTILINE))
    assert {name for name, answer in rows.items() if answer == "yes"} == set(there)


@pytest.mark.parametrize("part", [*BUILTIN_ACTIONS.values(), *BUILTIN_PLUGINS.values()], ids=lambda p: p.name)
def test_compat_lists_every_argument(part: type[Action] | type[Plugin]) -> None:
    rows = [line for line in COMPAT.read_text("utf-8").splitlines() if line.startswith("| `")]
    told = {key for row in rows if part.name in row for key in re.findall(r"`([^`]+)`", row)}
    assert {argument.key for argument in describe_arguments(part.Arguments)} - told == set()


def test_compat_lists_every_switch_and_point() -> None:
    text = COMPAT.read_text("utf-8")
    assert [switch.key for switch in SWITCHES if f"`{switch.key}`" not in text] == []
    section = text.partition("\n## Extension points\n")[2].partition("\n## ")[0]
    told = {
        name
        for row in re.findall(r"^\| [^|]+ \| ([^|]+) \|", section, re.MULTILINE)
        for name in row.split(", ")
    }
    assert {point.name for point in POINTS} - told == set()


def test_the_packaged_plugin_is_that_of_the_page() -> None:
    page = (ROOT / "docs" / "how-to" / "write-a-plugin.md").read_text("utf-8")
    packaged = ROOT / "examples" / "09-packaged-plugin" / "src" / "hekla_neighbours" / "neighbours.py"
    assert f"```python neighbours.py\n{packaged.read_text('utf-8')}```\n" in page


def test_every_decision_is_listed() -> None:
    listed = (ROOT / "docs" / "adr" / "README.md").read_text("utf-8")
    decisions = [page.name for page in (ROOT / "docs" / "adr").glob("0*.md")]
    assert [name for name in decisions if name not in listed] == []
