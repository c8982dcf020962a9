"""The text of a configuration, taken out of the ConfigMap in which it stands on a cluster.

A file may hold the configuration itself, or Kubernetes objects with one ConfigMap among them: YAML or
JSON, one document or several, in a List or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hekla.conf.model import Mistake, did_you_mean, under
from hekla.objects.complaint import printable, quoted, spoken
from hekla.objects.documents import Document, Path, Unreadable, decoded, yaml_documents
from hekla.objects.meta import CONF_KEY, conf_key
from hekla.text import some_of

SECTIONS = ("actions", "configurations", "metrics", "tiers")
CONFIG_MAP = "ConfigMap"
MARKS_OF_AN_OBJECT = ("apiVersion", "kind")
MOST_NAMED = 4


@dataclass(frozen=True)
class ConfText:
    """The text of a configuration, and how its lines are found again in the file."""

    text: str | bytes
    lines_before: int = 0
    """How many lines of the file stand above its first one."""
    place: str = ""
    """The path of the text, where its lines are not lines of the file."""
    mistakes: list[Mistake] = field(default_factory=list)
    warnings: list[Mistake] = field(default_factory=list)
    """What is odd about the object around the text."""

    @property
    def is_found(self) -> bool:
        return not self.mistakes


def configuration_in(text: str | bytes) -> ConfText:
    """What a file says of the configuration: all of it, or what its ConfigMap holds; nothing is raised."""
    objects = list(_objects_in(text))
    if not objects:
        return ConfText(text)
    try:
        return _text_of(_only_config_map(objects), decoded(text))
    except _Unfit as problem:
        return ConfText("", mistakes=[problem.mistake])


class _Unfit(Exception):
    """The objects hold no configuration that could be told."""

    def __init__(self, where: str, line: int | None, message: str) -> None:
        super().__init__(message)
        self.mistake = Mistake(where, line, message)


@dataclass(frozen=True)
class _Object:
    """One object of the file, and its path inside its document."""

    data: Mapping[str, object]
    document: Document
    path: Path = ()
    kind: object = None

    @property
    def name(self) -> str:
        metadata = self.data.get("metadata")
        parts = (metadata.get("namespace"), metadata.get("name")) if isinstance(metadata, dict) else ()
        return "/".join(printable(str(part)) for part in parts if part)

    def unfit(self, key: str, message: str) -> _Unfit:
        """What is wrong under the key of the object; the line is the key's, or that of what is around it."""
        path = (*self.path, *([key] if key in self.data else []))
        return _Unfit(under(self.where, key), self.document.line_of(path), message)

    @property
    def where(self) -> str:
        return "".join(f"[{step}]" if isinstance(step, int) else str(step) for step in self.path)


def _objects_in(text: str | bytes) -> Iterator[_Object | _Unfit]:
    """The Kubernetes objects of a text; none where it is a configuration, or cannot be read at all."""
    marks = MARKS_OF_AN_OBJECT if isinstance(text, str) else [mark.encode() for mark in MARKS_OF_AN_OBJECT]
    if not any(mark in text for mark in marks):  # type: ignore[operator]
        return
    try:
        documents = list(yaml_documents(decoded(text)))
    except Unreadable:
        return
    if not documents or isinstance(documents[0], Unreadable) or not _is_object(documents[0].data):
        return
    for document in documents:
        if isinstance(document, Unreadable):
            yield _Unfit("", document.line, str(document))
        elif not isinstance(document.data, dict):
            message = f"expected a Kubernetes object, as those before, got {spoken(document.data)}"
            yield _Unfit("", document.line, message)
        else:
            yield from _listed(_Object(document.data, document, kind=document.data.get("kind")))


def _is_object(data: object) -> bool:
    return (
        isinstance(data, dict)
        and any(mark in data for mark in MARKS_OF_AN_OBJECT)
        and not any(section in data for section in SECTIONS)
    )


def _listed(thing: _Object) -> Iterator[_Object]:
    """The object, or those in it where it is a list; items of a ConfigMapList need not say what they are."""
    items, kind = thing.data.get("items"), str(thing.kind)
    if not kind.endswith("List") or not isinstance(items, list) or not items:
        yield thing
        return
    of_items = kind.removesuffix("List") or None
    for row, item in enumerate(items):
        if isinstance(item, dict):
            path: Path = (*thing.path, "items", row)
            yield from _listed(_Object(item, thing.document, path, item.get("kind", of_items)))


def _only_config_map(found: list[_Object | _Unfit]) -> _Object:
    for one in found:
        if isinstance(one, _Unfit):
            raise one
    objects = [one for one in found if isinstance(one, _Object)]
    config_maps = [thing for thing in objects if thing.kind == CONFIG_MAP]
    if len(config_maps) == 1:
        return config_maps[0]
    if config_maps:
        raise _several(config_maps)
    raise _none(objects)


def _several(config_maps: list[_Object]) -> _Unfit:
    names = some_of([thing.name or "one without a name" for thing in config_maps], MOST_NAMED)
    message = f"{len(config_maps)} ConfigMaps, {names}: which one is meant cannot be told; keep one of them"
    return config_maps[1].unfit("kind", message)


def _none(objects: list[_Object]) -> _Unfit:
    kinds = list(dict.fromkeys(_kind(thing) for thing in objects))
    hint = did_you_mean(str(objects[0].kind), [CONFIG_MAP]) if len(kinds) == 1 else ""
    message = f"expected a {CONFIG_MAP} that holds the configuration, or the configuration itself, got "
    return objects[0].unfit(
        "kind", f"{message}{some_of(kinds, MOST_NAMED)}{'' if 'known are' in hint else hint}"
    )


def _kind(thing: _Object) -> str:
    return printable(thing.kind) if isinstance(thing.kind, str) else "an object without a kind"


def _text_of(thing: _Object, file: str) -> ConfText:
    key, text = _entry(thing)
    where = under(under(thing.where, "data"), key)
    line = thing.document.line_of((*thing.path, "data", key))
    warnings = [Mistake("", at, remark, "warning") for at, remark in thing.document.remarks]
    if _stands_below(line, text, file):
        return ConfText(text, lines_before=line, warnings=warnings)
    return ConfText(text, place=where, warnings=warnings)


def _entry(thing: _Object) -> tuple[str, str]:
    """The key of the configuration and its text."""
    called = f"ConfigMap {quoted(thing.name)}" if thing.name else "the ConfigMap"
    data, binary = thing.data.get("data"), thing.data.get("binaryData")
    if binary and (not data or (isinstance(binary, dict) and CONF_KEY in binary)):
        raise thing.unfit("binaryData", f"not read; write the configuration of {called} as a text under data")
    if data is not None and not isinstance(data, dict):
        raise thing.unfit("data", f"expected texts by key, got {spoken(data)}")
    if not data:
        message = f'{called} holds nothing; expected the configuration as a text under "{CONF_KEY}"'
        raise thing.unfit("data", message)
    key = conf_key(data)
    if key is None:
        keys = f"{called} has {len(data)} keys, {some_of([printable(name) for name in data], MOST_NAMED)}"
        raise thing.unfit(
            "data", f'{keys}; name the one with the configuration "{CONF_KEY}", or keep it alone'
        )
    if not isinstance(data[key], str):
        line = thing.document.line_of((*thing.path, "data", key))
        message = f'expected a text, got {spoken(data[key])}; write "{printable(key)}: |" above it'
        raise _Unfit(under(under(thing.where, "data"), key), line, message)
    return key, data[key]


def _stands_below(line: int, text: str, file: str) -> bool:
    """Whether the text stands in the file line for line, from the one below this on."""
    # Blocks end with any number of blank lines, of which the text has at most one.
    wanted = [part.strip() for part in text.rstrip().split("\n")]
    return [part.strip() for part in file.split("\n")[line : line + len(wanted)]] == wanted
