"""Manifests with a value in every field that is typed, and ways to spoil one of them."""

from __future__ import annotations

import copy
import types
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Union, get_args, get_origin

import msgspec
from hypothesis import strategies as st

from hekla.objects import KINDS, NAMESPACED, Manifest

Data = dict[str, Any]
Path = tuple[str | int, ...]

TEXTS = {"creationTimestamp": "2026-01-31T12:00:00Z", "operator": "In", "mode": "hard", "type": "Node"}


def whole(kind: type[Manifest], name: str) -> Data:
    """An object of the kind as plain data, with every field that there is."""
    group, title = next(key for key, value in KINDS.items() if value is kind)
    data: Data = _value(kind, "")
    data["metadata"] |= {"name": name, "uid": f"uid-of-{name}", "resourceVersion": "7"}
    data["metadata"].pop("deletionTimestamp", None)
    data["metadata"].pop("namespace")
    if kind in NAMESPACED:
        data["metadata"]["namespace"] = "default"
    return {"apiVersion": f"{group}/v1" if group else "v1", "kind": title, **data}


def _value(hint: Any, name: str) -> Any:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return {
            field.encode_name: _value(field.type, field.encode_name) for field in msgspec.structs.fields(hint)
        }
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _value(next(part for part in inner if part is not types.NoneType), name)
    if origin is tuple:
        return [_value(inner[0], name)]
    if origin is dict:
        return {"cpu": _value(inner[1], "amount")}
    if hint is datetime:
        return "2026-01-31T12:00:00Z"
    return {str: TEXTS.get(name, "1"), int: 1, bool: False, float: 1.0}.get(hint)


def paths_in(data: Any, path: Path = ()) -> Iterator[Path]:
    """The way to every value of an object, but not to what tells which object it is."""
    steps = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for step, value in steps:
        here = (*path, step)
        if here not in {
            ("apiVersion",),
            ("kind",),
            ("metadata",),
            ("metadata", "name"),
            ("metadata", "namespace"),
        }:
            yield here
        yield from paths_in(value, here)


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


HOSTILE: list[Any] = [
    *(None, True, 0, -1, 2**31, -(2**31) - 1, 2**63, 10**30, 10**400, 1.5, -0.5, 1e300),
    *(
        "",
        "x",
        "x" * 10_000,
        "9" * 5000,
        "-4",
        "1Ei",
        "1Zi",
        "8Ei",
        "9e99999",
        "NaN",
        "1e1.5",
        "\u0661",
        "0-99999999999",
    ),
    *(
        "\x00",
        "\x1b[31m",
        "\u202e",
        "*",
        "root",
        "2026-01-31T12:00:00",
        "9999-12-31T23:59:59-23:00",
        "[",
        "{}",
        "1/2/3",
        "a,b:c;d",
    ),
    *(
        [],
        [[]],
        [None],
        ["x"],
        [{}],
        {},
        {"a": {}},
        {"cpu": "1Ei"},
        {"cpu": "-4"},
        {"cpu": {}},
        {"": ""},
        nested(50),
    ),
]


def spoiled(data: Data, path: Path, value: Any) -> Data:
    """The object with another value at the path."""
    result = copy.deepcopy(data)
    around: Any = result
    for step in path[:-1]:
        around = around[step]
    around[path[-1]] = value
    return result


@st.composite
def spoiled_objects(draw: st.DrawFn, name: str) -> Data:
    kind = draw(st.sampled_from(list(KINDS.values())))
    data = whole(kind, name)
    path = draw(st.sampled_from(list(paths_in(data))))
    return spoiled(data, path, draw(st.sampled_from(HOSTILE)))
