"""Manifests, and parts of them, within a file that is none: what does not fit is told where it stands."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from hekla.objects import Manifest
from hekla.objects.complaint import spoken
from hekla.objects.read import in_its_namespace
from hekla.objects.soundness import check_struct
from hekla.objects.typed import Misfit, fault_of, kind_of
from hekla.workloads.fields import Spot

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
