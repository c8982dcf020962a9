"""What the documents about Volcano and kube-batch say, statement by statement, and which test holds each.

    python tests/compat/statements.py           which test holds which statement; exits 1 where one is missing

`documents/` holds the statements in our own words, one file per document. A test says what it shows:

    @holds("backfill-01", "backfill-02")
    def test_...

    STORIES = [shows("backfill-03", Story("a sentence that is true", ...)), ...]

A statement with `differs: true` is one where hekla does something else on purpose: the row of
`docs/compat.md` that starts with its id says what and why.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

import msgspec
import pytest
import yaml
from _pytest.mark import ParameterSet

from hekla.testing import Story

HERE = Path(__file__).resolve().parent
DOCUMENTS = ("backfill", "actions", "pipeline", "kubebatch", "allocate")
COMPAT = HERE.parents[1] / "docs" / "compat.md"

holds = pytest.mark.holds


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a document says; `line` is where in it."""

    id: str
    says: str
    line: int = 0
    differs: bool = False


class Document(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    title: str
    statements: tuple[Statement, ...]


def shows(ids: str, story: Story) -> ParameterSet:
    """A story of a list, with the statements it shows, written with blanks between."""
    return pytest.param(story, id=story.title, marks=holds(*ids.split()))


def document(name: str) -> Document:
    return msgspec.convert(yaml.safe_load((HERE / "documents" / f"{name}.yaml").read_text()), Document)


def tests_of(name: str) -> list[ModuleType]:
    """`test_NAME_document`, and where that is long the chapters `test_NAME_document_...` beside it."""
    return [importlib.import_module(file.stem) for file in sorted(HERE.glob(f"test_{name}_document*.py"))]


def held_by(modules: Iterable[ModuleType]) -> dict[str, list[str]]:
    """Statements to the tests of the modules that hold them."""
    found: dict[str, list[str]] = {}
    for module in modules:
        for test, marks in _marked(module):
            for mark in marks:
                for statement in mark.args if mark.name == "holds" else ():
                    found.setdefault(statement, []).append(f"{module.__name__}::{test}")
    return found


def _marked(module: ModuleType) -> Iterator[tuple[str, Iterable[pytest.Mark]]]:
    """Every test of a module with its marks; of a parametrised one every case with the marks of its own."""
    for name, test in vars(module).items():
        marks: list[pytest.Mark] = getattr(test, "pytestmark", []) if name.startswith("test_") else []
        yield name, marks
        for cases in (mark.args[1] for mark in marks if mark.name == "parametrize"):
            for case in cases:
                if isinstance(case, ParameterSet):
                    own = [mark if isinstance(mark, pytest.Mark) else mark.mark for mark in case.marks]
                    yield f"{name}[{case.id}]", own


def rows_in_compat() -> set[str]:
    """The statements that have a row of their own in the page about compatibility."""
    return set(re.findall(r"^\| ([a-z]+-\d+) \|", COMPAT.read_text(), re.MULTILINE))


def problems() -> Iterator[str]:
    """What is missing, and what is too much."""
    rows = rows_in_compat()
    for name in DOCUMENTS:
        statements, held = document(name).statements, held_by(tests_of(name))
        known = {statement.id for statement in statements}
        yield from (f"{s.id}: says nothing" for s in statements if not s.says)
        yield from (f"{s.id}: no test holds it ({s.says})" for s in statements if s.id not in held)
        yield from (
            f"{s.id}: differs, but has no row in compat" for s in statements if s.differs and s.id not in rows
        )
        yield from (
            f"{s.id}: has a row in compat, but does not differ"
            for s in statements
            if s.id in rows and not s.differs
        )
        yield from (
            f"{tests[0]}: there is no statement {unknown}"
            for unknown, tests in held.items()
            if unknown not in known
        )


def main() -> int:
    sys.path[:0] = [str(HERE), str(HERE.parent)]
    for name in DOCUMENTS:
        whole, held = document(name), held_by(tests_of(name))
        print(f"\n{whole.title}")
        for statement in whole.statements:
            mark = "  (differs, see docs/compat.md)" if statement.differs else ""
            print(f"  {statement.id}  {statement.says}{mark}")
            for test in held.get(statement.id, ["NO TEST"]):
                print(f"      {test}")
    found = list(problems())
    print("\n" + ("\n".join(found) or "every statement is held by a test"))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
