"""Wire: what the API server sends, as typed manifests.

Sound objects go straight into their types. One that does not fit is named with the reason and counts as
absent: another tool's mistake must not stop the scheduler.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import msgspec

from hekla.cluster.kubernetes.api.client import Refused, StatusAnswer, Unreachable
from hekla.cluster.kubernetes.api.versions import Versioned
from hekla.objects import Manifest, ObjectMeta
from hekla.objects.complaint import Complaint, printable
from hekla.objects.json_text import NOT_JSON, leniently
from hekla.objects.typed import Misfit, faults_of, typed, without_nulls

M = TypeVar("M", bound=Manifest)
T = TypeVar("T")


class ListMeta(msgspec.Struct, rename="camel", frozen=True):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class RawPage(msgspec.Struct, frozen=True):
    metadata: ListMeta = ListMeta()
    items: list[msgspec.Raw] = []


class RawEvent(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class NamedMeta(msgspec.Struct, rename="camel", frozen=True):
    """Names and versions, where the rest of the metadata does not fit."""

    name: Any = ""
    namespace: Any = ""
    uid: Any = ""
    resource_version: Any = ""

    def readable(self) -> ObjectMeta:
        texts = (self.name, self.namespace, self.uid, self.resource_version)
        name, namespace, uid, version = (text if isinstance(text, str) else "" for text in texts)
        return ObjectMeta(name=name, namespace=namespace, uid=uid, resource_version=version)


class Named(msgspec.Struct, frozen=True):
    metadata: NamedMeta = NamedMeta()


@dataclass(frozen=True)
class Unfit:
    """An object that cannot be read: which one, and why."""

    metadata: ObjectMeta
    key: str
    complaint: Complaint


@dataclass(frozen=True)
class Page(Generic[M]):
    """A part of a list; `rest` asks for what follows."""

    items: list[M | Unfit]
    version: str
    rest: str


@dataclass(frozen=True)
class WatchEvent(Generic[M]):
    """One line of a watch: ADDED, MODIFIED, DELETED or BOOKMARK."""

    type: str
    object: M | Unfit | None
    version: str


class Wire(Generic[M]):
    """Reads lists and watches of one kind."""

    def __init__(self, kind: type[M]) -> None:
        self._kind = kind
        page = msgspec.defstruct("TypedPage", [("metadata", ListMeta), ("items", list[kind])])  # type: ignore[valid-type]
        event = msgspec.defstruct("TypedEvent", [("type", str), ("object", kind)])
        self._pages = msgspec.json.Decoder(page)
        self._events = msgspec.json.Decoder(event)
        self._objects = msgspec.json.Decoder(kind)

    def object(self, data: bytes) -> M:
        """One object, which is expected to fit."""
        found = self._read(msgspec.Raw(data))
        if isinstance(found, Unfit):
            raise Refused(200, "Unfit", str(found.complaint))
        return found

    def page(self, data: bytes) -> Page[M]:
        try:
            whole: Any = self._pages.decode(data)
        except NOT_JSON:
            return self._page_slowly(data)
        items = [self._sound(item) for item in whole.items or ()]
        return Page(items, whole.metadata.resource_version, whole.metadata.continue_)

    def _page_slowly(self, data: bytes) -> Page[M]:
        raw = _decoded(data, RawPage)
        return Page(
            [self._read(item) for item in raw.items], raw.metadata.resource_version, raw.metadata.continue_
        )

    def event(self, line: bytes) -> WatchEvent[M]:
        """One line; an error that the server sends in a watch is raised as the refusal it is."""
        try:
            whole: Any = self._events.decode(line)
        except NOT_JSON:
            return self._event_slowly(line)
        if whole.type == "ERROR":
            return self._event_slowly(line)
        found = self._sound(whole.object)
        return WatchEvent(whole.type, found, found.metadata.resource_version)

    def _event_slowly(self, line: bytes) -> WatchEvent[M]:
        raw = _decoded(line, RawEvent)
        if raw.type == "ERROR":
            said = _decoded(bytes(raw.object), StatusAnswer)
            raise Refused(said.code or 500, said.reason, said.message)
        meta = _meta_of(raw.object)
        found = None if raw.type == "BOOKMARK" else self._read(raw.object)
        return WatchEvent(raw.type, found, meta.resource_version)

    def _read(self, raw: msgspec.Raw) -> M | Unfit:
        found = self.decoded(raw)
        return found if isinstance(found, Unfit) else self._sound(found)

    def decoded(self, raw: msgspec.Raw) -> M | Unfit:
        """One object, be it sensible or not."""
        try:
            return self._objects.decode(raw)
        except NOT_JSON:
            pass
        try:
            return cast("M", typed(without_nulls(msgspec.json.decode(raw)), self._kind))
        except (Misfit, *NOT_JSON) as error:
            return self._unfit(_meta_of(raw), str(error))

    def _sound(self, found: M) -> M | Unfit:
        """What fits its type may still not be meant: the definitions of custom resources let much through."""
        faults = faults_of(found)
        return self._unfit(found.metadata, "; ".join(map(str, faults))) if faults else found

    def _unfit(self, meta: ObjectMeta, problem: str) -> Unfit:
        name = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
        subject = printable(f"{self._kind.__name__.lower()} {name}")
        return Unfit(meta, name, Complaint(subject, f"left out: {problem}"))


def _decoded(data: bytes, type_: type[T]) -> T:
    try:
        return leniently(lambda text: msgspec.json.decode(text, type=type_), data.decode(errors="replace"))
    except NOT_JSON as error:
        raise Unreachable(f"an answer cannot be read: {error}") from error


def _meta_of(raw: msgspec.Raw) -> ObjectMeta:
    """As much as can be read of which object this is, and in which version."""
    try:
        return msgspec.json.decode(raw, type=Versioned).metadata
    except NOT_JSON:
        pass
    try:
        return msgspec.json.decode(raw, type=Named).metadata.readable()
    except NOT_JSON:
        return ObjectMeta()
