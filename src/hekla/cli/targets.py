"""Targets: files that a command is to write in the end, looked at before it begins to work."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from hekla.errors import InputError


def check_targets(paths: Iterable[Path | None]) -> None:
    """Hours of work are not to end in a folder that is not there."""
    for path in paths:
        problem = None if path is None else _problem_of(path)
        if problem is not None:
            raise InputError(f'cannot write "{path}": {problem}')


def _problem_of(path: Path) -> str | None:
    """What will not let the file be written, as far as that can be told beforehand."""
    folder = path.parent
    if path.is_dir():
        return "it is a folder; name a file"
    if not folder.is_dir():
        return f'no folder "{folder}"; make it first, or name another'
    if path.exists():
        return None if os.access(path, os.W_OK) else "the file may not be written to"
    return None if os.access(folder, os.W_OK) else f'folder "{folder}" may not be written to'
