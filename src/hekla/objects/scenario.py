"""Scenario: one scheduling cycle in a file: a configuration, the objects, and whose nodes are whose.

{"name": "...", "conf": "actions: ...", "objects": [...], "sharding": {"mode": "hard", "nodes": [...]},
 "now": 1767225600.0, "memory": {...}, "ignoredProvisioners": [...]}
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from hekla.errors import InputError
from hekla.objects.complaint import Complaint
from hekla.objects.documents import Unreadable, decoded
from hekla.objects.json_text import NOT_JSON, leniently, mended
from hekla.objects.meta import Manifest
from hekla.objects.read import ManifestReader, ObjectPlace
from hekla.objects.typed import fault_of

MODES = ("hard", "soft")
LATEST = 253_402_300_800.0
"""The end of the year 9999, beyond which nothing can be dated."""


class Sharding(msgspec.Struct, frozen=True):
    """The nodes this scheduler may use: `hard` alone, `soft` before all other nodes."""

    mode: str = "hard"
    nodes: tuple[str, ...] = ()


class Scenario(msgspec.Struct, frozen=True):
    """What a scenario file says; `complaints` tell of the objects that were left out."""

    name: str
    conf: str
    objects: list[Manifest]
    sharding: Sharding | None = None
    now: float | None = None
    """When the cycle runs, in seconds since 1970; unless it says so, some time after everything in it."""
    memory: dict[str, float] = msgspec.field(default_factory=dict)
    """What plugins remember from the cycle before."""
    ignored_provisioners: tuple[str, ...] = ()
    """Provisioners whose volumes are not counted as attached."""
    complaints: list[Complaint] = msgspec.field(default_factory=list)


class _File(msgspec.Struct, rename="camel"):
    objects: list[msgspec.Raw]
    name: str = ""
    conf: str = ""
    sharding: Sharding | None = None
    now: float | None = None
    memory: dict[str, float] = {}
    ignored_provisioners: tuple[str, ...] = ()


class _Outline(msgspec.Struct):
    conf: str
    objects: list[msgspec.Raw]


_FILE = msgspec.json.Decoder(_File)
_OUTLINE = msgspec.json.Decoder(_Outline)


def is_scenario(path: str | Path) -> bool:
    """Whether the file is a scenario: JSON with a configuration and objects."""
    file = Path(path)
    if file.suffix.lower() != ".json" or not file.is_file():
        return False
    try:
        # What is no UTF-8 is told when it is read.
        leniently(_OUTLINE.decode, file.read_bytes().decode("utf-8-sig", "replace"))
    except (OSError, *NOT_JSON):
        return False
    return True


def read_scenario(path: str | Path) -> Scenario:
    """The scenario in a file; raises InputError where the file is none."""
    source = str(path)
    text = _text_of(Path(path), source)
    file = _decoded(text, source)
    if file.sharding is not None and file.sharding.mode not in MODES:
        modes = " or ".join(f'"{mode}"' for mode in MODES)
        raise InputError(f'{source}: sharding.mode: expected {modes}, got "{file.sharding.mode}"')
    if file.now is not None and not 0 <= file.now < LATEST:
        raise InputError(f"{source}: now: {file.now} is no time; write seconds since 1970")
    reader = ManifestReader()
    reader.repeated_keys([msgspec.Raw(text)], text, source)
    for index, raw in enumerate(file.objects):
        reader.raw(raw, ObjectPlace(source, path=("objects", index)))
    reading = reader.reading
    name = file.name or Path(path).stem
    return Scenario(
        name,
        file.conf,
        reading.objects,
        sharding=file.sharding,
        now=file.now,
        memory=file.memory,
        ignored_provisioners=file.ignored_provisioners,
        complaints=reading.complaints,
    )


def _text_of(path: Path, source: str) -> str:
    try:
        return decoded(path.read_bytes())
    except OSError as error:
        raise InputError(f"{source}: {(error.strerror or 'cannot be read').lower()}") from error
    except Unreadable as problem:
        raise InputError(f"{source}: {problem}") from problem


def _decoded(text: str, source: str) -> _File:
    try:
        return leniently(_FILE.decode, text)
    except msgspec.ValidationError as error:
        fault = fault_of(str(error), msgspec.json.decode(mended(text)))
        raise InputError(f"{source}: {fault}") from error
    except NOT_JSON as error:
        raise InputError(f"{source}: not a scenario: {error}") from error
