"""Texts as plain data: YAML and JSON documents, each with the lines of its values.

YAML is built from parser events on a stack of our own. PyYAML's C composer recurses on the C
stack, where 50 KB of `[` end the process, and a few nested anchors can stand for billions of
values; here depth and aliases are counted while the data grows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import msgspec
import yaml
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from hekla.objects.complaint import quoted

DEEPEST = 100
MOST_ALIASED = 100_000
"""How many values aliases may stand for in one document."""


class Form(msgspec.Struct, frozen=True):
    """What a document may hold and how it is understood; by default as manifests are."""

    deepest: int = DEEPEST
    most_values: int | None = None
    """Aliases count as often as they are used."""
    largest_int: int | None = None
    """Numbers beyond it stay texts."""
    keeps_nulls: bool = False
    """Otherwise a field that is null is a field that is absent."""
    ignores_tags: bool = False
    """Otherwise tags that are not plain YAML are refused."""


MANIFEST = Form()

Path = tuple[str | int, ...]

_MARKER = re.compile(r"^(?:---|\.\.\.)(?=[ \t\r\n]|\Z)", re.MULTILINE)
_NO_CONTENT = re.compile(r"\A(?:[ \t]*(?:#[^\n]*)?\r?\n|%[^\n]*\n)*[ \t]*(?:#[^\n]*)?\Z")
_EXPONENT = re.compile(r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)[eE][-+]?[0-9]+$")
_YAML_TAG = "tag:yaml.org,2002:"
_SAFE_TAGS = frozenset({"binary", "bool", "float", "int", "map", "null", "seq", "str", "timestamp"})
_constructor = SafeConstructor()


class Unreadable(Exception):
    """A document that cannot be turned into data; `reason` says why, the message also where."""

    def __init__(self, reason: str, line: int = 0, place: str = "") -> None:
        super().__init__(f"{reason} ({place})" if place else reason)
        self.reason = reason
        self.line = line


@dataclass
class Document:
    """The data of one document; `line` is where it starts, counted from 1."""

    data: object
    line: int = 0
    remarks: list[tuple[int, str]] = field(default_factory=list)
    _lines: dict[tuple[int, str | int], int] = field(default_factory=dict)

    def line_of(self, path: Path) -> int:
        """The line of the value at a path, or of the nearest value around it; 0 where lines are unknown."""
        line, around = self.line, self.data
        for step in path:
            line = self.line_in(around, step, line)
            try:
                around = around[step]  # type: ignore[index]
            except (LookupError, TypeError):
                break
        return line

    def line_in(self, around: object, step: str | int, default: int) -> int:
        """The line of one value of a list or map."""
        return self._lines.get((id(around), step), default)


def decoded(content: str | bytes) -> str:
    """The content as text; raises Unreadable where it is not UTF-8."""
    try:
        # A text goes through its bytes, too: lone surrogates are no UTF-8.
        data = content.encode() if isinstance(content, str) else content
        return data.decode("utf-8-sig")
    except UnicodeError as error:
        line = 1 + (error.object[: error.start].count(b"\n") if isinstance(error, UnicodeDecodeError) else 0)
        raise Unreadable("not a text in UTF-8", line, f"line {line}") from error


def given_twice(key: str) -> str:
    """What to say of a key that a map has already."""
    return f"key {quoted(key)} is given twice; the last one counts"


def yaml_documents(text: str, form: Form = MANIFEST) -> Iterator[Document | Unreadable]:
    """The documents of a YAML text; a broken one does not spoil the rest.

    No scalar can hold a line that starts with a marker, so the text may be cut there.
    """
    line = 0
    for part in _parts(text):
        if not _NO_CONTENT.match(_MARKER.sub("   ", part)):
            try:
                yield _yaml_document(part, line, form)
            except Unreadable as problem:
                yield problem
        line += part.count("\n")


def _parts(text: str) -> Iterator[str]:
    start = 0
    for marker in _MARKER.finditer(text):
        if marker.start() > start:
            yield text[start : marker.start()]
        start = marker.start()
    yield text[start:]


def _yaml_document(text: str, first_line: int, form: Form) -> Document:
    builder = _DocumentBuilder(first_line, form)
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            builder.take(event)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        line, column = (mark.line + 1 + first_line, mark.column + 1) if mark else (first_line + 1, 1)
        reason = problem.problem or problem.context or "it cannot be read"
        raise Unreadable(f"not YAML: {reason}", line, f"line {line}, column {column}") from problem
    except yaml.YAMLError as problem:
        reason = getattr(problem, "reason", "it cannot be read")
        raise Unreadable(f"not YAML: {reason}", first_line + 1) from problem
    return builder.document()


class _Closed(NamedTuple):
    """A finished value: how many values it holds, itself included, and how many levels."""

    value: object
    size: int = 1
    height: int = 0


@dataclass
class _Open:
    """A list or map whose end has not been seen; `key` is the key that waits for its value."""

    value: dict[str, object] | list[object]
    anchor: str | None
    size: int = 1
    height: int = 1
    has_key: bool = False
    key: str = ""
    is_merge: bool = False
    inherited: list[dict[str, object]] = field(default_factory=list)


class _DocumentBuilder:
    """Grows the data of one document, event by event."""

    def __init__(self, first_line: int, form: Form) -> None:
        self._first_line = first_line
        self._form = form
        self._stack: list[_Open] = []
        self._anchors: dict[str, _Closed | None] = {}
        self._aliased = 0
        self._values = 0
        self._root: object = None
        self._root_line = first_line + 1
        self._lines: dict[tuple[int, str | int], int] = {}
        self._remarks: list[tuple[int, str]] = []

    def document(self) -> Document:
        return Document(self._root, self._root_line, self._remarks, self._lines)

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._count(1, event)
            self._close(_Closed(self._scalar(event)), event.anchor, event)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._count(1, event)
            self._open(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            part = self._stack.pop()
            self._close(_Closed(self._with_inherited(part), part.size, part.height), part.anchor, event)
        elif isinstance(event, yaml.AliasEvent):
            found = self._alias(event)
            self._count(found.size, event)
            self._check_depth(len(self._stack) + found.height, event)
            self._close(found, None, event)

    def _count(self, size: int, event: yaml.Event) -> None:
        self._values += size
        most = self._form.most_values
        if most is not None and self._values > most:
            raise Unreadable(f"more than {most} values", self._line(event))

    def _check_depth(self, levels: int, event: yaml.Event) -> None:
        if levels > self._form.deepest:
            raise Unreadable(f"nested deeper than {self._form.deepest} levels", self._line(event))

    def _line(self, event: yaml.Event) -> int:
        return self._first_line + 1 + (event.start_mark.line if event.start_mark else 0)

    def _open(self, event: yaml.CollectionStartEvent) -> None:
        self._check_tag(event.tag, event)
        self._check_depth(len(self._stack) + 1, event)
        if event.anchor:
            self._anchors[event.anchor] = None
        value: dict[str, object] | list[object] = {} if isinstance(event, yaml.MappingStartEvent) else []
        self._note_line(event)
        self._stack.append(_Open(value, event.anchor))

    def _note_line(self, event: yaml.Event) -> None:
        """Remember where the value that starts now stands: under the waiting key, or next in its list."""
        if not self._stack:
            self._root_line = self._line(event)
            return
        around = self._stack[-1]
        if isinstance(around.value, list):
            self._lines[id(around.value), len(around.value)] = self._line(event)

    def _close(self, closed: _Closed, anchor: str | None, event: yaml.Event) -> None:
        """Put a finished value where it belongs."""
        value = closed.value
        if anchor:
            self._anchors[anchor] = closed
        if not self._stack:
            self._root = value
            return
        around = self._stack[-1]
        around.size += closed.size
        around.height = max(around.height, closed.height + 1)
        if isinstance(around.value, list):
            self._lines.setdefault((id(around.value), len(around.value)), self._line(event))
            around.value.append(value)
        elif around.has_key:
            around.has_key = False
            self._pair(around, around.value, value, event)
        else:
            self._key(around, around.value, value, event)

    def _key(self, around: _Open, target: dict[str, object], value: object, event: yaml.Event) -> None:
        if isinstance(value, dict | list):
            raise Unreadable("a key must be a text, got a list or a map", self._line(event))
        text = event.value if isinstance(event, yaml.ScalarEvent) else str(value)
        around.key, around.has_key = text, True
        around.is_merge = isinstance(event, yaml.ScalarEvent) and text == "<<" and event.implicit[0]
        if around.is_merge:
            return
        if text in target:
            self._remarks.append((self._line(event), given_twice(text)))
        self._lines[id(target), text] = self._line(event)

    def _pair(self, around: _Open, target: dict[str, object], value: object, event: yaml.Event) -> None:
        if around.is_merge:
            for source in value if isinstance(value, list) else [value]:
                if not isinstance(source, dict):
                    raise Unreadable('"<<" takes over a map, or a list of maps', self._line(event))
                around.inherited.append(source)
        elif value is None and not self._form.keeps_nulls:
            target.pop(around.key, None)
        else:
            target[around.key] = value

    def _alias(self, event: yaml.AliasEvent) -> _Closed:
        name = event.anchor or ""
        found = self._anchors.get(name)
        if found is None:
            known = name in self._anchors
            reason = "stands inside the value it names" if known else "names nothing"
            raise Unreadable(f"alias {quoted(name)} {reason}", self._line(event))
        self._aliased += found.size
        if self._aliased > MOST_ALIASED:
            raise Unreadable(f"aliases stand for more than {MOST_ALIASED} values", self._line(event))
        return found

    def _scalar(self, event: yaml.ScalarEvent) -> object:
        if event.tag and event.tag != "!":
            self._check_tag(event.tag, event)
            value = _constructed(event.tag, event.value)
        else:
            value = plain_scalar(event.value) if event.implicit[0] else event.value
        most = self._form.largest_int
        return event.value if most is not None and isinstance(value, int) and abs(value) > most else value

    def _check_tag(self, tag: str | None, event: yaml.Event) -> None:
        is_plain = not tag or tag == "!" or tag.removeprefix(_YAML_TAG) in _SAFE_TAGS
        if not (is_plain or self._form.ignores_tags):
            raise Unreadable(f"tag {quoted(tag)} is not allowed in a manifest", self._line(event))

    def _with_inherited(self, part: _Open) -> object:
        """The finished value; what `<<` takes over fills the gaps, the first map to name a key wins."""
        if isinstance(part.value, dict):
            for source in part.inherited:
                for key, value in source.items():
                    if part.value.setdefault(key, value) is value:
                        line = self._lines.get((id(source), key), 0)
                        self._lines.setdefault((id(part.value), key), line)
        return part.value


@lru_cache(maxsize=65536)
def plain_scalar(text: str) -> object:
    """What unquoted text means: nothing, a bool, a number or a text."""
    if _EXPONENT.match(text):
        # As Go's reader; PyYAML alone wants a dot and a sign in 1e3.
        return float(text)
    resolvers = Resolver.yaml_implicit_resolvers
    for tag, shape in (*resolvers.get(text[:1], ()), *resolvers.get(None, ())):
        if shape.match(text):
            return _constructed(tag, text)
    return text


def _constructed(tag: str, text: str) -> object:
    """The value of a tagged text; what cannot be what its tag says stays a text."""
    node = yaml.ScalarNode(tag, text)
    try:
        match tag.removeprefix(_YAML_TAG):
            case "null":
                return None
            case "bool":
                return _constructor.construct_yaml_bool(node)
            # Go's reader knows no sexagesimal numbers: 10:30 is a time of day.
            case "int" if ":" not in text:
                return _constructor.construct_yaml_int(node)
            case "float" if ":" not in text:
                return _constructor.construct_yaml_float(node)
    except (ValueError, KeyError, IndexError):
        pass
    # Timestamps stay texts as well: the typed fields that hold one read it themselves.
    return text
