"""Manifests from files, folders and standard input.

Nothing here raises over what is written in a file. Every problem is one complaint that names
the file, the line, the object and the field, and the rest is read.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath

import msgspec
from msgspec.structs import replace

from hekla.objects import KINDS, NAMESPACED, Manifest
from hekla.objects.complaint import Complaint, printable, quoted, spoken
from hekla.objects.documents import DEEPEST, Document, Path, Unreadable, decoded, given_twice, yaml_documents
from hekla.objects.json_text import NOT_JSON, leniently, may_repeat_keys, repeated_keys
from hekla.objects.typed import (
    Fault,
    Misfit,
    annotations_warning,
    faults_of,
    kind_of,
    typed,
    without_nulls,
    written_path,
)

SUFFIXES = (".json", ".yaml", ".yml")
STDIN = "-"
LARGEST_FILE = 256 * 1024 * 1024
DEFAULT_NAMESPACE = "default"
LONGEST_NAME = 253

_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9._:]*[A-Za-z0-9])?\Z")


@dataclass
class ManifestReading:
    """What was read, in the order of reading, and what could not be."""

    objects: list[Manifest] = field(default_factory=list)
    complaints: list[Complaint] = field(default_factory=list)


class ObjectPlace(msgspec.Struct, frozen=True):
    """Where an object stands: a file, and a document in it or one item of a list."""

    source: str
    document: Document | None = None
    path: Path = ()
    number: int = 0

    def at(self, field_path: Path = ()) -> str:
        line = self.document.line_of((*self.path, *field_path)) if self.document else 0
        text = f"{self.source}:{line}" if line else self.source
        if line:
            return text
        if self.number:
            text += f": document {self.number}"
        return f"{text}: {written_path(self.path)}" if self.path else text


class ManifestHeader(msgspec.Struct, rename="camel"):
    """As much of a document as tells what it is."""

    api_version: str = ""
    kind: str = ""
    items: list[msgspec.Raw] = []


_HEADER = msgspec.json.Decoder(ManifestHeader)
_RAW_ITEMS = msgspec.json.Decoder(list[msgspec.Raw])
_RAW = msgspec.json.Decoder(msgspec.Raw)
_DECODERS = {kind: msgspec.json.Decoder(kind) for kind in KINDS.values()}


def read_manifests(paths: Iterable[str | FilePath]) -> ManifestReading:
    """All manifests in these files and folders; `-` is standard input."""
    reader = ManifestReader()
    for path in paths:
        reader.path(path)
    return reader.reading


def read_text(text: str | bytes, source: str) -> ManifestReading:
    """All manifests of one text; `source` is what complaints call it."""
    reader = ManifestReader()
    reader.text(text, source)
    return reader.reading


class ManifestReader:
    """Collects manifests from one text after another; of two with one name the first wins."""

    def __init__(self) -> None:
        self.reading = ManifestReading()
        self._place_of: dict[tuple[type[Manifest], str], ObjectPlace] = {}

    def path(self, path: str | FilePath) -> None:
        """A file, a folder with everything below it, or standard input."""
        if str(path) == STDIN:
            self.text(sys.stdin.buffer.read(), "stdin")
            return
        try:
            for file in files_in(FilePath(path)):
                self.text(content_of(file), str(file))
        except OSError as error:
            reason = (error.strerror or "cannot be read").lower()
            self.complain(str(error.filename or path), reason)
        except (Unreadable, ValueError) as problem:
            self.complain(str(path), str(problem))

    def text(self, content: str | bytes, source: str) -> None:
        try:
            text = decoded(content)
        except Unreadable as problem:
            self.complain(source, str(problem))
            return
        if text.lstrip()[:1] in ("{", "[") and self._json(text, source):
            return
        for document in yaml_documents(text):
            if isinstance(document, Unreadable):
                place = f"{source}:{document.line}" if document.line else source
                self.complain(place, str(document))
            else:
                self._document(document, source)

    def complain(self, subject: str, message: str) -> None:
        self.reading.complaints.append(Complaint(subject, message))

    def raw(self, raw: msgspec.Raw | bytes, place: ObjectPlace, around: ManifestHeader | None = None) -> None:
        """One object in JSON: straight into its type if it is sound, else slowly with reasons."""
        try:
            header = _HEADER.decode(raw)
            if not header.kind and around is not None:
                header = around
            kind = KINDS[header.api_version.rpartition("/")[0], header.kind]
            manifest = _DECODERS[kind].decode(raw)
        except (*NOT_JSON, KeyError):
            self._raw_slowly(raw, place, around)
        else:
            self.add(manifest, place, header.kind)

    def add(self, manifest: Manifest, place: ObjectPlace, kind: str) -> None:
        """Keep a typed manifest, if it is sound and the first of its name."""
        manifest = in_its_namespace(manifest)
        subject = printable(f"{kind.lower()} {manifest.key}")
        faults = [*_faults_of_name(manifest.metadata.name), *faults_of(manifest)]
        for fault in faults:
            self.complain(f"{place.at(fault.path)}: {subject}", f"left out: {fault}")
        if faults:
            return
        first = self._place_of.setdefault((type(manifest), manifest.key), place)
        if first is not place:
            message = f"left out: {subject} is given already at {first.at()}"
            self.complain(f"{place.at()}: {subject}", message)
            return
        if warning := annotations_warning(manifest):
            self.complain(f"{place.at(('metadata', 'annotations'))}: {subject}", warning)
        self.reading.objects.append(manifest)

    def _json(self, text: str, source: str) -> bool:
        """Read a text as JSON; False, and nothing done, where it is none."""
        try:
            raws = leniently(json_documents, text)
        except NOT_JSON:
            return False
        self.repeated_keys(raws, text, source)
        for number, raw in enumerate(raws, start=1):
            place = ObjectPlace(source, number=number if len(raws) > 1 else 0)
            self._json_document(raw, place)
        return True

    def repeated_keys(self, documents: Iterable[msgspec.Raw | bytes], text: str, source: str) -> None:
        """Complain of the keys that these documents, which make up the text, give twice."""
        if any(map(may_repeat_keys, documents)):
            for line, key in repeated_keys(text):
                self.complain(f"{source}:{line}", given_twice(key))

    def _json_document(self, raw: msgspec.Raw | bytes, place: ObjectPlace) -> None:
        try:
            header = _HEADER.decode(raw)
        except NOT_JSON:
            self._raw_slowly(raw, place, None)
            return
        if not header.kind.endswith("List"):
            self.raw(raw, place)
            return
        around = ManifestHeader(header.api_version, header.kind.removesuffix("List"))
        for index, item in enumerate(header.items):
            self.raw(item, ObjectPlace(place.source, None, ("items", index), place.number), around)

    def _raw_slowly(
        self, raw: msgspec.Raw | bytes, place: ObjectPlace, around: ManifestHeader | None
    ) -> None:
        try:
            data = without_nulls(msgspec.json.decode(raw))
        except RecursionError:
            self.complain(place.at(), f"left out: nested deeper than {DEEPEST} levels")
        except msgspec.MsgspecError as error:
            self.complain(place.at(), f"left out: {str(error).lower()}")
        else:
            self._data(data, place, around)

    def _document(self, document: Document, source: str) -> None:
        for line, remark in document.remarks:
            self.complain(f"{source}:{line}", remark)
        if document.data is not None:
            self._data(document.data, ObjectPlace(source, document), None)

    def _data(self, data: object, place: ObjectPlace, around: ManifestHeader | None) -> None:
        """Plain data of one document: an object, or a list of them."""
        if isinstance(data, dict) and around is None and str(data.get("kind", "")).endswith("List"):
            self._list(data, place)
            return
        if isinstance(data, list) and around is None:
            for index, item in enumerate(data):
                self._data(
                    item, ObjectPlace(place.source, place.document, (index,), place.number), ManifestHeader()
                )
            return
        try:
            self._object(data, place, around or ManifestHeader())
        except Misfit as misfit:
            subject = _subject_of(data)
            where = place.at(misfit.fault.path)
            self.complain(f"{where}: {subject}" if subject else where, f"left out: {misfit}")

    def _list(self, data: dict[str, object], place: ObjectPlace) -> None:
        items = data.get("items", [])
        if not isinstance(items, list):
            self.complain(place.at(("items",)), f"items: expected a list, got {spoken(items)}")
            return
        kind = str(data["kind"]).removesuffix("List")
        around = ManifestHeader(str(data.get("apiVersion", "")), kind)
        for index, item in enumerate(items):
            self._data(
                item,
                ObjectPlace(place.source, place.document, (*place.path, "items", index), place.number),
                around,
            )

    def _object(self, data: object, place: ObjectPlace, around: ManifestHeader) -> None:
        if not isinstance(data, dict):
            raise Misfit(Fault((), f"expected a manifest, got {spoken(data)}"))
        kind = data.get("kind") or around.kind
        found = kind_of(data.get("apiVersion") or around.api_version, kind)
        self.add(typed(data, found), place, str(kind))


def json_documents(text: str) -> list[msgspec.Raw]:
    """The objects of a JSON text: one, a list, or one per line."""
    if text.lstrip()[:1] == "[":
        return _RAW_ITEMS.decode(text)
    try:
        return [msgspec.json.decode(text, type=msgspec.Raw)]
    except msgspec.DecodeError:
        return _RAW.decode_lines(text)


def in_its_namespace(manifest: Manifest) -> Manifest:
    """The manifest with a namespace exactly where its kind has one."""
    meta = manifest.metadata
    if type(manifest) in NAMESPACED:
        if meta.namespace:
            return manifest
        return replace(manifest, metadata=replace(meta, namespace=DEFAULT_NAMESPACE))
    return replace(manifest, metadata=replace(meta, namespace="")) if meta.namespace else manifest


def files_in(path: FilePath) -> Iterator[FilePath]:
    """The file itself, or the manifests of a folder and the folders below it, sorted."""
    if not path.is_dir():
        yield path
        return
    found = []
    for folder, folders, names in os.walk(path):
        # Hidden folders hold what tools keep for themselves, such as the copies behind a mounted ConfigMap.
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [FilePath(folder, name) for name in names if name.lower().endswith(SUFFIXES)]
    if not found:
        raise Unreadable(f"holds no file of {', '.join('*' + suffix for suffix in SUFFIXES)}")
    yield from sorted(found)


def content_of(file: FilePath) -> bytes:
    size = file.stat().st_size
    if size > LARGEST_FILE:
        raise Unreadable(f"{size} bytes are too much; at most {LARGEST_FILE} are read")
    return file.read_bytes()


def _faults_of_name(name: str) -> Iterator[Fault]:
    if not name:
        yield Fault(("metadata", "name"), "is missing")
    elif len(name) > LONGEST_NAME:
        yield Fault(("metadata", "name"), f"{len(name)} characters are too much; at most {LONGEST_NAME} fit")
    elif not _NAME.match(name):
        message = f"{quoted(name)} is not a name; use letters, digits, hyphens and dots"
        yield Fault(("metadata", "name"), message)


def _subject_of(data: object) -> str:
    """Kind and name of an object that could not be read, as far as they can be."""
    if not isinstance(data, dict):
        return ""
    meta = data.get("metadata")
    named = meta if isinstance(meta, dict) else {}
    kind, name, namespace = data.get("kind"), named.get("name"), named.get("namespace")
    if not isinstance(kind, str) or not isinstance(name, str):
        return ""
    key = f"{namespace}/{name}" if isinstance(namespace, str) else name
    return printable(f"{kind.lower()} {key}")
