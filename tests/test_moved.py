"""Modules that have moved: an old name fails with the new one."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from cli.calling import called
from hekla.moved import MOVED

PLUGIN = """
from {module} import anything
from hekla import Plugin

class Mine(Plugin):
    name = "mine"
"""


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_an_old_name_tells_the_new_one(old: str, new: str) -> None:
    assert all(map(find_spec, new.split(" and "))), "a new place does not exist"

    for asked in (old, f"{old}.anything"):
        with pytest.raises(ModuleNotFoundError, match=f"^{re.escape(old)} has moved to {re.escape(new)}"):
            importlib.import_module(asked)


def test_a_name_that_never_was_is_refused_as_ever() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'hekla\.nowhere'$"):
        importlib.import_module("hekla.nowhere")


def test_the_sentence_survives_an_import_of_the_package_from_hekla() -> None:
    with pytest.raises(ModuleNotFoundError, match="has moved to hekla"):
        exec("from hekla import framework")


@pytest.mark.parametrize(
    "module",
    [
        "hekla.framework.action",
        "hekla.framework.plugin",
        "hekla.framework.points",
        "hekla.ledger.arrays",
        "hekla.ledger.states",
        "hekla.model.diagnosis",
        "hekla.model.task",
    ],
)
def test_the_file_of_a_plugin_author_is_told_in_full(module: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN.format(module=module), "utf-8")
    old = ".".join(module.split(".")[:2])

    told = called("plugins", "--plugin", f"{file}:Mine")

    assert told.returncode == 1
    assert told.stderr == (
        f'error: cannot import "{file}": ModuleNotFoundError: {old} has moved to {MOVED[old]}; '
        "plugins and actions import what they need from hekla.plugin\n"
    )


def test_the_finder_imports_nothing() -> None:
    code = (
        "import __future__, importlib, sys; before = set(sys.modules);"
        "import hekla.moved; print(*set(sys.modules).difference(before))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)

    assert sorted(loaded.stdout.split()) == ["hekla", "hekla.moved"]
