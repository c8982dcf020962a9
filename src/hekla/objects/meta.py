"""The frame of every manifest: kind, name, labels, owners."""

from __future__ import annotations

from datetime import datetime
from typing import dataclass_transform

import msgspec

Amount = str | int | float
"""A quantity as users write it: "500m", "4Gi", 2."""

ResourceList = dict[str, Amount]


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    """A piece of a manifest: read-only, compared by value, unknown fields skipped; never part of a circle."""


class OwnerReference(Part):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class ObjectMeta(Part):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    owner_references: tuple[OwnerReference, ...] = ()


class Condition(Part):
    """A condition as Kubernetes and Volcano write it; `transition_id` is Volcano's (key `transitionID`)."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None
    transition_id: str = msgspec.field(default="", name="transitionID")


class LabelRequirement(Part):
    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(Part):
    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelRequirement, ...] = ()


class Manifest(Part):
    """A whole object; its kind is the name of its class unless it says otherwise."""

    metadata: ObjectMeta = ObjectMeta()

    @property
    def key(self) -> str:
        """`namespace/name`, or the bare name of a cluster-scoped object."""
        meta = self.metadata
        return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name


def seconds(moment: datetime | None) -> float:
    """A timestamp as seconds since 1970; an absent one is 0, as old as can be."""
    return moment.timestamp() if moment is not None else 0.0
