"""Export: manifests as files that can be read again, with only what scheduling reads in them.

Manifests are typed, so that what no scheduler looks at (commands, environments, secrets) is not there to
begin with. Annotations are taken by name, and messages of conditions are left behind.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from hekla.kube.resources import RESOURCES
from hekla.objects import Manifest

READ_DOMAINS = ("volcano.sh", "scheduling.k8s.io", "hekla.dev", "nvidia.com")
READ_ANNOTATIONS = frozenset(
    {
        "pv.kubernetes.io/bind-completed",
        "sla-waiting-time",
        "volume.beta.kubernetes.io/storage-class",
        "volume.kubernetes.io/selected-node",
    }
)


def is_read(annotation: str) -> bool:
    """Whether an annotation may matter to a scheduler."""
    domain, slash, _ = annotation.partition("/")
    return annotation in READ_ANNOTATIONS or (
        bool(slash) and any(domain == known or domain.endswith(f".{known}") for known in READ_DOMAINS)
    )


def as_data(manifest: Manifest) -> dict[str, Any]:
    """The manifest as plain data, without what scheduling does not read."""
    resource = RESOURCES[type(manifest)]
    data: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(manifest))
    meta = data.get("metadata", {})
    meta.pop("resourceVersion", None)
    if annotations := meta.get("annotations"):
        meta["annotations"] = {key: value for key, value in annotations.items() if is_read(key)}
    for condition in data.get("status", {}).get("conditions", ()):
        condition.pop("message", None)
    return {"apiVersion": resource.api_version, "kind": resource.name, **data}


def listed(manifests: Iterable[dict[str, Any]]) -> bytes:
    """A List of manifests, one per line."""
    lines = b",\n".join(msgspec.json.encode(data) for data in manifests)
    return b'{"apiVersion":"v1","kind":"List","items":[\n' + lines + b"\n]}\n"


def as_scenario(manifests: Iterable[dict[str, Any]], conf: str, name: str, **more: object) -> bytes:
    """A configuration with the objects it is to decide on, and whatever else a scenario may say."""
    lines = b",\n".join(msgspec.json.encode(data) for data in manifests)
    head = msgspec.json.encode({"name": name, "conf": conf, **more})[:-1]
    return head + b',"objects":[\n' + lines + b"\n]}\n"
