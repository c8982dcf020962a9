"""The table from Volcano's words to ours names what is there, and every extension point."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
import yaml

from hekla.engine.framework import points
from hekla.engine.framework.points import POINTS, Point

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "docs" / "volcano-terms.yaml").read_text("utf-8")
TERMS: dict[str, list[dict[str, str]]] = yaml.safe_load(TABLE)
ALL = [term for terms in TERMS.values() for term in terms]


def resolved(path: str) -> object:
    """What the dotted path names: as many parts as there are modules, then attributes."""
    module, _, last = path.rpartition(".")
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        return getattr(resolved(module), last)


@pytest.mark.parametrize("subject", TERMS)
def test_every_place_can_be_imported(subject: str) -> None:
    assert [resolved(term["where"]) for term in TERMS[subject] if term["where"]]


@pytest.mark.parametrize("subject", TERMS)
def test_the_names_of_a_subject_are_in_order(subject: str) -> None:
    names = [term["volcano"].casefold() for term in TERMS[subject]]
    assert names == sorted(names)


def test_every_name_stands_once() -> None:
    names = [term["volcano"] for term in ALL if term["volcano"] != "-"]
    assert [name for name in names if names.count(name) > 1] == []


def test_every_term_says_something() -> None:
    fields = {"volcano", "ours", "where", "says"}
    assert [term for term in ALL if set(term) != fields or not (term["volcano"] and term["says"])] == []


def test_every_extension_point_is_in_the_table() -> None:
    ours = {term["ours"] for term in TERMS["Extension points"]}
    assert [point.name for point in POINTS if point.name not in ours] == []


def test_an_extension_point_is_found_where_the_table_says() -> None:
    for term in TERMS["Extension points"]:
        found = resolved(term["where"])
        assert found is points or isinstance(found, Point)
        assert not isinstance(found, Point) or found.name == term["ours"]
