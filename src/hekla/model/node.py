"""Node: one machine, in canonical units."""

from __future__ import annotations

from dataclasses import dataclass

from hekla.model.resources import CPU, MEMORY, PODS, Resources, add, read_resources
from hekla.objects import node as manifest

OVERSUBSCRIBED = {CPU: "volcano.sh/oversubscription-cpu", MEMORY: "volcano.sh/oversubscription-memory"}


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


def node_of(source: manifest.Node) -> Node:
    # An API server fills in what a node can give from what it has, where only the latter is said.
    promised = read_resources(source.status.allocatable or source.status.capacity)
    extra = oversubscription(source.metadata.annotations)
    return Node(
        name=source.metadata.name,
        allocatable=add(promised, extra),
        capacity=add(read_resources(source.status.capacity), extra),
        promised=promised,
        labels=source.metadata.labels,
        manifest=source,
    )


def oversubscription(annotations: dict[str, str]) -> Resources:
    """Extra cpu (millicores) and memory (bytes) that the node agent lends out."""
    extra: Resources = {}
    for name, key in OVERSUBSCRIBED.items():
        text = annotations.get(key, "")
        if text.isdecimal():
            extra[name] = int(text)
    return extra
