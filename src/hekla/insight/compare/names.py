"""Names: what configurations are called, so that they can be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def names_of(paths: Sequence[Path]) -> list[str]:
    """The names of the files; with their folders where two have the same."""
    names = [path.name for path in paths]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]


def numbered(names: Sequence[str]) -> list[str]:
    """The second of one name gets a number."""
    counts: dict[str, int] = {}
    result = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        result.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return result
