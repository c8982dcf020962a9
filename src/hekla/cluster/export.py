"""Export: manifests as they may leave the process, with only what scheduling reads in them.

Manifests are typed, so that what no scheduler looks at (commands, environments, secrets) is not there to
begin with. Annotations are taken by name, for other tools keep copies of whole manifests in them, and of
messages only those that schedulers write. Snapshots leave all messages behind.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec.structs import replace

from hekla.cluster.kubernetes.api.resources import RESOURCES
from hekla.objects import Manifest, Node, ObjectMeta, Pod, VolcanoJob
from hekla.objects.batch import JobSpec, JobState
from hekla.objects.keys import is_read

POD_SCHEDULED = "PodScheduled"


def only_what_is_read(manifest: Manifest) -> Manifest:
    """The manifest without what scheduling does not read; decisions on it are the same."""
    meta = _filtered(manifest.metadata)
    kept = manifest if meta is manifest.metadata else replace(manifest, metadata=meta)
    match kept:
        case Pod() | Node():
            return _without_messages(kept)
        case VolcanoJob():
            return replace(kept, spec=_bare(kept.spec), status=replace(kept.status, state=JobState()))
    return kept


def _filtered(meta: ObjectMeta) -> ObjectMeta:
    if all(map(is_read, meta.annotations)):
        return meta
    return replace(meta, annotations={key: text for key, text in meta.annotations.items() if is_read(key)})


def _without_messages(manifest: Pod | Node) -> Manifest:
    """Only what a scheduler says itself is compared with what it said before."""
    status = manifest.status
    if not any(condition.message for condition in status.conditions):
        return manifest
    conditions = tuple(
        condition if condition.type == POD_SCHEDULED else replace(condition, message="")
        for condition in status.conditions
    )
    return replace(manifest, status=replace(status, conditions=conditions))


def _bare(spec: JobSpec) -> JobSpec:
    """Of a Job's plugins their names, without the arguments."""
    tasks = tuple(
        replace(task, template=replace(task.template, metadata=_filtered(task.template.metadata)))
        for task in spec.tasks
    )
    return replace(spec, tasks=tasks, plugins=dict.fromkeys(spec.plugins, ()))


def as_data(manifest: Manifest) -> dict[str, Any]:
    """The manifest as plain data, without what scheduling does not read; a Job keeps its phase."""
    resource = RESOURCES[type(manifest)]
    data: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(only_what_is_read(manifest)))
    if isinstance(manifest, VolcanoJob) and manifest.status.state.phase:
        state = replace(manifest.status.state, reason="", message="")
        data.setdefault("status", {})["state"] = msgspec.json.decode(msgspec.json.encode(state))
    data.get("metadata", {}).pop("resourceVersion", None)
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
