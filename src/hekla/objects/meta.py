"""The frame of every manifest: kind, name, labels, owners."""

from __future__ import annotations

from collections.abc import Collection, Mapping
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


CONF_KEY = "volcano-scheduler.conf"
"""The name of the file that Volcano's scheduler is started with."""


SUFFIX = ".conf"


def conf_key(keys: Collection[str]) -> str | None:
    """The only key, or among several Volcano's own, or the only `.conf`; None where it cannot be told."""
    if CONF_KEY in keys:
        return CONF_KEY
    candidates = list(keys) if len(keys) == 1 else [key for key in keys if str(key).endswith(SUFFIX)]
    return candidates[0] if len(candidates) == 1 else None


def matches(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """No selector matches nothing; an empty one matches everything."""
    if selector is None:
        return False
    return all(labels.get(key) == value for key, value in selector.match_labels.items()) and all(
        requirement_holds(requirement, labels) for requirement in selector.match_expressions
    )


def requirement_holds(requirement: LabelRequirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    return False


def is_empty(selector: LabelSelector | None) -> bool:
    return selector is None or not (selector.match_labels or selector.match_expressions)
