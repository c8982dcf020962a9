"""Read a workload: the form of a file is found out by its name and by how it begins."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from hekla.errors import InputError
from hekla.objects.complaint import Complaint, did_you_mean, quoted
from hekla.objects.read import ManifestReader, ObjectPlace
from hekla.simulation.workloads import openb, pai, sacct, swf
from hekla.simulation.workloads.cells import header_of
from hekla.simulation.workloads.columns import columns_in, suggested
from hekla.simulation.workloads.fields import Spot
from hekla.simulation.workloads.lines import read_lines
from hekla.simulation.workloads.model import Workload
from hekla.simulation.workloads.openb import read_openb
from hekla.simulation.workloads.pai import read_pai
from hekla.simulation.workloads.philly import read_philly
from hekla.simulation.workloads.sacct import read_sacct
from hekla.simulation.workloads.saved_run import is_saved_run, read_saved_run
from hekla.simulation.workloads.selection import Content, ReadingOptions, selected
from hekla.simulation.workloads.source import Source
from hekla.simulation.workloads.swf import read_swf
from hekla.simulation.workloads.table import is_saved, read_table
from hekla.simulation.workloads.written import Draft, read_folder, read_written

_BENIGN = ("; the last one counts", "; kept")
"""How remarks end that change nothing."""


class _Scenario(msgspec.Struct):
    objects: list[msgspec.Raw]
    name: str = ""


def read_manifests(source: Source, options: ReadingOptions) -> Content:
    """The workload of manifests: in JSON as fast as can be, in YAML with the line of every mistake."""
    if source.head().lstrip()[:1] not in (b"{", b"["):
        return read_written(source, options)
    reader = ManifestReader()
    name = _take(source, reader)
    draft = Draft(source.name, options, name=name or source.stem, is_recorded=True)
    for manifest in reader.reading.objects:
        draft.manifest(manifest, Spot(source.name))
    content = draft.content()
    for complaint in reader.reading.complaints:
        if complaint.message.endswith(_BENIGN):
            content.changed[str(complaint)] += 1
        elif options.lenient:
            content.dropped["an object that cannot be used"] += 1
        else:
            raise _error(complaint, len(reader.reading.complaints) - 1)
    if not reader.reading.objects:
        raise InputError(f"{source.name}: no manifests in it")
    return content


def _take(source: Source, reader: ManifestReader) -> str:
    """Hand all objects to the reader; the name of the scenario, if it is one."""
    data = source.content()
    try:
        scenario = msgspec.json.decode(data, type=_Scenario)
    except (msgspec.ValidationError, RecursionError):
        reader.text(data, source.name)
        return ""
    except msgspec.DecodeError as error:
        # Many objects, one per line, are no JSON together; the reader knows them.
        reader.text(data, source.name)
        if not reader.reading.objects:
            raise InputError(f"{source.name}: not JSON: {error}; is the file whole?") from error
        return ""
    for index, raw in enumerate(scenario.objects):
        reader.raw(raw, ObjectPlace(source.name, path=("objects", index)))
    return scenario.name


def _error(complaint: Complaint, others: int) -> InputError:
    more = f" (and {others} more)" if others else ""
    return InputError(f"{complaint}{more}; --lenient goes on without them")


def read_recorded(source: Source, options: ReadingOptions) -> Content:
    """The workload of a recording of cycles."""
    try:
        from hekla.simulation.workloads.recording import read_recording  # noqa: PLC0415 - needs a client's types
    except ModuleNotFoundError as error:
        raise InputError('reading recordings needs more: pip install "hekla[kubernetes]"') from error
    return read_recording(source, options)


Format = Callable[[Source, ReadingOptions], Content]

FORMATS: dict[str, Format] = {
    "hekla": read_written,
    "jsonl": read_lines,
    "manifests": read_manifests,
    "swf": read_swf,
    "openb": read_openb,
    "pai": read_pai,
    "philly": read_philly,
    "csv": read_table,
    "sacct": read_sacct,
    "recording": read_recorded,
    "run": read_saved_run,
}
"""By name, what reads it."""

_BY_SUFFIX = {".swf": "swf", ".jsonl": "jsonl", ".ndjson": "jsonl", ".yaml": "hekla", ".yml": "hekla"}
_TABLES = frozenset({".csv", ".psv", ".tsv"})
_IN_FOLDERS = (None, "hekla", "manifests")
_NUMBER = re.compile(rb"[-+]?[0-9]*\.?[0-9]+\Z")


def read_workload(path: str | Path, **options: Any) -> Workload:
    """The workload in a file, a folder or standard input (`-`); `options` are those of `ReadingOptions`.

    `columns` may be a text, as on the command line.
    """
    if isinstance(columns := options.get("columns"), str):
        options["columns"] = columns_in([columns])
    chosen = ReadingOptions(**options)
    if chosen.columns and chosen.format not in (None, "csv"):
        raise InputError(f'columns are for tables: "{chosen.format}" knows what its own mean')
    if chosen.format in _IN_FOLDERS and Path(path).is_dir():
        return selected(read_folder(Path(path), chosen), chosen)
    source = Source(path)
    name = chosen.format or ("csv" if chosen.columns else format_of(source))
    if name not in FORMATS:
        known = ", ".join(FORMATS)
        raise InputError(f"no format {quoted(name)}{did_you_mean(name, FORMATS)}; known formats: {known}")
    return selected(FORMATS[name](source, chosen), chosen)


def is_known(path: str | Path) -> bool:
    """Whether it can be told what a file is without being told which column says what."""
    try:
        format_of(Source(path))
    except InputError:
        return False
    return True


def format_of(source: Source) -> str:
    """The format that a file is most likely in; what looks like nothing else is taken for YAML."""
    if source.is_recording:
        return "recording"
    if source.suffix in _BY_SUFFIX:
        return _BY_SUFFIX[source.suffix]
    head = source.head().removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head:
        raise InputError(f"{source.name}: the file is empty")
    first = head.splitlines()[0]
    if head[:1] == b"[":
        return "philly" if b'"attempts"' in head or b'"vc"' in head else "manifests"
    if head[:1] == b"{":
        return _format_of_objects(head, first)
    if first.startswith(b";") or _is_job_line(first):
        return "swf"
    if source.suffix in _TABLES or _is_known_header(source):
        return _format_of_table(source)
    return "hekla"


def _format_of_objects(head: bytes, first: bytes) -> str:
    """JSON: an object per line, a List or a scenario, a saved run, or a workload in our words."""
    if is_saved_run(head):
        return "run"
    try:
        data = msgspec.json.decode(first)
    except (msgspec.MsgspecError, RecursionError):
        data = None
    if isinstance(data, dict):
        if "kind" in data or ("conf" in data and "objects" in data):
            return "manifests"
        return "hekla" if "jobs" in data or "generate" in data else "jsonl"
    is_list = b'"kind"' in head and b'"apiVersion"' in head and b'"jobs"' not in head
    is_scenario = b'"conf"' in head and b'"objects"' in head
    return "manifests" if is_list or is_scenario else "hekla"


def _is_job_line(line: bytes) -> bool:
    cells = line.split()
    return len(cells) == len(swf.FIELDS) and all(map(_NUMBER.match, cells))


def _is_known_header(source: Source) -> bool:
    """Whether the first line, whatever the file is called, has the columns of a table that is known."""
    try:
        names = header_of(source).names
    except InputError:
        return False
    return openb.COLUMNS[1] in names or is_saved(names) or sacct.is_header(names)


def _format_of_table(source: Source) -> str:
    header = header_of(source)
    names = header.names
    if sacct.is_header(names):
        return "sacct"
    if is_saved(names):
        return "csv"
    if openb.is_table(names):
        return "openb"
    if pai.is_table(names):
        return "pai"
    if len(names) == len(pai.JOBS):
        hint = "this may be the table of jobs; give that of tasks, and this one with --job-table"
    else:
        hint = f'say which column is what, as in --columns "{suggested(names)}"'
    raise source.wrong(header.line, f"a table of {len(names)} columns is no workload that is known; {hint}")
