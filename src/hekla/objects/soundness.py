"""Soundness: values that have the right type and still cannot be meant.

Quantities that are none, negative or beyond counting, numbers outside the range that
Kubernetes stores, times without a zone. The checks follow from the types of the fields and
are put together once per kind.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache
from typing import Any, Union, get_args, get_origin

import msgspec

from hekla.errors import InputError
from hekla.objects.complaint import quoted, spoken
from hekla.objects.meta import Amount, Manifest, ResourceList
from hekla.objects.quantity import exact
from hekla.objects.typed import Fault

Check = Callable[[Any], list[Fault]]
"""The faults of a value, with paths that start at it."""

MOST_ANNOTATION_BYTES = 262_144
"""Kubernetes' limit for all annotations of an object together."""

_LONG = frozenset(
    {"sizeBytes", "terminationGracePeriodSeconds", "deletionGracePeriodSeconds", "tolerationSeconds"}
)
"""Fields of 64 bits; all other whole numbers have 32."""

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
