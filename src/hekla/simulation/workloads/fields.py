"""Fields: the values of a map in a file, by type; what does not fit is told with file, line and path."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from typing import Any, TypeVar

import msgspec

from hekla.errors import InputError
from hekla.objects import Manifest
from hekla.objects.complaint import did_you_mean, quoted, spoken
from hekla.objects.documents import Document, Path
from hekla.objects.meta import ResourceList
from hekla.objects.quantity import LONGEST, read_long_span
from hekla.objects.read import in_its_namespace
from hekla.objects.typed import Misfit, check_struct, fault_of, kind_of, problem_with_amount, written_path

FOREVER = "forever"

_NUMBER = re.compile(r"\A[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z")


def seconds_of(value: object) -> float:
    """The seconds that a value says; raises InputError where it says none, or fewer than none."""
    seconds = _seconds(value)
    if math.isnan(seconds) or seconds < 0:
        raise InputError(f"{spoken(value)} is negative; spans of time start at 0")
    return bounded(seconds, value)


def bounded(seconds: float, value: object) -> float:
    """The seconds that a value says, unless they are more than can be meant; without end is well."""
    if LONGEST < seconds < math.inf:
        raise _too_long(value)
    return seconds


def _too_long(value: object) -> InputError:
    return InputError(f'{spoken(value)} is more than a hundred years; "{FOREVER}" says that it never ends')


def _seconds(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError as error:
            raise _too_long(value) from error
    if not isinstance(value, str):
        raise InputError(f'expected a span of time such as 90 or "1h30m", got {spoken(value)}')
    text = value.strip()
    if text.lower() == FOREVER:
        return math.inf
    return float(text) if _NUMBER.match(text) else read_long_span(text)


class Spot(msgspec.Struct, frozen=True):
    """Where a value stands: a file, the path within it, and the line as far as it is known."""

    source: str
    path: Path = ()
    document: Document | None = None
    line: int = 0

    def under(self, *steps: str | int) -> Spot:
        # Called several times per job of a trace, which is no place for dataclasses.replace.
        return Spot(self.source, (*self.path, *steps), self.document, self.line)

    def wrong(self, message: str) -> InputError:
        """The error to raise about what stands here."""
        line = self.line or (self.document.line_of(self.path) if self.document else 0)
        place = f"{self.source}:{line}" if line else self.source
        return InputError(": ".join(part for part in (place, written_path(self.path), message) if part))


class Fields:
    """A map with the keys that it may have."""

    def __init__(self, data: object, spot: Spot, known: Collection[str]) -> None:
        if not isinstance(data, dict):
            raise spot.wrong(f"expected a map, got {spoken(data)}")
        self.data: dict[str, Any] = data
        self.spot = spot
        for key in data:
            if key not in known:
                listed = f"; known are {', '.join(sorted(known))}"
                raise spot.under(key).wrong(f"no such key{did_you_mean(key, known) or listed}")

    def __contains__(self, key: str) -> bool:
        return self.data.get(key) is not None

    def wrong(self, key: str, message: str) -> InputError:
        return self.spot.under(key).wrong(message)

    def need(self, key: str) -> None:
        if key not in self:
            raise self.spot.wrong(f'"{key}" is missing')

    def text(self, key: str, default: str = "") -> str:
        value = self.data.get(key, default)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            raise self.wrong(key, f"expected a text, got {spoken(value)}")
        return value

    def choice(self, key: str, known: Collection[str], default: str) -> str:
        value = self.text(key, default)
        if value not in known:
            listed = ", ".join(f'"{word}"' for word in known)
            raise self.wrong(
                key, f"expected one of {listed}, got {quoted(value)}{did_you_mean(value, known)}"
            )
        return value

    def flag(self, key: str) -> bool | None:
        value = self.data.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.wrong(key, f"expected true or false, got {spoken(value)}")
        return value

    def whole(self, key: str, default: int, *, least: int = 0, most: int = 2**31 - 1) -> int:
        value = self.data.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.wrong(key, f"expected a whole number, got {spoken(value)}")
        if not least <= value <= most:
            raise self.wrong(key, f"expected a number from {least} to {most}, got {spoken(value)}")
        return value

    def number(self, key: str, default: float, *, least: float = 0.0, most: float = math.inf) -> float:
        value = self.data.get(key, default)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.wrong(key, f"expected a number, got {spoken(value)}")
        if not least <= value <= most:
            bounds = f"from {least:g} to {most:g}" if most < math.inf else f"of at least {least:g}"
            raise self.wrong(key, f"expected a number {bounds}, got {spoken(value)}")
        return float(value)

    def span(self, key: str, default: float | None = None, *, may_be_endless: bool = False) -> float | None:
        """Seconds; none where nothing is said and nothing is assumed."""
        value = self.data.get(key, default)
        if value is None:
            return None
        try:
            seconds = seconds_of(value)
        except InputError as error:
            raise self.wrong(key, str(error)) from error
        if math.isinf(seconds) and not may_be_endless:
            raise self.wrong(key, f"expected a span of time that ends, got {spoken(value)}")
        return seconds

    def seconds(self, key: str, default: float, *, may_be_endless: bool = False) -> float:
        found = self.span(key, default, may_be_endless=may_be_endless)
        assert found is not None
        return found

    def words(self, key: str) -> dict[str, str]:
        """A map of texts to texts."""
        fields = self.map(key)
        return {name: fields.text(name) for name in fields.data}

    def amounts(self, key: str) -> ResourceList:
        """A map of resources to quantities."""
        fields = self.map(key)
        for name in fields.data:
            fields.amount(name)
        return dict(fields.data)

    def amount(self, key: str) -> str | int | float:
        value: object = self.data[key]
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.wrong(key, f'expected a quantity such as 2, "500m" or "4Gi", got {spoken(value)}')
        if problem := problem_with_amount(value):
            raise self.wrong(key, problem)
        return value

    def map(self, key: str, known: Collection[str] | None = None) -> Fields:
        """A map within the map; without `known` it may have any keys."""
        value = self.data.get(key, {})
        return Fields(value, self.spot.under(key), AnyKey() if known is None else known)

    def items(self, key: str) -> Iterator[tuple[Spot, object]]:
        """The values of a list, each with its place."""
        value = self.data.get(key, [])
        if not isinstance(value, list):
            raise self.wrong(key, f"expected a list, got {spoken(value)}")
        for index, item in enumerate(value):
            yield self.spot.under(key, index), item


class AnyKey(Collection[str]):
    """Every key is known."""

    def __contains__(self, key: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


P = TypeVar("P", bound=msgspec.Struct)
M = TypeVar("M", bound=Manifest)


def is_manifest(data: object) -> bool:
    return isinstance(data, dict) and ("kind" in data or "apiVersion" in data)


def as_part(data: object, kind: type[P], spot: Spot) -> P:
    """The data as a part of a manifest; raises InputError where it is none or cannot be meant."""
    try:
        part = msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        fault = fault_of(str(error), data)
        raise spot.under(*fault.path).wrong(fault.message) from error
    for fault in check_struct(kind)(part):
        raise spot.under(*fault.path).wrong(fault.message)
    return part


def as_manifest(data: object, spot: Spot) -> Manifest:
    """The data as a manifest of the kind that it announces."""
    if not isinstance(data, dict):
        raise spot.wrong(f"expected a manifest, got {spoken(data)}")
    try:
        kind = kind_of(data.get("apiVersion"), data.get("kind"))
    except Misfit as misfit:
        raise spot.under(*misfit.fault.path).wrong(misfit.fault.message) from misfit
    manifest = in_its_namespace(as_part(data, kind, spot))
    if not manifest.metadata.name:
        raise spot.under("metadata").wrong("the name is missing")
    return manifest


def as_a(kind: type[M], data: object, spot: Spot) -> M:
    """The data as a manifest of this kind and no other."""
    manifest = as_manifest(data, spot)
    if not isinstance(manifest, kind):
        wanted = kind.__name__.removeprefix("Volcano")
        raise spot.under("kind").wrong(f"expected a {wanted}, got a {type(manifest).__name__}")
    return manifest
