"""A class name has one meaning in the whole package, private classes included."""

import ast
from collections import defaultdict
from pathlib import Path

import hekla

PACKAGE = Path(hekla.__file__).parent
STILL_DOUBLE = frozenset(
    {
        *("Account", "Action", "Agenda", "Attempt", "Capacity", "Card", "Demand", "Gang"),
        *("Group", "Job", "Kept", "Names", "Node", "Options", "Part", "Plan", "Queue"),
        *("Request", "Role", "Room", "Row", "Run", "Scope", "Setting", "Source", "Spent", "Stage"),
        *("Start", "State", "Story", "Summary", "Wish", "Wishes", "Arrivals", "Found", "Intake"),
    }
)
"""Names that wait for a better one; nothing is to be added."""


def test_no_class_name_has_two_meanings() -> None:
    places: dict[str, set[str]] = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name].add(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    double = {name: sorted(found) for name, found in places.items() if len(found) > 1}
    assert {name: found for name, found in double.items() if name not in STILL_DOUBLE} == {}
