"""Builders: manifests in a few words, where only what matters to the story is written.

Nothing here reads a clock: objects get their creation times from `pods.stamped`, in order of writing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

from hekla.objects import Manifest, Node, Pod, PodGroup, PriorityClass, Queue, Taint
from hekla.objects.keys import HIERARCHY, HIERARCHY_WEIGHTS
from hekla.objects.meta import Amount, ResourceList
from hekla.objects.node import NodeSpec, NodeStatus
from hekla.objects.scheduling import (
    Guarantee,
    PodGroupSpec,
    PodGroupStatus,
    QueueSpec,
    QueueStatus,
    SubGroupPolicy,
)
from hekla.testing.network import Wish
from hekla.testing.network import topology as topology_of
from hekla.testing.pods import GPU, Shape, metadata, pod


@dataclass(frozen=True)
class PodRole:
    """Tasks of a job that are alike; `minimum` of them must be there for the job to start."""

    name: str
    tasks: int = 1
    minimum: int = 0
    shape: Shape | None = None


@dataclass(frozen=True)
class JobObjects:
    """A PodGroup, its pods, and the priority class it names, if any."""

    pod_group: PodGroup
    pods: tuple[Pod, ...]
    priority_class: PriorityClass | None = None

    @property
    def objects(self) -> tuple[Manifest, ...]:
        named = () if self.priority_class is None else (self.priority_class,)
        return (*named, self.pod_group, *self.pods)


def node(
    name: str,
    *,
    cpu: Amount = 4,
    memory: Amount = "16Gi",
    gpu: Amount = 0,
    pods: int = 110,
    resources: ResourceList | None = None,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[str | Taint] = (),
    annotations: Mapping[str, str] | None = None,
    unschedulable: bool = False,
) -> Node:
    """A machine; a taint may be written `key=value:NoSchedule`."""
    offered: ResourceList = {"cpu": cpu, "memory": memory, "pods": pods, **(resources or {})}
    if gpu:
        offered[GPU] = gpu
    return Node(
        metadata=metadata(name, labels=labels, annotations=annotations),
        spec=NodeSpec(taints=tuple(map(_taint, taints)), unschedulable=unschedulable),
        status=NodeStatus(allocatable=offered, capacity=offered),
    )


def queue(
    name: str,
    *,
    weight: int = 1,
    capability: ResourceList | None = None,
    deserved: ResourceList | None = None,
    guarantee: ResourceList | None = None,
    reclaimable: bool | None = None,
    priority: int = 0,
    parent: str = "",
    state: str = "Open",
    hierarchy: str = "",
    hierarchy_weights: str = "",
    annotations: Mapping[str, str] | None = None,
) -> Queue:
    """A tenant; `hierarchy` and `hierarchy_weights` become the annotations that drf reads."""
    notes = {**(annotations or {})}
    if hierarchy:
        notes |= {HIERARCHY: hierarchy, HIERARCHY_WEIGHTS: hierarchy_weights}
    return Queue(
        metadata=metadata(name, annotations=notes),
        spec=QueueSpec(
            weight=weight,
            capability=capability or {},
            deserved=deserved or {},
            guarantee=Guarantee(resource=guarantee or {}),
            reclaimable=reclaimable,
            priority=priority,
            parent=parent,
        ),
        status=QueueStatus(state=state),
    )


def priority_class(name: str, value: int, *, is_default: bool = False) -> PriorityClass:
    return PriorityClass(metadata=metadata(name), value=value, global_default=is_default)


def job(
    name: str,
    *,
    tasks: int = 1,
    best_effort: int = 0,
    roles: Sequence[PodRole] = (),
    min_available: int | None = None,
    min_resources: ResourceList | None = None,
    queue: str = "default",
    priority: int | None = None,
    namespace: str = "default",
    phase: str = "",
    running: Mapping[str, int] | None = None,
    bound: Mapping[str, int] | None = None,
    releasing: Mapping[str, int] | None = None,
    succeeded: int = 0,
    failed: int = 0,
    task_priorities: Sequence[int] = (),
    topology: Wish | None = None,
    sub_groups: Sequence[SubGroupPolicy] = (),
    **shape: Unpack[Shape],
) -> JobObjects:
    """A job with its pods `name-0`, `name-1`, ..., or `name-role-0`, ... where it has roles.

    The first pods run, then come bound, leaving and finished ones, and the rest is pending;
    `best_effort` adds pods that ask for nothing. Without `min_available` all of them are needed.
    The phase is Running where something runs or is bound, else Inqueue. `topology` is what it asks
    of the network: `("hard", 1)`, `("soft", "rack")`.
    """
    states = _states(running or {}, bound or {}, releasing or {}, succeeded, failed)
    priorities = iter(task_priorities)
    pods = tuple(
        pod(
            pod_name,
            job=name,
            role=role,
            namespace=namespace,
            task_priority=next(priorities, None),
            **next(states, PENDING),
            **its_shape,
        )
        for pod_name, role, its_shape in _named(name, tasks, best_effort, roles, shape)
    )
    named_class = None if priority is None else priority_class(f"priority-{priority}", priority)
    group = PodGroup(
        metadata=metadata(name, namespace=namespace, annotations=shape.get("annotations")),
        spec=PodGroupSpec(
            min_member=len(pods) if min_available is None else min_available,
            min_task_member={role.name: role.minimum for role in roles if role.minimum},
            min_resources=min_resources,
            queue=queue,
            priority_class_name="" if named_class is None else named_class.metadata.name,
            network_topology=topology_of(topology),
            sub_group_policy=tuple(sub_groups),
        ),
        status=PodGroupStatus(phase=phase or ("Running" if running or bound else "Inqueue")),
    )
    return JobObjects(group, pods, named_class)


class PodPlacement(TypedDict):
    """Where a pod stands when the story begins."""

    on: str
    phase: str
    is_leaving: bool


PENDING = PodPlacement(on="", phase="Pending", is_leaving=False)


def _states(
    running: Mapping[str, int],
    bound: Mapping[str, int],
    releasing: Mapping[str, int],
    succeeded: int,
    failed: int,
) -> Iterator[PodPlacement]:
    for on, phase, is_leaving in (
        (running, "Running", False),
        (bound, "Pending", False),
        (releasing, "Running", True),
    ):
        for name, count in on.items():
            for _ in range(count):
                yield PodPlacement(on=name, phase=phase, is_leaving=is_leaving)
    for phase, count in (("Succeeded", succeeded), ("Failed", failed)):
        for _ in range(count):
            yield PodPlacement(on="", phase=phase, is_leaving=False)


def _named(
    name: str, tasks: int, best_effort: int, roles: Sequence[PodRole], shape: Shape
) -> Iterator[tuple[str, str, Shape]]:
    """Pod name, role and shape of every task."""
    for role in roles:
        for index in range(role.tasks):
            merged: Shape = {**shape, **(role.shape or {})}
            yield f"{name}-{role.name}-{index}", role.name, merged
    if not roles:
        yield from ((f"{name}-{index}", "", shape) for index in range(tasks))
        nothing: Shape = {**shape}
        for asked in ("cpu", "memory", "gpu", "resources"):
            nothing.pop(asked, None)  # type: ignore[misc]
        yield from ((f"{name}-{index}", "", nothing) for index in range(tasks, tasks + best_effort))


def _taint(taint: str | Taint) -> Taint:
    if isinstance(taint, Taint):
        return taint
    pair, _, effect = taint.rpartition(":")
    key, _, value = pair.partition("=")
    return Taint(key=key, value=value, effect=effect)
