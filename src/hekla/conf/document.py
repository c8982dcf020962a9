"""A YAML text as plain data that remembers its lines, and plain data as YAML on one line.

PyYAML's C composer recurses on the C stack, where a deep text ends the process, and a few
nested anchors can stand for billions of values. So the events, which cost nothing, are
measured first; only what stays within the limits is composed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import yaml
from yaml.constructor import SafeConstructor

from hekla.conf.kinds import LARGEST_INT
from hekla.conf.model import Mistake, error, under, warning
from hekla.objects.complaint import quoted

DEEPEST = 32
MOST_VALUES = 10_000
"""Aliases count as often as they are used. A long configuration has a few hundred values."""

_EXPONENT = re.compile(r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)[eE][-+]?[0-9]+$")
_FLOAT = "tag:yaml.org,2002:float"
_MERGE = "tag:yaml.org,2002:merge"


class _Loader(yaml.CSafeLoader):
    """Reads 1e3 as a number, as Go's YAML reader does and PyYAML alone does not."""


class _Dumper(yaml.CSafeDumper):
    """Writes what _Loader reads back."""


for _reader in (_Loader, _Dumper):
    _reader.add_implicit_resolver(_FLOAT, _EXPONENT, list("-+.0123456789"))


def _one_line_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = None if text.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _one_line_text)


def written(value: object) -> str:
    """The value as YAML on one line."""
    text = yaml.dump(plain(value), Dumper=_Dumper, default_flow_style=True, width=-1, allow_unicode=True)
    return text.removesuffix("...\n").rstrip("\n")


def plain(value: object) -> object:
    """The value with lists and dicts in place of tuples and other mappings."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


@dataclass
class Document:
    """The data of a text, the line of every path in it, and what was wrong with the YAML."""

    data: object = None
    is_empty: bool = False
    lines: dict[str, int] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)

    @property
    def is_readable(self) -> bool:
        return self.is_empty or bool(self.lines)


def read_document(text: str | bytes) -> Document:
    """The first document of a text; whatever the text, nothing is raised."""
    document = Document()
    try:
        data = text.encode() if isinstance(text, str) else text
        # A byte order mark of another encoding would make libyaml switch; configurations are UTF-8.
        content = data.decode("utf-8-sig")
        document.mistakes.extend(measured(yaml.parse(content, Loader=_Loader)))
        _compose(content, document)
    except UnicodeError:
        document.mistakes.append(Mistake("", None, "not a text in UTF-8"))
    except TooMuch as problem:
        document.mistakes.append(problem.mistake)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        line = mark.line + 1 if mark else None
        document.mistakes.append(Mistake("", line, f"not YAML: {problem.problem or problem.context}"))
    except yaml.YAMLError as problem:
        reason = getattr(problem, "reason", "it cannot be read")
        document.mistakes.append(Mistake("", None, f"not YAML: {reason}"))
    return document


def _compose(content: str, document: Document) -> None:
    loader = _Loader(content)
    try:
        root = loader.get_node() if loader.check_node() else None
    finally:
        loader.dispose()
    if root is None:
        document.is_empty = True
    else:
        document.data = _Values(document).value(root, "")


class TooMuch(Exception):
    """The text is deeper or larger than any configuration."""

    def __init__(self, problem: str, event: yaml.Event) -> None:
        super().__init__(problem)
        self.mistake = Mistake("", _line(event), problem)


def _line(place: yaml.Event | yaml.Node) -> int:
    return place.start_mark.line + 1 if place.start_mark else 1


@dataclass
class _Open:
    """A list or map, while its end has not been seen."""

    anchor: str | None
    size: int = 1
    height: int = 1


def measured(events: Iterable[yaml.Event]) -> list[Mistake]:
    """What to warn of in the stream of events; raises TooMuch where it leaves the limits."""
    # The stack starts with the stream itself, which is no level.
    stack, anchors = [_Open(None)], dict[str, _Open | None]()
    ended = False
    for event in events:
        if ended and isinstance(event, yaml.DocumentStartEvent):
            message = "only the first document is read; remove the second"
            return [Mistake("", _line(event), message, "warning")]
        ended = ended or isinstance(event, yaml.DocumentEndEvent)
        _measure(event, stack, anchors)
        if len(stack) - 2 + stack[-1].height > DEEPEST:
            raise TooMuch(f"nested deeper than {DEEPEST} levels", event)
        if sum(part.size for part in stack) > MOST_VALUES:
            raise TooMuch(f"more than {MOST_VALUES} values", event)
    return []


def _measure(event: yaml.Event, stack: list[_Open], anchors: dict[str, _Open | None]) -> None:
    """Count one event; an anchor maps to None while the value it names is still open."""
    if isinstance(event, yaml.CollectionStartEvent):
        stack.append(_Open(event.anchor))
        if event.anchor:
            anchors[event.anchor] = None
        return
    if isinstance(event, yaml.CollectionEndEvent):
        part = stack.pop()
    elif isinstance(event, yaml.ScalarEvent):
        part = _Open(event.anchor, height=0)
    elif isinstance(event, yaml.AliasEvent):
        part = _aliased(event, anchors)
    else:
        return
    if part.anchor:
        anchors[part.anchor] = part
    around = stack[-1]
    around.size += part.size
    around.height = max(around.height, part.height + 1)


def _aliased(event: yaml.AliasEvent, anchors: Mapping[str, _Open | None]) -> _Open:
    name = event.anchor or ""
    part = anchors.get(name, _Open(None))
    if part is None:
        raise TooMuch(f"alias {quoted(name)} stands inside the value it names", event)
    return _Open(None, part.size, part.height)


@dataclass(frozen=True)
class _Values:
    """Turns nodes into data and notes the line of each path in the document."""

    document: Document
    constructor: SafeConstructor = field(default_factory=SafeConstructor)

    def value(self, node: yaml.Node, where: str) -> object:
        self.document.lines.setdefault(where, _line(node))
        if isinstance(node, yaml.MappingNode):
            return self.map(node, where)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, f"{where}[{row}]") for row, item in enumerate(node.value)]
        assert isinstance(node, yaml.ScalarNode)
        return self.scalar(node)

    def map(self, node: yaml.MappingNode, where: str) -> dict[str, object]:
        merged, own = dict[str, object](), dict[str, object]()
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self.document.mistakes.append(error(where, "a key must be a text, got a list or a map"))
            elif key_node.tag == _MERGE:
                for source in self.merged(value_node, where):
                    merged = {**source, **merged}
            else:
                self.pair(own, key_node, value_node, where)
        return {**merged, **own}

    def pair(self, own: dict[str, object], key: yaml.ScalarNode, value: yaml.Node, where: str) -> None:
        path = under(where, key.value)
        self.document.lines[path] = _line(key)
        if key.value in own:
            self.document.mistakes.append(warning(path, "given twice; the last one counts"))
        own[key.value] = self.value(value, path)

    def merged(self, node: yaml.Node, where: str) -> Iterator[dict[str, object]]:
        """The maps that `<<` takes over; the first to name a key wins."""
        for source in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if isinstance(source, yaml.MappingNode):
                yield self.map(source, where)
            else:
                self.document.mistakes.append(error(under(where, "<<"), "expected a map to take over"))

    def scalar(self, node: yaml.ScalarNode) -> object:
        """None, a bool, a number or a text; what only looks like a number stays a text."""
        try:
            match node.tag.removeprefix("tag:yaml.org,2002:"):
                case "null":
                    return None
                case "bool":
                    return self.constructor.construct_yaml_bool(node)
                # Go's reader knows no sexagesimal numbers: 10:30 is a time of day.
                case "int" if ":" not in node.value:
                    number = self.constructor.construct_yaml_int(node)
                    return number if abs(number) <= LARGEST_INT else node.value
                case "float" if ":" not in node.value:
                    return self.constructor.construct_yaml_float(node)
        except (ValueError, KeyError, IndexError):
            pass
        return node.value
