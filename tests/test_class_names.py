"""A class name has one meaning in the whole package, private classes included."""

import ast
from collections import defaultdict
from pathlib import Path

import hekla

PACKAGE = Path(hekla.__file__).parent


def test_no_class_name_has_two_meanings() -> None:
    places: dict[str, set[str]] = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name].add(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert {name: sorted(found) for name, found in places.items() if len(found) > 1} == {}
