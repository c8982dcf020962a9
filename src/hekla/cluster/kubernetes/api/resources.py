"""Where the objects of each kind stand under the API server's root."""

from __future__ import annotations

from dataclasses import dataclass

from hekla.objects import (
    KINDS,
    NAMESPACED,
    CSINode,
    HyperNode,
    Manifest,
    Namespace,
    Node,
    NodeShard,
    Numatopology,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    PodGroup,
    PriorityClass,
    Queue,
    ResourceQuota,
    StorageClass,
    VolcanoCommand,
    VolcanoJob,
)

_PLACES: dict[type[Manifest], tuple[str, str]] = {
    Node: ("v1", "nodes"),
    Pod: ("v1", "pods"),
    Namespace: ("v1", "namespaces"),
    PersistentVolume: ("v1", "persistentvolumes"),
    PersistentVolumeClaim: ("v1", "persistentvolumeclaims"),
    ResourceQuota: ("v1", "resourcequotas"),
    VolcanoJob: ("v1alpha1", "jobs"),
    VolcanoCommand: ("v1alpha1", "commands"),
    Numatopology: ("v1alpha1", "numatopologies"),
    PodDisruptionBudget: ("v1", "poddisruptionbudgets"),
    PriorityClass: ("v1", "priorityclasses"),
    PodGroup: ("v1beta1", "podgroups"),
    Queue: ("v1beta1", "queues"),
    NodeShard: ("v1alpha1", "nodeshards"),
    CSINode: ("v1", "csinodes"),
    StorageClass: ("v1", "storageclasses"),
    HyperNode: ("v1alpha1", "hypernodes"),
}


@dataclass(frozen=True)
class Resource:
    """A kind as the API server knows it."""

    kind: type[Manifest]
    name: str
    """As manifests spell it: `Job` for what is called VolcanoJob here."""
    group: str
    version: str
    plural: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def is_namespaced(self) -> bool:
        return self.kind in NAMESPACED

    @property
    def is_built_in(self) -> bool:
        """Whether every API server has it; custom resources come with a definition."""
        return not self.group.endswith(".volcano.sh")

    def path(self, namespace: str = "", name: str = "", part: str = "") -> str:
        """All objects, those of a namespace, one of them, or a part of it such as `status`."""
        steps = [f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"]
        if namespace:
            steps.append(f"namespaces/{namespace}")
        steps += [step for step in (self.plural, name, part) if step]
        return "/".join(steps)

    def path_of(self, key: str, part: str = "") -> str:
        """The path of `namespace/name`, or of a bare name."""
        namespace, _, name = key.rpartition("/")
        return self.path(namespace, name, part)


RESOURCES: dict[type[Manifest], Resource] = {
    kind: Resource(kind, name, group, *_PLACES[kind]) for (group, name), kind in KINDS.items()
}
