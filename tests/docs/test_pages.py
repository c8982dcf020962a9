"""Links lead somewhere, and what stands in two places is the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *ROOT.glob("*.md"),
    *(page for folder in ("docs", "examples") for page in (ROOT / folder).rglob("*.md")),
]
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", sorted(PAGES), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    missing = [link for link in LINK.findall(page.read_text("utf-8")) if not (page.parent / link).exists()]
    assert missing == []


def test_the_packaged_plugin_is_that_of_the_page() -> None:
    page = (ROOT / "docs" / "how-to" / "write-a-plugin.md").read_text("utf-8")
    packaged = ROOT / "examples" / "09-packaged-plugin" / "src" / "hekla_neighbours" / "neighbours.py"
    assert f"```python neighbours.py\n{packaged.read_text('utf-8')}```\n" in page


def test_every_decision_is_listed() -> None:
    listed = (ROOT / "docs" / "adr" / "README.md").read_text("utf-8")
    decisions = [page.name for page in (ROOT / "docs" / "adr").glob("0*.md")]
    assert [name for name in decisions if name not in listed] == []
