"""Plain data as typed manifests; what does not fit is said in words, with the path of the field."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from hekla.objects import KINDS, Manifest
from hekla.objects.complaint import did_you_mean, quoted, spoken
from hekla.objects.documents import Path

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


@dataclass(frozen=True)
class Fault:
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
    known = sorted({name for _, name in KINDS})
    return f"no kind {quoted(kind)}{did_you_mean(kind, known) or ';'} known kinds: {', '.join(known)}"


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
