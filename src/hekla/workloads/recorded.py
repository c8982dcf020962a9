"""Manifests in JSON: what `hekla snapshot` writes, a List or a scenario, however large."""

from __future__ import annotations

import msgspec

from hekla.errors import InputError
from hekla.objects.complaint import Complaint
from hekla.objects.read import Place, Reader
from hekla.workloads.fields import Spot
from hekla.workloads.options import Options
from hekla.workloads.selection import Content
from hekla.workloads.source import Source
from hekla.workloads.written import Draft, read_written

_BENIGN = ("; the last one counts", "; kept")
"""How remarks end that change nothing."""


class _Scenario(msgspec.Struct):
    objects: list[msgspec.Raw]
    name: str = ""


def read_manifests(source: Source, options: Options) -> Content:
    """The workload of manifests: in JSON as fast as can be, in YAML with the line of every mistake."""
    if source.head().lstrip()[:1] not in (b"{", b"["):
        return read_written(source, options)
    reader = Reader()
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


def _take(source: Source, reader: Reader) -> str:
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
        reader.raw(raw, Place(source.name, path=("objects", index)))
    return scenario.name


def _error(complaint: Complaint, others: int) -> InputError:
    more = f" (and {others} more)" if others else ""
    return InputError(f"{complaint}{more}; --lenient goes on without them")
