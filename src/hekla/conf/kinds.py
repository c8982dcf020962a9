"""Kinds of arguments: what a value in the file must look like, derived from a field's annotation."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import yaml

from hekla.errors import PluginError

LARGEST_INT = 2**63 - 1
GO_BOOLS = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}
"""The texts that Go, and so Volcano, reads as a boolean."""


_EXPONENT = re.compile(r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)[eE][-+]?[0-9]+$")


@dataclass(frozen=True)
class ValueKind:
    """A name for the reference page, a phrase for messages, and the reader, which raises ValueError."""

    name: str
    expects: str
    read: Callable[[object], Any]


def kind_of(annotation: Any) -> ValueKind:
    """The kind that a field's annotation asks for."""
    if annotation in SIMPLE:
        return SIMPLE[annotation]
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return one_of(inside)
    if origin in (Union, UnionType):
        return either([kind_of(option) for option in inside])
    if origin is tuple and len(inside) == 2 and inside[1] is Ellipsis:
        return comma_list() if inside[0] is str else list_of(kind_of(inside[0]))
    if annotation is Mapping or origin in (Mapping, dict):
        return map_of(kind_of(inside[1]) if inside else ANYTHING)
    raise PluginError(
        f"arguments cannot be of type {annotation}; use int, float, bool, str, tuple or Mapping"
    )


def read_int(value: object) -> int:
    # As in Volcano, 5.0 and "5" are not integers; and in YAML true is not 1.
    if type(value) is not int or abs(value) > LARGEST_INT:
        raise ValueError(value)
    return value


def read_float(value: object) -> float:
    if not isinstance(value, float):
        return float(read_int(value))
    if not math.isfinite(value):
        raise ValueError(value)
    return value


def read_bool(value: object) -> bool:
    if isinstance(value, str) and value in GO_BOOLS:
        return GO_BOOLS[value]
    if not isinstance(value, bool):
        raise ValueError(value)
    return value


def read_text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(value)
    return value


def read_nothing(value: object) -> None:
    if value is not None:
        raise ValueError(value)


def read_comma_list(value: object) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else items_of(value)
    return tuple(part for part in (read_text(part).strip() for part in parts) if part)


def items_of(value: object) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise ValueError(value)
    return value


def comma_list() -> ValueKind:
    """Texts, written as `a, b` or as a YAML list."""
    return ValueKind("list of strings", 'a list of texts or one text such as "a, b"', read_comma_list)


def list_of(inner: ValueKind) -> ValueKind:
    """A YAML list, every item of one kind."""

    def read(value: object) -> tuple[object, ...]:
        return tuple(inner.read(item) for item in items_of(value))

    return ValueKind(f"list of {plural(inner.name)}", f"a list, each item {inner.expects}", read)


def map_of(inner: ValueKind) -> ValueKind:
    """A YAML map, every value of one kind."""

    def read(value: object) -> dict[str, object]:
        if not isinstance(value, Mapping):
            raise ValueError(value)
        return {str(key): inner.read(item) for key, item in value.items()}

    expects = "a map" if inner is ANYTHING else f"a map, each value {inner.expects}"
    return ValueKind(f"map of {plural(inner.name)}" if inner is not ANYTHING else "map", expects, read)


def one_of(words: Sequence[object]) -> ValueKind:
    """Exactly one of some words."""

    def read(value: object) -> object:
        if not isinstance(value, str) or value not in words:
            raise ValueError(value)
        return value

    return ValueKind("string", "one of " + ", ".join(f'"{word}"' for word in words), read)


def either(options: Sequence[ValueKind]) -> ValueKind:
    """The first of several kinds that accepts the value."""

    def read(value: object) -> object:
        for option in options:
            try:
                return option.read(value)
            except ValueError:
                continue
        raise ValueError(value)

    return ValueKind(" or ".join(o.name for o in options), " or ".join(o.expects for o in options), read)


ANYTHING = ValueKind("value", "any value", lambda value: value)

SIMPLE: Mapping[Any, ValueKind] = {
    int: ValueKind("int", "an integer", read_int),
    float: ValueKind("float", "a number", read_float),
    bool: ValueKind("bool", "true or false", read_bool),
    str: ValueKind("string", "a text", read_text),
    NoneType: ValueKind("null", "null", read_nothing),
    object: ANYTHING,
    Any: ANYTHING,
}


def plural(name: str) -> str:
    """`string` becomes `strings`, `map of ints` becomes `maps of ints`."""
    head, of, rest = name.partition(" of ")
    return f"{head}s{of}{rest}"


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
