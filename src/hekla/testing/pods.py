"""Pods in a few words, and creation times in order of writing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypedDict, TypeVar, Unpack

import msgspec

from hekla.objects import Manifest, ObjectMeta, Pod, Toleration
from hekla.objects.keys import GROUP_NAME, PREEMPTABLE, TASK_PRIORITY, TASK_SPEC
from hekla.objects.meta import Amount, ResourceList
from hekla.objects.pod import Affinity, Container, PodSpec, PodStatus, ResourceRequirements, SchedulingGate

GPU = "nvidia.com/gpu"
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
"""When the first object of a story is created; each further one follows a second later."""

M = TypeVar("M", bound=Manifest)


class Shape(TypedDict, total=False):
    """What one pod asks for, and how it may be treated; every builder of pods takes these."""

    cpu: Amount
    memory: Amount
    gpu: Amount
    resources: ResourceList
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    preemptable: bool
    gates: Sequence[str]
    node_selector: Mapping[str, str]
    tolerations: Sequence[Toleration]
    affinity: Affinity
    nominated: str
    preemption_policy: str
    pod_priority: int
    pod_priority_class: str


def pod(
    name: str,
    *,
    job: str = "",
    role: str = "",
    namespace: str = "default",
    on: str = "",
    phase: str = "",
    is_leaving: bool = False,
    task_priority: int | None = None,
    **shape: Unpack[Shape],
) -> Pod:
    """One pod; `on` a node it runs, unless `phase` says otherwise, and `is_leaving` is being deleted."""
    notes = {**shape.get("annotations", {})}
    if job:
        notes[GROUP_NAME] = job
    if role:
        notes[TASK_SPEC] = role
    if task_priority is not None:
        notes[TASK_PRIORITY] = str(task_priority)
    if "preemptable" in shape:
        notes[PREEMPTABLE] = str(shape["preemptable"]).lower()
    meta = metadata(name, namespace=namespace, labels=shape.get("labels"), annotations=notes)
    if is_leaving:
        meta = msgspec.structs.replace(meta, deletion_timestamp=BEGINNING)
    container = Container(
        name="main", image="app:1", resources=ResourceRequirements(requests=requests(shape))
    )
    spec = PodSpec(
        containers=(container,),
        node_name=on,
        node_selector={**shape.get("node_selector", {})},
        tolerations=tuple(shape.get("tolerations", ())),
        affinity=shape.get("affinity"),
        priority=shape.get("pod_priority"),
        priority_class_name=shape.get("pod_priority_class", ""),
        preemption_policy=shape.get("preemption_policy", ""),
        scheduler_name="volcano",
        scheduling_gates=tuple(SchedulingGate(name=gate) for gate in shape.get("gates", ())),
    )
    status = PodStatus(
        phase=phase or ("Running" if on else "Pending"), nominated_node_name=shape.get("nominated", "")
    )
    return Pod(metadata=meta, spec=spec, status=status)


def requests(shape: Shape) -> ResourceList:
    """The resource list of a shape; one that names nothing is best effort."""
    asked: ResourceList = {**shape.get("resources", {})}
    if "cpu" in shape:
        asked["cpu"] = shape["cpu"]
    if "memory" in shape:
        asked["memory"] = shape["memory"]
    if "gpu" in shape:
        asked[GPU] = shape["gpu"]
    return asked


def stamped(objects: Iterable[M]) -> list[M]:
    """The objects with creation times in order of writing; those that have one keep it."""
    return [_created(manifest, second) for second, manifest in enumerate(objects)]


def _created(manifest: M, second: int) -> M:
    meta = manifest.metadata
    if meta.creation_timestamp is not None:
        return manifest
    moment = BEGINNING + timedelta(seconds=second)
    return msgspec.structs.replace(
        manifest, metadata=msgspec.structs.replace(meta, creation_timestamp=moment)
    )


def metadata(
    name: str,
    *,
    namespace: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> ObjectMeta:
    return ObjectMeta(
        name=name,
        namespace=namespace,
        uid=f"{namespace}-{name}" if namespace else name,
        labels={**(labels or {})},
        annotations={**(annotations or {})},
    )
