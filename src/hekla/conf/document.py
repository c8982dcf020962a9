"""A configuration's text as plain data that remembers its lines, and plain data as YAML on one line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import yaml

from hekla.conf.kinds import LARGEST_INT
from hekla.conf.model import Mistake, under
from hekla.objects.documents import Document, Form, Unreadable, decoded, yaml_documents

CONFIGURATION = Form(
    deepest=32, most_values=10_000, largest_int=LARGEST_INT, keeps_nulls=True, ignores_tags=True
)
"""A long configuration has a few hundred values."""

_EXPONENT = re.compile(r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)[eE][-+]?[0-9]+$")


class _InlineDumper(yaml.CSafeDumper):
    """Quotes texts that look like numbers; for Go's YAML reader 1e3 is one, for PyYAML alone it is not."""


_InlineDumper.add_implicit_resolver("tag:yaml.org,2002:float", _EXPONENT, list("-+.0123456789"))


def _one_line_text(dumper: _InlineDumper, text: str) -> yaml.ScalarNode:
    style = None if text.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_InlineDumper.add_representer(str, _one_line_text)


def written(value: object) -> str:
    """The value as YAML on one line."""
    text = yaml.dump(
        plain(value), Dumper=_InlineDumper, default_flow_style=True, width=-1, allow_unicode=True
    )
    return text.removesuffix("...\n").rstrip("\n")


def plain(value: object) -> object:
    """The value with lists and dicts in place of tuples and other mappings."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


@dataclass
class ConfDocument:
    """The data of a configuration, the line of every path in it, and what was wrong with the YAML."""

    data: object = None
    is_empty: bool = False
    lines: dict[str, int] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)

    @property
    def is_readable(self) -> bool:
        return self.is_empty or bool(self.lines)


def read_document(text: str | bytes) -> ConfDocument:
    """The first document of a text; whatever the text, nothing is raised."""
    try:
        documents = yaml_documents(decoded(text), CONFIGURATION)
        first, second = next(documents, None), next(documents, None)
    except Unreadable as problem:
        first, second = problem, None
    if isinstance(first, Unreadable):
        return ConfDocument(mistakes=[Mistake("", first.line or None, first.reason)])
    if first is None:
        return ConfDocument(is_empty=True)
    mistakes = [Mistake("", line, remark, "warning") for line, remark in first.remarks]
    if second is not None:
        message = "only the first document is read; remove the second"
        mistakes.append(Mistake("", second.line, message, "warning"))
    return ConfDocument(first.data, lines=dict(_lines(first, first.data, "", first.line)), mistakes=mistakes)


def _lines(document: Document, value: object, where: str, line: int) -> Iterator[tuple[str, int]]:
    """By path the line of every value."""
    yield where, line
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _lines(document, item, under(where, key), document.line_in(value, key, line))
    elif isinstance(value, list):
        for row, item in enumerate(value):
            yield from _lines(document, item, f"{where}[{row}]", document.line_in(value, row, line))
