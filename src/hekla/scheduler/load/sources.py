"""Sources of load that need no network: annotations of nodes, and a file."""

from __future__ import annotations

from pathlib import Path

from hekla.engine.model.node import Node, NodeLoad
from hekla.errors import InputError
from hekla.objects.complaint import quoted, spoken
from hekla.objects.documents import Document, Unreadable, decoded, yaml_documents

CPU_USAGE = "hekla.dev/cpu-usage"
MEMORY_USAGE = "hekla.dev/memory-usage"
USAGE_AT = "hekla.dev/usage-at"
LARGEST_FILE = 10 * 1024 * 1024
LARGEST_FIGURE = 1e12


def from_annotations(node: Node, now: float) -> NodeLoad | None:
    """What the node's annotations say, in percent; None where they say nothing.

    Without `hekla.dev/usage-at` (seconds since 1970) the figures are of this moment.
    """
    notes = node.manifest.metadata.annotations
    if CPU_USAGE not in notes and MEMORY_USAGE not in notes:
        return None
    return NodeLoad(
        cpu=_number(notes.get(CPU_USAGE, "0"), CPU_USAGE),
        memory=_number(notes.get(MEMORY_USAGE, "0"), MEMORY_USAGE),
        at=_number(notes.get(USAGE_AT, str(now)), USAGE_AT),
    )


def _number(text: str, key: str) -> float:
    try:
        return _sound(float(text))
    except ValueError:
        raise InputError(f"{key}: expected a number from 0, got {quoted(text)}") from None


def from_file(path: str | Path, now: float) -> dict[str, NodeLoad]:
    """What a JSON or YAML file says: node -> {cpu: percent, memory: percent, at: seconds since 1970}."""
    document = _document(path)
    data = document.data
    if not isinstance(data, dict):
        raise InputError(f"{path}: expected a map from node to load, got {spoken(data)}")
    return {name: _load(document, path, name, entry, now) for name, entry in data.items()}


def _document(path: str | Path) -> Document:
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(content) > LARGEST_FILE:
        raise InputError(f"{path}: larger than {LARGEST_FILE // 2**20} MB")
    try:
        found = next(yaml_documents(decoded(content)), Document({}))
    except Unreadable as problem:
        found = problem
    if isinstance(found, Unreadable):
        raise InputError(f"{path}: {found}") from found
    return found


def _load(document: Document, path: str | Path, name: str, entry: object, now: float) -> NodeLoad:
    if not isinstance(entry, dict):
        line = document.line_of((name,))
        raise InputError(f"{path}:{line}: {name}: expected cpu and memory in percent, got {spoken(entry)}")
    figures = {"cpu": 0.0, "memory": 0.0, "at": now}
    for key in figures.keys() & entry.keys():
        try:
            figures[key] = _sound(entry[key])
        except ValueError:
            where, got = f"{path}:{document.line_of((name, key))}", spoken(entry[key])
            raise InputError(f"{where}: {name}.{key}: expected a number from 0, got {got}") from None
    return NodeLoad(**figures)


def _sound(value: object) -> float:
    """The value, if it is a number that a gauge can show."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST_FIGURE:
        raise ValueError(value)
    return float(value)
