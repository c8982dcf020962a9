"""What the pages show is what happens.

Of every page, in a folder of its own and from top to bottom:

- a block marked `yaml NAME` or `python NAME` is written to that file;
- a block marked `python` alone is run;
- in a block marked `console`, each line after `$ ` is run, in a shell where it takes one, and what
  follows it must be what it prints, errors included. A line `...` stands for any lines left out. Of
  the targets of make only the demo is run, by the command behind it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.calling import called

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(console|python|yaml)[ ]*(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"[^\w\s./=:,-]")
"""What has a meaning in a shell: a command without it is words with spaces in between."""
ENVIRONMENT = {
    **os.environ,
    "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))),
    "PYTHONPATH": str(ROOT / "src"),
}


def has_snippets(page: Path) -> bool:
    return any(kind != "yaml" or name for kind, name, _ in BLOCK.findall(page.read_text("utf-8")))


@pytest.mark.parametrize(
    "page", list(filter(has_snippets, PAGES)), ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_snippets(page: Path, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for kind, name, text in BLOCK.findall(page.read_text("utf-8")):
        if name:
            (tmp_path / name).write_text(text, "utf-8")
        elif kind == "python":
            code, printed = ran([sys.executable, "-"], tmp_path, given=text)
            assert code == 0, printed
        elif kind == "console":
            for command, expected in commands(text):
                printed = output_of(command, tmp_path)
                assert matches(printed, expected), f"$ {command}\n{printed}"


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block with the output that follows it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        command = command.replace("make demo", "hekla demo")
        if not command.startswith("make"):
            yield command, output


def output_of(command: str, folder: Path) -> str:
    """What the command prints. Plain calls of hekla need no process of their own, unless they load code."""
    words = command.split()
    if words[0] == "hekla" and "--plugin" not in words and not SHELL.search(command):
        return called(*words[1:], folder=folder, mixed=True).stdout
    return ran(["/bin/sh", "-c", command], folder)[1]


def ran(command: list[str], folder: Path, given: str = "") -> tuple[int, str]:
    result = subprocess.run(
        command,
        cwd=folder,
        env=ENVIRONMENT,
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return result.returncode, result.stdout


def matches(printed: str, expected: str) -> bool:
    """Equal, but for blank lines around, and for what `...` stands for."""
    parts = re.split(r"^\.\.\.$", expected, flags=re.MULTILINE)
    pattern = ".*".join(re.escape(part.strip("\n")) for part in parts)
    return re.fullmatch(pattern, printed.strip("\n"), flags=re.DOTALL) is not None
