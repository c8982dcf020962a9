"""Node: one machine, in canonical units."""

from __future__ import annotations

from dataclasses import dataclass

from hekla.engine.model.resources import CPU, MEMORY, PODS, Resources, add, countable, read_resources
from hekla.engine.model.volumes import offered_attachments
from hekla.objects import CSINode
from hekla.objects import node as manifest
from hekla.objects.keys import OVERSUBSCRIBED_CPU, OVERSUBSCRIBED_MEMORY
from hekla.objects.quantity import read_count

OVERSUBSCRIBED = {CPU: OVERSUBSCRIBED_CPU, MEMORY: OVERSUBSCRIBED_MEMORY}


@dataclass(eq=False, slots=True)
class Node:
    """`allocatable` includes what may be oversubscribed; `promised` is the kubelet's own figure."""

    name: str
    allocatable: Resources
    capacity: Resources
    promised: Resources
    labels: dict[str, str]
    manifest: manifest.Node

    @property
    def pod_limit(self) -> int:
        return self.promised.get(PODS, 0)


def node_of(source: manifest.Node, csi_node: CSINode | None = None) -> Node:
    """The machine, with the volumes that can be attached to it."""
    # An API server fills in what a node can give from what it has, where only the latter is said.
    promised = read_resources(source.status.allocatable or source.status.capacity)
    extra = oversubscription(source.metadata.annotations)
    volumes = offered_attachments(csi_node)
    return Node(
        name=source.metadata.name,
        allocatable={**add(promised, extra), **volumes},
        capacity={**add(read_resources(source.status.capacity), extra), **volumes},
        promised=promised,
        labels=source.metadata.labels,
        manifest=source,
    )


def oversubscription(annotations: dict[str, str]) -> Resources:
    """Extra cpu (millicores) and memory (bytes) that the node agent lends out."""
    extra: Resources = {}
    for name, key in OVERSUBSCRIBED.items():
        amount = read_count(annotations.get(key, ""))
        if amount is not None:
            extra[name] = amount
    return countable(extra)
