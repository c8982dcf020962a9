"""Bodies: typed values as the API server takes them."""

from __future__ import annotations

from typing import Any, cast

from msgspec import to_builtins

from hekla.objects import Manifest, OwnerReference
from hekla.objects.scheduling import PodGroupSpec

Body = dict[str, Any]


def merge_patch(before: Body, after: Body) -> Body:
    """What turns one into the other, as a merge patch: what is gone is null."""
    patch: Body = {key: None for key in before if key not in after}
    for key, value in after.items():
        known = before.get(key)
        if isinstance(known, dict) and isinstance(value, dict):
            if inner := merge_patch(known, value):
                patch[key] = inner
        elif known != value or key not in before:
            patch[key] = value
    return patch


def meta_body(manifest: Manifest) -> Body:
    """Name, labels, annotations and owners of an object that is to be made."""
    meta = manifest.metadata
    body: Body = {"name": meta.name, "namespace": meta.namespace}
    if meta.labels:
        body["labels"] = dict(meta.labels)
    if meta.annotations:
        body["annotations"] = dict(meta.annotations)
    if meta.owner_references:
        body["ownerReferences"] = [owner_body(owner) for owner in meta.owner_references]
    return body


def owner_body(owner: OwnerReference) -> Body:
    """A controller is not to vanish before what it owns: foreground deletion waits for that."""
    body = cast("Body", to_builtins(owner))
    return body | {"blockOwnerDeletion": True} if owner.controller else body


def group_spec_body(spec: PodGroupSpec) -> Body:
    """The spec of a PodGroup; a minimum of 0 is said, for the server would take silence as 1."""
    return cast("Body", to_builtins(spec)) | {"minMember": spec.min_member}
