"""The first `make` on a fresh clone: what it does is seen, and what fails is not taken for done."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYTHON = """#!/bin/sh
# In place of Python: makes a virtual environment that is this script again, and installs nothing.
case "$*" in
    "-m venv .venv") mkdir -p .venv/bin; cp "$0" .venv/bin/python;;
    *"--editable"*) echo "Obtaining file:///here"; echo "Collecting click<9"; echo "Collecting numpy>=2"
        echo "Successfully installed a lot"; exit ${PIP_FAILS:-0};;
esac
"""

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="no make")


def made(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    python = folder / "python"
    if not python.exists():
        shutil.copy(ROOT / "Makefile", folder)
        (folder / "pyproject.toml").touch()
        python.write_text(PYTHON)
        python.chmod(0o755)
    command = ["make", "--no-print-directory", f"PYTHON={python}", ".venv/.ready"]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def test_setting_up_tells_its_steps_and_a_dot_for_each_package(tmp_path: Path) -> None:
    done = made(tmp_path)
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert [line.split()[0] for line in lines] == ["setting", "1/3", "2/3", "3/3", ".."]
    assert lines[-1] == "      .. done"
    assert (tmp_path / ".venv" / ".ready").exists()
    assert "1/3" not in made(tmp_path).stdout


def test_what_could_not_be_installed_is_tried_again_the_next_time(tmp_path: Path) -> None:
    assert made(tmp_path, PIP_FAILS="1").returncode != 0
    assert not (tmp_path / ".venv" / ".ready").exists()
    assert made(tmp_path).returncode == 0


def test_the_readme_says_no_number_of_tests_which_the_next_change_would_make_wrong() -> None:
    assert not re.search(r"\d+ (passed|tests)", (ROOT / "README.md").read_text("utf-8"))
