"""Runs every example and compares what it prints with its expected.txt.

    python examples/check.py [--write]

`hekla` is taken from beside the Python that runs this. `--write` keeps what is printed now.
"""

from __future__ import annotations

import difflib
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def printed_by(script: Path) -> str:
    """Standard output of a script; where it fails, that is part of what it printed."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    command = ["/bin/sh", str(script)]
    environment = {**os.environ, "PATH": path}
    result = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=False)
    failure = f"exit {result.returncode}\n{result.stderr}" if result.returncode else ""
    return result.stdout + failure


def difference(script: Path, *, write: bool) -> str:
    """What is printed otherwise than expected; empty where nothing is."""
    expected, printed = script.with_name("expected.txt"), printed_by(script)
    if write:
        expected.write_text(printed, "utf-8")
    known = expected.read_text("utf-8") if expected.is_file() else ""
    lines = difflib.unified_diff(
        known.splitlines(keepends=True), printed.splitlines(keepends=True), "expected", "printed"
    )
    return "".join(lines)


def main() -> int:
    differing = 0
    for script in sorted(HERE.glob("*/run.sh")):
        text = difference(script, write="--write" in sys.argv[1:])
        print(f"{'DIFFERS' if text else 'ok':9} {script.parent.name}\n{text}", end="")
        differing += bool(text)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
