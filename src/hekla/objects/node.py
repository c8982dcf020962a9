"""Node: what a machine offers, and whom it turns away."""

from __future__ import annotations

from hekla.objects.meta import Condition, Manifest, Part, ResourceList


class Taint(Part):
    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Part):
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


class ContainerImage(Part):
    names: tuple[str, ...] = ()
    size_bytes: int = 0


class NodeStatus(Part):
    allocatable: ResourceList = {}
    capacity: ResourceList = {}
    images: tuple[ContainerImage, ...] = ()
    conditions: tuple[Condition, ...] = ()


class Node(Manifest):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
