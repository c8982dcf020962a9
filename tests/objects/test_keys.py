"""Keys of labels and annotations stand in one place."""

import ast
import re
from pathlib import Path

import hekla
from hekla.objects import keys

PACKAGE = Path(hekla.__file__).parent
OURS = re.compile(r"(?:[a-z0-9.-]*volcano\.sh|hekla\.dev|scheduling\.k8s\.io)/[A-Za-z.-]+")
KINDS = re.compile(r".*/v[0-9][a-z0-9]*")
"""API versions are no keys."""


def test_every_key_is_written_in_one_module() -> None:
    found = {
        f"{path.relative_to(PACKAGE)}: {node.value}"
        for path in PACKAGE.rglob("*.py")
        if path != Path(keys.__file__)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if OURS.fullmatch(node.value) and not KINDS.fullmatch(node.value)
    }
    assert found == set()


def test_no_key_has_two_names() -> None:
    named = [value for name, value in vars(keys).items() if name.isupper()]
    assert len(named) == len(set(named))
