"""The tables of docs/compat.md, row by row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "compat.md"
CODE = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
ADR = re.compile(r"\bADR\s(\d{4})\b")
DOCUMENTS = "What documents say"


class Row(NamedTuple):
    """The cells of one row; the last one says what holds here."""

    cells: tuple[str, ...]

    @property
    def subject(self) -> str:
        return self.cells[0]

    @property
    def names(self) -> list[str]:
        """What the first cell names in backticks."""
        return CODE.findall(self.subject)

    @property
    def remark(self) -> str:
        return LINK.sub(r"\1", self.cells[-1])

    @property
    def code(self) -> list[str]:
        """What the remark says in backticks."""
        return CODE.findall(self.remark)

    @property
    def decisions(self) -> list[str]:
        """The numbers of the decisions that the remark points to."""
        return ADR.findall(self.remark)


class Table(NamedTuple):
    section: str
    heading: str
    rows: list[Row]

    @property
    def name(self) -> str:
        return f"{self.section}: {self.heading}" if self.heading else self.section


@cache
def tables() -> list[Table]:
    """All tables of the page, from top to bottom."""
    found: list[Table] = []
    section, is_inside = "", False
    for line in PAGE.read_text("utf-8").splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        if not line.startswith("|"):
            is_inside = False
        elif not is_inside:
            found.append(Table(section, cells_of(line)[0], []))
            is_inside = True
        elif not line.startswith("|---"):
            found[-1].rows.append(Row(cells_of(line)))
    return found


def cells_of(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))


def rows_of(name: str) -> list[Row]:
    """The rows of the tables of this name."""
    return [row for table in tables() if table.name == name for row in table.rows]


def section_of(title: str) -> str:
    """The text of one section."""
    return PAGE.read_text("utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def decision(number: str) -> str:
    """The text of a decision; empty where there is none of this number."""
    return "".join(page.read_text("utf-8") for page in (ROOT / "docs" / "adr").glob(f"{number}-*.md"))


@cache
def source() -> str:
    """The whole program as one text."""
    return "\n".join(file.read_text("utf-8") for file in sorted((ROOT / "src" / "hekla").rglob("*.py")))


def literals(pattern: str) -> Iterator[str]:
    """The texts of the program between quotation marks that look so."""
    yield from re.findall(rf'"({pattern})"', source())
