"""Read a workload: the form of a file is found out by its name and by how it begins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hekla.errors import InputError
from hekla.objects.complaint import did_you_mean, quoted
from hekla.workloads.model import Workload
from hekla.workloads.options import Options
from hekla.workloads.selection import Content, selected
from hekla.workloads.source import Source
from hekla.workloads.written import read_written

Reader = Callable[[Source, Options], Content]

FORMATS: dict[str, Reader] = {
    "hekla": read_written,
}
"""By name, what reads it."""


def read_workload(path: str | Path, **options: Any) -> Workload:
    """The workload in a file, `-` for standard input; `options` are those of `Options`."""
    chosen = Options(**options)
    source = Source(path)
    name = chosen.format or "hekla"
    if name not in FORMATS:
        known = ", ".join(FORMATS)
        raise InputError(f"no format {quoted(name)}{did_you_mean(name, FORMATS)}; known formats: {known}")
    return selected(FORMATS[name](source, chosen), chosen)
