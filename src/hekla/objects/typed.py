"""Plain data as typed manifests; what does not fit is said in words, with the path of the field.

Values may have the right type and still not be sound: quantities that are none, negative or beyond counting,
numbers outside the range that Kubernetes stores, times without a zone. These checks follow from the types of
the fields and are put together once per kind.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Any, Union, get_args, get_origin

import msgspec

from hekla.errors import InputError
from hekla.objects import KINDS
from hekla.objects.complaint import known_ones, quoted, spoken
from hekla.objects.documents import Path
from hekla.objects.meta import Amount, Manifest, ResourceList
from hekla.objects.quantity import exact

_PLACE = re.compile(r"^(?P<what>.*?)(?: - at (?P<key>`key` in )?`\$(?P<path>.*)`)?$", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[(\.\.\.)\]")
_EXPECTED = re.compile(r"^Expected `(?P<wanted>[^`]*)`, got `(?P<got>[^`]*)`$")
_MISSING = re.compile(r"^Object missing required field `(?P<name>[^`]*)`$")
_PLAIN_KEY = re.compile(r"^[A-Za-z0-9_-]+$")
_ANY_KEY = "..."

_WORDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "a map",
    "array": "a list",
    "datetime": 'a time such as "2026-01-31T12:00:00Z"',
}
_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}


MOST_ANNOTATION_BYTES = 262_144
"""Kubernetes' limit for all annotations of an object together."""
_LONG = frozenset(
    {"sizeBytes", "terminationGracePeriodSeconds", "deletionGracePeriodSeconds", "tolerationSeconds"}
)
"""Fields of 64 bits; all other whole numbers have 32."""


class Fault(msgspec.Struct, frozen=True):
    """What is wrong with one field of an object."""

    path: Path
    message: str

    def __str__(self) -> str:
        return f"{written_path(self.path)}: {self.message}" if self.path else self.message


class Misfit(Exception):
    """The data is no manifest of its kind."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


def written_path(path: Path) -> str:
    """`spec.containers[0].resources`; keys that are no plain words stand in quotes."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.match(step):
            text += f".{step}" if text else step
        else:
            text += f"[{quoted(step)}]"
    return text


def kind_of(api_version: object, kind: object) -> type[Manifest]:
    """The class of manifests that a document announces; raises Misfit where there is none."""
    if not isinstance(kind, str) or not kind:
        got = "" if kind is None or kind == "" else f", got {spoken(kind)}"
        raise Misfit(Fault(("kind",), f"expected the name of a kind{got}; is this a manifest?"))
    if not isinstance(api_version, str) or not api_version:
        raise Misfit(Fault(("apiVersion",), f"is missing; write it beside kind {quoted(kind)}"))
    group, slash, _ = api_version.rpartition("/")
    found = KINDS.get((group if slash else "", kind))
    if found is None:
        raise Misfit(Fault(("kind",), _unknown_kind(api_version, kind)))
    return found


def _unknown_kind(api_version: str, kind: str) -> str:
    groups = [group for group, name in KINDS if name == kind]
    if groups:
        return f'no kind {quoted(kind)} in {quoted(api_version)}; did you mean "{kind}" of "{groups[0]}"?'
    return f"no kind {quoted(kind)}{known_ones(kind, {name for _, name in KINDS}, 'kinds')}"


def typed(data: object, kind: type[Manifest]) -> Manifest:
    """The data as a manifest of this kind; raises Misfit where a field has the wrong type."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise Misfit(fault_of(str(error), data)) from error


def fault_of(message: str, data: object) -> Fault:
    """The fault behind a decoder's message, such as "Expected `int`, got `str` - at `$.spec.replicas`"."""
    place = _PLACE.match(message)
    assert place is not None
    steps: Path = tuple(
        int(index) if index else name or _ANY_KEY for name, index, _ in _STEP.findall(place["path"] or "")
    )
    if place["key"]:
        return Fault(steps, "a key is no text; write it in quotes")
    if missing := _MISSING.match(place["what"]):
        return Fault((*steps, missing["name"]), "is missing")
    expected = _EXPECTED.match(place["what"])
    if "RFC3339" in place["what"]:
        return Fault(steps, f"expected {_WORDS['datetime']}")
    if expected is None:
        return Fault(steps, place["what"][:1].lower() + place["what"][1:])
    wanted = [word for word in expected["wanted"].split(" | ") if word != "null"]
    path, value = _culprit(steps, data, wanted)
    words = " or ".join(_WORDS.get(word, word) for word in wanted)
    return Fault(path, f"expected {words}, got {spoken(value)}{_remedy(wanted, value)}")


def _remedy(wanted: list[str], value: object) -> str:
    if wanted == ["str"] and isinstance(value, bool | int | float):
        return "; put it in quotes"
    return ""


def _culprit(steps: Path, data: object, wanted: list[str]) -> tuple[Path, object]:
    """The full path of the value that does not fit: decoders do not say which key of a map it was."""
    if not steps:
        return (), data
    step, rest = steps[0], steps[1:]
    if step == _ANY_KEY and isinstance(data, Mapping):
        found = ((key, _culprit(rest, value, wanted)) for key, value in data.items())
        for key, (path, value) in found:
            if not _fits(value, wanted):
                return (str(key), *path), value
        return steps, None
    try:
        path, value = _culprit(rest, data[step], wanted)  # type: ignore[index]
    except (LookupError, TypeError):
        return steps, None
    return (step, *path), value


def _fits(value: object, wanted: list[str]) -> bool:
    if isinstance(value, bool):
        return "bool" in wanted
    return any(isinstance(value, _TYPES.get(word, ())) for word in wanted)


def without_nulls(data: object) -> object:
    """The data with absent fields where some are null, as an API server prunes them."""
    if isinstance(data, dict):
        return {key: without_nulls(value) for key, value in data.items() if value is not None}
    if isinstance(data, list):
        return [without_nulls(value) for value in data]
    return data


Check = Callable[[Any], list[Fault]]
"""The faults of a value, with paths that start at it."""
_NO_FAULTS: list[Fault] = []


def faults_of(manifest: Manifest) -> list[Fault]:
    """Everything in the manifest that cannot be meant."""
    return check_struct(type(manifest))(manifest)


def annotations_warning(manifest: Manifest) -> str:
    """What to say about annotations that an API server would not store, or nothing."""
    annotations = manifest.metadata.annotations
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size <= MOST_ANNOTATION_BYTES:
        return ""
    return f"metadata.annotations: {size} bytes, and Kubernetes stores at most {MOST_ANNOTATION_BYTES}; kept"


@cache
def check_struct(kind: type[msgspec.Struct]) -> Check:
    """A check of all fields that can be wrong in a struct."""
    checks = [
        (field.name, field.encode_name, _check_of(field.type, field.encode_name))
        for field in msgspec.structs.fields(kind)
    ]
    fields = [(name, encoded, check) for name, encoded, check in checks if check is not None]

    def check_fields(value: msgspec.Struct) -> list[Fault]:
        faults = _NO_FAULTS
        for name, encoded, check_field in fields:
            part = getattr(value, name)
            # Absent parts are as sound as can be, and most parts are absent.
            if part and (found := check_field(part)):
                faults = faults + [Fault((encoded, *fault.path), fault.message) for fault in found]
        return faults

    return check_fields


def _check_of(hint: Any, name: str) -> Check | None:
    if hint == ResourceList:
        return check_amounts
    if hint is datetime:
        return check_time
    if hint is int:
        return check_long if name in _LONG else check_integer
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return check_struct(hint)
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _check_of_union([part for part in inner if part is not types.NoneType], name)
    if origin is tuple:
        return _check_each(_check_of(inner[0], name), enumerate)
    if origin is dict:
        return _check_each(_check_of(inner[1], name), lambda values: values.items())
    return None


def _check_each(check: Check | None, steps: Callable[[Any], Iterable[tuple[Any, Any]]]) -> Check | None:
    """A check of every value of a list or map; `steps` gives them with the step that leads to each."""
    if check is None:
        return None
    return lambda values: [
        Fault((step, *fault.path), fault.message) for step, value in steps(values) for fault in check(value)
    ]


def _check_of_union(parts: list[Any], name: str) -> Check | None:
    if len(parts) == 1:
        return _check_of(parts[0], name)
    if int in parts:
        return lambda value: check_integer(value) if isinstance(value, int) else _NO_FAULTS
    return None


def check_amounts(amounts: ResourceList) -> list[Fault]:
    return [
        Fault((name,), problem)
        for name, amount in amounts.items()
        if (problem := problem_with_amount(amount)) is not None
    ]


def problem_with_amount(amount: Amount) -> str | None:
    try:
        is_negative = exact(amount) < 0
    except InputError as error:
        return str(error)
    return f"{quoted(amount)} is negative; amounts start at 0" if is_negative else None


def check_integer(value: int) -> list[Fault]:
    return _NO_FAULTS if -(2**31) <= value < 2**31 else [Fault((), _out_of_range(value, 32))]


def check_long(value: int) -> list[Fault]:
    return _NO_FAULTS if -(2**63) <= value < 2**63 else [Fault((), _out_of_range(value, 64))]


def _out_of_range(value: int, bits: int) -> str:
    return f"{spoken(value)} does not fit into {bits} bits; at most {2 ** (bits - 1) - 1} does"


def check_time(value: datetime) -> list[Fault]:
    if value.tzinfo is not None:
        return _NO_FAULTS
    return [Fault((), f"{quoted(value.isoformat(' '))} has no time zone; write it like {value.isoformat()}Z")]
